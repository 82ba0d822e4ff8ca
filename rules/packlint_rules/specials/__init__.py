"""Begin, end and padding tokens."""
