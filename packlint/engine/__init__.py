"""Pure functions from batches and rules to results, and from results to a report.

plan.py       shards + settings → how each shard is read
scan.py       one part of a shard + rules → ShardResult
tally.py      ShardResult and its merge: associative, commutative, with a zero
conclude.py   all results → Report
"""
