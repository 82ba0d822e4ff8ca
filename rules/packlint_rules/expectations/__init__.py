"""Does the data keep to a suite of Great Expectations."""
