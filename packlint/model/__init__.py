"""The canonical model of packed data: numpy only, no I/O, no rules.

    spans.py        runs of tokens; rules count with these
    boundaries.py   segments as one source records them, and malformed records
    batch.py        PackBatch: many packs, end to end in flat arrays
    isolation.py    who can see whom, in closed form
    contract.py     how a trainer reads a shard
    spec.py         conventions with their origin; policy
    needs.py        what a rule may need, and the reason when it is not there

Every array has named axes; indices are 0-based and half-open.
"""
