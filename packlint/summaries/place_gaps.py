"""Whether targets depend on the place in the pack: first samples against later ones, by role.

A sample counts once, with the share of a role's tokens that are targets, and is compared with samples of as
many turns only: packers put long samples first, and long chats have other masks than short ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from packlint.model.arrays import BoolArray, FloatArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.model.edges import fragment_starts
from packlint.model.recorded import sound_segments
from packlint.model.roles import Role, Roles

__all__ = ["PlaceGap", "PlaceShares", "large_gaps"]

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
    """

    n_samples: Int64Array = field(default_factory=lambda: np.zeros(_SHAPE, np.int64))
    sums: Int64Array = field(default_factory=lambda: np.zeros(_SHAPE, np.int64))
    squares: Int64Array = field(default_factory=lambda: np.zeros(_SHAPE, np.int64))

    def add(self, batch: PackBatch, roles: Roles) -> None:
        """Add the samples of a batch, in place; those that may begin in the middle are left out."""
        n_turns = np.minimum(np.bincount(roles.turns.segments, minlength=batch.n_segments), _MAX_TURNS)
        keys = n_turns * 2 + (batch.segment_numbers > 0)
        n_tokens, n_targets = _by_role(batch, roles)
        counted = (n_tokens > 0) & _whole(batch, roles)
        shares = (_SHARE_STEPS * n_targets // np.maximum(n_tokens, 1))[counted]
        places = (np.arange(len(_COMPARED))[:, None] * (2 * (_MAX_TURNS + 1)) + keys)[counted]
        self.n_samples += _sum(places, np.ones(shares.size))
        self.sums += _sum(places, shares)
        self.squares += _sum(places, shares**2)

    def merge(self, other: PlaceShares) -> PlaceShares:
        """Return the sums of both."""
        return PlaceShares(
            self.n_samples + other.n_samples, self.sums + other.sums, self.squares + other.squares
        )


def _sum(places: Int64Array, weights: Int64Array | FloatArray) -> Int64Array:
    return np.bincount(places, weights, minlength=int(np.prod(_SHAPE))).astype(np.int64).reshape(_SHAPE)


def _whole(batch: PackBatch, roles: Roles) -> BoolArray:
    starts, stops = batch.segments.starts, batch.segments.stops
    whole = sound_segments(batch) & ~fragment_starts(batch, if_unknown=False) & (stops > starts)
    filled = np.flatnonzero(whole)
    whole[filled] = roles.at(starts[filled]) != Role.UNKNOWN
    return whole


def _by_role(batch: PackBatch, roles: Roles) -> tuple[Int64Array, Int64Array]:
    """Return `int64[role, segment]`, tokens and targets; runs of roles do not reach across segments."""
    text = np.flatnonzero((roles.codes >= _COMPARED[0]) & (roles.codes <= _COMPARED[-1]))
    starts, stops = roles.starts[text], roles.stops[text]
    owners = np.searchsorted(batch.segments.starts, starts, side="right") - 1
    keys = (roles.codes[text] - np.int64(_COMPARED[0])) * batch.n_segments + owners
    shape = (len(_COMPARED), batch.n_segments)
    n_tokens, n_targets = (
        np.bincount(keys, amounts, minlength=shape[0] * shape[1]).astype(np.int64).reshape(shape)
        for amounts in (stops - starts, batch.targets.count_within(starts, stops))
    )
    return n_tokens, n_targets


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
