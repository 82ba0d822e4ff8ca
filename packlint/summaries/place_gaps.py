"""Whether targets depend on the place in the pack: first samples against later ones, by role.

A sample counts once, with the share of a role's tokens that are targets, and is compared with samples of as
many turns only: packers put long samples first, and long chats have other masks than short ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from packlint.finding import Location
from packlint.model.arrays import BoolArray, FloatArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.model.edges import fragment_starts
from packlint.model.recorded import sound_segments
from packlint.model.role_counts import role_tokens
from packlint.model.roles import Role, Roles
from packlint.summaries.place_extremes import KEPT, PlaceExtremes
from packlint.summaries.places import MAX_PLACES

__all__ = ["PlaceGap", "PlaceShares", "gap_locations", "large_gaps"]

_COMPARED = (Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL)
_MAX_TURNS = 16
"""Samples of more turns are compared with one another."""
_SHARE_STEPS = 1000
"""Shares are added up as integers, in thousandths: sums must not depend on the order of shards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceGap:
    """Compare the share of targets among the tokens of a role, samples in the first place against later ones.

    Samples are compared with samples of as many turns only, and each counts once, whatever its length.

    Args:
        role: whose tokens.
        n_first: samples in the first place of a pack.
        n_later: samples in later places.
        first_fraction: mean share of targets among the role's tokens, first samples.
        later_fraction: as `first_fraction`, later samples, weighted as the first ones are by turns.
        standard_errors: the gap in standard errors of what chance gives.
    """

    role: Role
    n_first: int
    n_later: int
    first_fraction: float
    later_fraction: float
    standard_errors: float

    @property
    def fraction(self) -> float:
        """Share in first samples less share in later ones."""
        return self.first_fraction - self.later_fraction

    def __str__(self) -> str:
        first, later = 100 * self.first_fraction, 100 * self.later_fraction
        where = f"first samples ({self.n_first:,}), {later:.3g} % in later ones ({self.n_later:,})"
        return f"{first:.3g} % of {self.role.name.lower()} tokens are targets in {where}"


_SHAPE = (len(_COMPARED), _MAX_TURNS + 1, 2)


@dataclass(slots=True, eq=False)
class PlaceShares:
    """Add up the share of targets among the tokens of a role, by turns of the sample and place in the pack.

    Args:
        n_samples: `int64[role, turns, place]`, samples in which the role speaks; place 0 is the first.
        sums: `int64[role, turns, place]`, sum of their shares, in thousandths.
        squares: `int64[role, turns, place]`, sum of the squares of these.
        extremes: the later samples with the most and the least targets of each role.
    """

    n_samples: Int64Array = field(default_factory=lambda: np.zeros(_SHAPE, np.int64))
    sums: Int64Array = field(default_factory=lambda: np.zeros(_SHAPE, np.int64))
    squares: Int64Array = field(default_factory=lambda: np.zeros(_SHAPE, np.int64))
    extremes: PlaceExtremes = field(default_factory=PlaceExtremes)

    def add(self, batch: PackBatch, roles: Roles) -> None:
        """Add the samples of a batch, in place; those that may begin in the middle are left out."""
        n_turns = np.minimum(np.bincount(roles.turns.segments, minlength=batch.n_segments), _MAX_TURNS)
        is_later = batch.segment_numbers > 0
        n_tokens, n_targets = role_tokens(batch)[list(_COMPARED)], _targets_by_role(batch, roles)
        counted = (n_tokens > 0) & _whole(batch, roles)
        shares = _SHARE_STEPS * n_targets // np.maximum(n_tokens, 1)
        rows = np.arange(len(_COMPARED))[:, None] * (2 * (_MAX_TURNS + 1))
        places, counts = (rows + n_turns * 2 + is_later)[counted], shares[counted]
        self.n_samples += _sum(places, np.ones(counts.size))
        self.sums += _sum(places, counts)
        self.squares += _sum(places, counts**2)
        extremes = PlaceExtremes.of(batch, shares, n_tokens, n_targets, counted & is_later)
        self.extremes = self.extremes.merge(extremes)

    def merge(self, other: PlaceShares) -> PlaceShares:
        """Return the sums of both."""
        return PlaceShares(
            self.n_samples + other.n_samples,
            self.sums + other.sums,
            self.squares + other.squares,
            self.extremes.merge(other.extremes),
        )


