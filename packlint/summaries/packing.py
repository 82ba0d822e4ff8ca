"""A lower bound on the rows that samples need, whatever the packer.

Martello and Toth's L2: samples above L/2 need a row each. For every a up to L/2, those of at most L - a leave
room for samples of a or more; what of these does not fit there needs rows of its own.

    L = 8, samples 5 5 5 3 3 3      a = 3: three rows of 5, 9 free slots for 9 tokens      bound 3

Between two lengths of small samples a larger a only takes room away, so those lengths are all that must be
tried: one prefix sum over the histogram each.

Source: S. Martello, P. Toth, Lower bounds and reduction procedures for the bin packing problem, Discrete
Applied Mathematics 28 (1990).
"""

from __future__ import annotations

import numpy as np

from packlint.model.batch import PackBatch, Unit
from packlint.model.contract import BoundarySource, CutPolicy
from packlint.model.spec import Origin
from packlint.summaries.lengths import Lengths, Samples

__all__ = ["count_packed", "packer_room", "packing_bound", "unknown_room"]


def packer_room(batch: PackBatch) -> int | None:
    """Return the slots that a packer of whole samples may fill; none where it is another kind, or unknown."""
    known, contract = batch.spec.max_seq_len, batch.shard.contract
    if known is None or contract is None or contract.cut_policy is not CutPolicy.WHOLE:
        return None
    is_seen = known.origin is Origin.DETECTED  # with the slots that are added to each pack
    return max(known.value - contract.extra_slots_per_pack * is_seen, 1)


def count_packed(lengths: Lengths, batch: PackBatch) -> Lengths:
    """Add, in place, the samples of packs that a packer filled with whole samples."""
    contract, room = batch.shard.contract, packer_room(batch)
    if batch.shard.unit is not Unit.PACK or contract is None or room is None:
        return lengths
    if contract.predicts_tokens:
        lengths.add(batch, room, contract.extra_slots_per_segment)
    else:
        lengths.n_encoder += batch.n_packs
    return lengths


def unknown_room(batch: PackBatch) -> str | None:
    """Return why nobody can tell what samples a packer had, and how much room for them."""
    known, contract = batch.spec.max_seq_len, batch.shard.contract
    if batch.segment_source is BoundarySource.BOUNDARY_TOKENS:
        return "boundaries are only scanned from tokens: a sample may hold several"
    is_short = contract is not None and contract.extra_slots_per_segment > 0
    if is_short and known is not None and known.origin is Origin.DETECTED:
        return "nothing states the limit that the packer kept; give [spec] max_seq_len"
    return None


def packing_bound(samples: Samples, room: int) -> int:
    """Return how many rows no packer of whole samples can do without.

    Args:
        samples: samples by their tokens; one longer than a row fills a row.
        room: slots of a row, positive.
    """
    tokens = np.array(sorted(samples), np.int64)
    counts = np.array([samples[n] for n in tokens.tolist()], np.int64)
    tokens = np.minimum(tokens, room)
    is_large = 2 * tokens > room
    small, n_small = tokens[~is_large], counts[~is_large]
    large, n_large = tokens[is_large], counts[is_large]
    bound = int(n_large.sum())
    if small.size == 0:
        return bound
    to_place = np.cumsum((small * n_small)[::-1])[::-1]  # tokens of the small samples from this length up
    open_rows = np.searchsorted(large, room - small, side="right")
    free = np.append(0, np.cumsum((room - large) * n_large))[open_rows]
    more_rows = -(-np.maximum(to_place - free, 0) // room)
    return bound + int(more_rows.max())
