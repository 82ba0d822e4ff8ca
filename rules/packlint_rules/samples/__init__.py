"""Is every sample there, once, whole."""