def _sum(places: Int64Array, weights: Int64Array | FloatArray) -> Int64Array:
    return np.bincount(places, weights, minlength=int(np.prod(_SHAPE))).astype(np.int64).reshape(_SHAPE)


def _whole(batch: PackBatch, roles: Roles) -> BoolArray:
    starts, stops = batch.segments.starts, batch.segments.stops
    whole = sound_segments(batch) & ~fragment_starts(batch, if_unknown=False) & (stops > starts)
    filled = np.flatnonzero(whole)
    whole[filled] = roles.at(starts[filled]) != Role.UNKNOWN
    return whole


def _targets_by_role(batch: PackBatch, roles: Roles) -> Int64Array:
    """Return `int64[role, segment]`, targets among the tokens of each role; no run reaches over a segment."""
    text = np.flatnonzero((roles.codes >= _COMPARED[0]) & (roles.codes <= _COMPARED[-1]))
    starts = roles.starts[text]
    owners = np.searchsorted(batch.segments.starts, starts, side="right") - 1
    keys = (roles.codes[text] - np.int64(_COMPARED[0])) * batch.n_segments + owners
    shape = (len(_COMPARED), batch.n_segments)
    n_targets = np.bincount(keys, batch.targets.count_within(starts, roles.stops[text]), shape[0] * shape[1])
    return n_targets.astype(np.int64).reshape(shape)


def large_gaps(
    shares: PlaceShares, min_samples: int, min_fraction: float, min_standard_errors: float
) -> list[PlaceGap]:
    """Return the roles whose tokens are targets in one place and not in the other, beyond chance."""
    return [
        gap
        for gap in _gaps(shares)
        if min(gap.n_first, gap.n_later) >= min_samples
        and abs(gap.fraction) >= min_fraction
        and gap.standard_errors >= min_standard_errors
    ]


def gap_locations(
    shares: PlaceShares, gaps: Sequence[PlaceGap], shards: Sequence[str]
) -> tuple[Location, ...]:
    """Return the later samples that are farthest from what first ones show, those of all gaps in turn.

    Args:
        shares: where the gaps were found.
        gaps: the gaps.
        shards: name of each shard.
    """
    by_gap = [
        shares.extremes.worst(
            _COMPARED.index(gap.role),
            is_least=gap.fraction > 0,
            name=gap.role.name.lower(),
            shards=shards,
        )
        for gap in gaps
    ]
    found: dict[tuple[str, int, int], Location] = {}
    for place in (places[rank] for rank in range(KEPT) for places in by_gap if rank < len(places)):
        key = (place.shard, place.pack, place.segment)
        if key in found:
            known = found[key]
            note = f"{known.note}; {place.note}"
            found[key] = replace(known, amount=known.amount + place.amount, note=note)
        elif len(found) < MAX_PLACES:
            found[key] = place
    return tuple(sorted(found.values(), key=lambda place: place.order))


def _gaps(shares: PlaceShares) -> Iterator[PlaceGap]:
    """Yield one comparison per role that stands in both places, over all numbers of turns that do."""
    for at, role in enumerate(_COMPARED):
        kept = shares.n_samples[at].min(axis=1) > 0
        if not kept.any():
            continue
        n = shares.n_samples[at][kept]
        sums, squares = shares.sums[at][kept] / _SHARE_STEPS, shares.squares[at][kept] / _SHARE_STEPS**2
        n_all = n.sum(axis=1)
        weights = n.prod(axis=1) / n_all
        first, later = (weights @ (sums / n)) / weights.sum()
        spread = np.maximum(squares.sum(axis=1) - sums.sum(axis=1) ** 2 / n_all, 0.0) / (n_all - 1)
        error = float(np.sqrt(weights**2 @ (spread * (1 / n).sum(axis=1)))) / float(weights.sum())
        yield PlaceGap(
            role=role,
            n_first=int(n[:, 0].sum()),
            n_later=int(n[:, 1].sum()),
            first_fraction=float(first),
            later_fraction=float(later),
            standard_errors=float(abs(first - later)) / error if error else 0.0,
        )
