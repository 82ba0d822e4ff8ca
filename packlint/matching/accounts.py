"""Whole copies, pieces and leftovers → what became of each sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.matching.alterations import Alterations
from packlint.matching.cover import Cover, Cuts, sum_by
from packlint.matching.pieces import Leftovers, Pieces
from packlint.model.arrays import Int64Array
from packlint.summaries.matches import PlacedSegments
from packlint.summaries.reconciliation import Balance, Reconciliation
from packlint.summaries.samples import Samples

__all__ = ["Traced", "reconcile"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Traced:
    """Hold what became of all segments.

    Args:
        copies: `int64[segment]`, the sample that each is a whole copy of, -1 for none.
        pieces: parts of samples that the others hold.
        leftovers: what no piece explains, special tokens at its ends left out.
        untraced: why pieces were not looked for, or empty.
    """

    copies: Int64Array
    pieces: Pieces
    leftovers: Leftovers
    untraced: str = ""

    def count_specials(self, segments: PlacedSegments) -> int:
        """Return the special tokens that belong to no piece and stand around no leftover's inside."""
        is_copy = self.copies >= 0
        in_others = int(segments.lengths[~is_copy].sum())
        explained = int(self.pieces.lengths.sum()) + int(self.leftovers.lengths.sum())
        return int(segments.specials[is_copy].sum()) + in_others - explained


def reconcile(
    *,
    samples: Samples,
    segments: PlacedSegments,
    shards: tuple[str, ...],
    n_packed: int,
    traced: Traced,
    has_packed_targets: bool,
) -> Reconciliation:
    """Balance the books.

    Args:
        samples: the reference.
        segments: all packed segments.
        shards: names of the packed shards.
        n_packed: real tokens of all packs.
        traced: what became of the segments that are no whole copy.
        has_packed_targets: the packs say which tokens are targets.
    """
    pieces = traced.pieces
    copies = np.bincount(traced.copies[traced.copies >= 0], minlength=len(samples))
    cover = Cover.of(samples, pieces)
    cuts = Cuts.of(samples, pieces, traced.leftovers, segments)
    altered = Alterations.of(samples, pieces, traced.leftovers, segments)
    unknown = traced.leftovers.take(~altered.is_replacement)
    is_whole = copies > 0
    repeated = np.maximum(copies - 1, 0) * samples.n_tokens + cover.n_repeated
    places, targets = _places_and_targets(len(samples), segments, traced)
    unknown_at, unknown_tokens = _by_segment(unknown)
    meetings = _meetings(samples, pieces)
    return Reconciliation(
        samples=samples,
        segments=segments,
        shards=shards,
        copies=copies,
        covered=np.where(is_whole, 0, cover.n_tokens),
        begins=cover.begins,
        ends=cover.ends,
        altered=np.where(is_whole, 0, altered.n_tokens),
        altered_at=dict(altered.at),
        invented_ends=cuts.invented_ends,
        n_cuts=np.where(is_whole, 0, cuts.n_cuts),
        cuts_in_target=np.where(is_whole, 0, cuts.in_target),
        repeated=repeated + np.where(is_whole, cover.n_tokens, 0),
        packed_tokens=copies * samples.n_tokens + cover.n_tokens + cover.n_repeated,
        packed_targets=targets,
        places=places,
        unknown_segments=unknown_at,
        unknown_tokens=unknown_tokens,
        balance=_balance(samples, segments, copies, cover, traced, altered, n_packed),
        n_meetings=meetings.size,
        open_meetings=pieces.segments[meetings[pieces.starts[meetings + 1] == pieces.stops[meetings]]],
        has_packed_targets=has_packed_targets,
        untraced=traced.untraced,
    )


def _places_and_targets(
    n_samples: int, segments: PlacedSegments, traced: Traced
) -> tuple[Int64Array, Int64Array]:
    """Return for each sample a segment that holds some of it, or -1, and its packed targets."""
    pieces, copies = traced.pieces, np.flatnonzero(traced.copies >= 0)
    of_copies = traced.copies[copies]
    places = np.full(n_samples, -1, np.int64)
    places[pieces.samples] = pieces.segments
    places[of_copies] = copies
    targets = sum_by(of_copies, segments.targets[copies], n_samples)
    return places, targets + sum_by(pieces.samples, pieces.targets, n_samples)


def _balance(
    samples: Samples,
    segments: PlacedSegments,
    copies: Int64Array,
    cover: Cover,
    traced: Traced,
    altered: Alterations,
    n_packed: int,
) -> Balance:
    packed_core = np.where(copies > 0, samples.n_tokens, cover.n_tokens)
    is_gone = (copies == 0) & (cover.n_tokens == 0)
    n_replaced = int(traced.leftovers.lengths[altered.is_replacement].sum())
    specials = traced.count_specials(segments) + cover.n_specials
    own = samples.n_specials
    return Balance(
        reference=int(samples.n_tokens.sum() + own.sum()),
        lost=int((samples.n_tokens - packed_core).sum() + own[is_gone].sum()),
        repeated=int((copies * samples.n_tokens + cover.n_tokens + cover.n_repeated - packed_core).sum()),
        specials_added=specials - int(own[~is_gone].sum()),
        replaced=n_replaced,
        unknown=int(traced.leftovers.lengths.sum()) - n_replaced,
        packed=n_packed,
    )


def _meetings(samples: Samples, pieces: Pieces) -> Int64Array:
    """Return the pieces that end a sample where the next piece, in the same segment, begins another."""
    if len(pieces) == 0:
        return np.zeros(0, np.int64)
    head = samples.heads[pieces.samples]
    ends = pieces.ends >= head + samples.n_tokens[pieces.samples]
    begins = pieces.offsets <= head
    same = pieces.segments[1:] == pieces.segments[:-1]
    return np.flatnonzero(same & ends[:-1] & begins[1:])


def _by_segment(leftovers: Leftovers) -> tuple[Int64Array, Int64Array]:
    order = np.argsort(leftovers.segments, kind="stable")
    segments, first = np.unique(leftovers.segments[order], return_index=True)
    sizes = leftovers.lengths[order]
    return segments, np.add.reduceat(sizes, first) if sizes.size else sizes
