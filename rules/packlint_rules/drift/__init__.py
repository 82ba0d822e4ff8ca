"""Is it still the same data."""
