"""Which tokens the loss asks for."""
