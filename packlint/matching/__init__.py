"""Packs against the unpacked samples that they were made from: is every sample there, once, whole?

    reference.py     the reference, read once: 128 bits, lengths and metadata of every sample
    matcher.py       batch by batch: segment → the sample that it is a whole copy of
    assignment.py    equal samples get one copy each
    trace.py         the rest: segments → pieces of samples
        joins.py         samples cut into consecutive segments, from their hashes alone
        residue.py       the tokens of what is left, in the order of the stream
        streams.py       whole samples where nothing records boundaries
        seeds.py         common runs of tokens; short.py samples too short for them, edges.py what they miss
        choice.py        which of the runs that overlap; turns.py which of several samples with equal texts
        pieces.py        runs, cut where segments end; what is left
        gaps.py          gaps of samples, and fillings.py the short leftovers that fill them
        separators.py    what a packer put between samples, though nobody said so
    accounts.py      copies, pieces and leftovers → `Reconciliation`; cover.py, alterations.py
    specials.py      ids that packers add or strip at the ends of samples
    run.py           all of it, in the order of a run

Samples are compared without special ids at their ends. The reference is read once, and once or twice more
where segments are neither whole samples nor consecutive parts of one.

Memory follows the number of samples and segments, not their tokens: while packs are scanned 68 bytes for a
sample and 4 for each metadata column, 37 for a segment; when the books are made up about 300 for a sample and
its segment together (measured: a million of both). Tokens of what is not a whole copy are held about 16
million at a time. Where that does not fit, packs and reference have to be compared group by group, as they
were packed: each group of packs against the files that it was made from.
"""

from __future__ import annotations

from packlint.matching.reference import plan_reference, plan_samples
from packlint.matching.run import Comparison, compare

__all__ = ["Comparison", "compare", "plan_reference", "plan_samples"]
