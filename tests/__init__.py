"""The tests of packlint: one folder per layer, same names as the code."""
