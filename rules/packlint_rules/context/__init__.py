"""Does long data teach long range."""
