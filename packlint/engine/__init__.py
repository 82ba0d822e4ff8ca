"""Pure functions from batches and rules to results, and from results to a report.

plan.py       shards + settings → how each shard is read
scan.py       one part of a shard + rules → ShardResult
tally.py      ShardResult and its merge: associative, commutative, with a zero
excerpts.py   what the few places that are shown look like
judge.py      rules that look at the whole run, or at what it was compared with
measures.py   figures of the whole data set
conclude.py   all results → Report
"""
