"""Samples drawn at random, counted as a `Composition`; and what rules say of two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.metadata import Categories
from packlint.model.spec import DatasetSpec, Policy
from packlint.rule import Dataset, DriftRule, Judgement
from packlint.summaries.composition import Composition
from packlint.summaries.positions import bin_runs
from packlint.summaries.shares import PACK_UNIT, CategoryShares

__all__ = ["DATASET", "Drawn", "composition", "draw", "judge"]

DATASET = Dataset(shards=("a",), policy=Policy(), spec=DatasetSpec(), checked={})
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Hold samples: tokens, targets (the last ones of each), category and pack."""

    lengths: Ints
    targets: Ints
    codes: Ints
    packs: Ints
    names: tuple[str, ...]

    def take(self, rows: Ints | NDArray[np.bool_]) -> Drawn:
        """Return some samples."""
        return replace(
            self,
            lengths=self.lengths[rows],
            targets=self.targets[rows],
            codes=self.codes[rows],
            packs=self.packs[rows],
        )


def draw(
    seed: int,
    n_samples: int,
    *,
    sigma: float = 1.0,
    n_categories: int = 8,
    per_pack: int = 8,
    shift: float = 0.0,
    most: int = 1 << 20,
) -> Drawn:
    """Draw log-normal lengths, targets, and categories of which some have longer samples than others."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, n_categories + 1)
    codes = rng.choice(n_categories, n_samples, p=weights / weights.sum())
    raw = rng.lognormal(5.5 + shift + 0.6 * np.sin(codes), sigma)
    lengths = np.clip(raw, 1, most).astype(np.int64)
    targets = np.maximum((lengths * rng.uniform(0.1, 0.9, n_samples)).astype(np.int64), 1)
    names = tuple(f"domain-{i}" for i in range(n_categories))
    return Drawn(lengths, targets, codes, np.arange(n_samples) // per_pack, names)


def composition(drawn: Drawn, *, has_targets: bool = True, is_source: bool = False) -> Composition:
    """Return what the samples are made of."""
    found = Composition(is_source=is_source)
    found.lengths.add(drawn.lengths)
    n_packs = int(drawn.packs.max()) + 1 if drawn.packs.size else 0
    found.n_packs = n_packs
    column = Categories(drawn.names, drawn.codes.astype(np.int32))
    if not has_targets:
        found.n_without_targets = int(drawn.lengths.size)
        found.categories["domain"] = CategoryShares.of(column, drawn.lengths)
        return found
    by_pack = np.zeros(n_packs, np.int64)
    np.add.at(by_pack, drawn.packs, drawn.targets)
    found.targets.add(drawn.targets)
    found.targets_by_length.add(drawn.lengths, drawn.targets)
    found.pack_targets.add(by_pack)
    found.target_positions = bin_runs(drawn.lengths - drawn.targets, drawn.lengths)
    parts = drawn.targets * PACK_UNIT // np.maximum(by_pack[drawn.packs], 1)
    found.categories["domain"] = CategoryShares.of(column, drawn.lengths, drawn.targets, parts)
    return found


def judge(
    rule: type[DriftRule], reference: Composition, packed: Composition, **options: Any
) -> Sequence[Judgement]:
    """Return what a rule says of two compositions."""
    instance = rule(rule.Options(**options))
    assert instance.unchecked(reference, packed) is None
    return list(instance.judge(reference, packed, DATASET))
