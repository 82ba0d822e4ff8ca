"""Declared, and true."""
