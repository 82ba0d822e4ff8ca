"""Speed and memory, as ratios measured in one run: `python -m tests.benchmarks --help`.

Machines are noisy, so nothing here is a test, and no figure is an absolute time.
"""
