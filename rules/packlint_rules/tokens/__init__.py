"""Token ids."""
