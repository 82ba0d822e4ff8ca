"""A fuzz campaign over all readers and rules: `python -m tests.fuzz --minutes 30`.

The seeded, bounded version of it runs with the tests of each reader.
"""
