"""The canonical model of packed data: numpy only, no I/O, no rules.

    spans.py        runs of tokens; rules count with these; constant_runs.py those of one id
    boundaries.py   segments as one source records them, and malformed records
    batch.py        PackBatch: many packs, end to end in flat arrays; segments.py
    context.py      what is known of the shard that a batch comes from
    passes.py       passes over all tokens, a chunk at a time; id_places.py where special tokens stand
    isolation.py    who can see whom; leaks.py counts it in closed form
    recorded.py     records of boundaries in real tokens; conflicts.py compares them; positions.py
    edges.py        how segments begin and end; false_cuts.py where a scan would cut them
    labels.py, weights.py, role_faults.py   what the loss asks for
    contract.py     how a trainer reads a shard
    roles.py        who speaks: role, part and turn of every token, and the answers; role_counts.py counts
    markers.py      the markers of a chat format, as ids
    marker_table.py the same as arrays
    events.py       where the markers stand
    turns.py        ids to roles
    template.py     what a chat template writes around turns; broken_turns.py what it cannot have written
    spellings.py    special tokens written as ordinary text
    pairs.py        chosen and rejected answers side by side
    expected.py     which tokens the policy wants as targets, given who speaks
    spec.py         conventions with their origin; policy
    needs.py        what a rule may need, and the reason when it is not there

Every array has named axes; indices are 0-based and half-open.
"""
