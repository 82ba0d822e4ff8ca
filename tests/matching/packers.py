"""Packers in plain Python, and what the books say of packs in memory."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from packlint.config import parse_config
from packlint.engine.plan import plan_shards
from packlint.executors import local
from packlint.finding import Finding
from packlint.matching import compare, plan_samples
from packlint.report import RuleStatus
from packlint.summaries.reconciliation import Reconciliation
from packlint.testing import lint, shard_of

__all__ = [
    "BOS",
    "EOS",
    "Packs",
    "Row",
    "as_example",
    "as_packs",
    "best_fit_split",
    "correct_packs",
    "draw_samples",
    "first_fit",
    "found_by",
    "reconcile",
    "status_of",
    "wrapped",
]

BOS, EOS = 1, 2
FIRST_ID = 5
"""Ids of samples begin here, so that no sample holds a special one by chance."""
Row = list[int]


@dataclass(frozen=True, kw_only=True)
class Packs:
    """Hold packs.

    Args:
        rows: tokens of each pack.
        seq_lens: lengths of the segments of each, or none where nothing records them.
        sizes: packs in each shard; one shard with all of them if empty.
    """

    rows: list[Row]
    seq_lens: list[Row] | None = None
    sizes: list[int] = field(default_factory=list)

    @property
    def segments(self) -> list[Row]:
        """Tokens of each recorded segment."""
        assert self.seq_lens is not None
        return [part for row, lens in zip(self.rows, self.seq_lens, strict=True) for part in cut(row, lens)]

    @property
    def n_tokens(self) -> int:
        """Tokens of all packs."""
        return sum(map(len, self.rows))


def cut(row: Row, lengths: Sequence[int]) -> list[Row]:
    """Return a row cut into parts."""
    edges = [0]
    for length in lengths:
        edges.append(edges[-1] + length)
    return [row[a:b] for a, b in pairwise(edges)]


def as_packs(packs: list[list[Row]], sizes: Sequence[int] = ()) -> Packs:
    """Return packs given as lists of segments; empty segments are left out."""
    kept = [[segment for segment in pack if segment] for pack in packs]
    kept = [pack for pack in kept if pack]
    return Packs(
        rows=[[token for segment in pack for token in segment] for pack in kept],
        seq_lens=[[len(segment) for segment in pack] for pack in kept],
        sizes=list(sizes),
    )


def first_fit(samples: Sequence[Row], pack_tokens: int) -> list[list[Row]]:
    """Return packs of whole samples; samples longer than a pack get one of their own."""
    packs: list[list[Row]] = []
    for sample in samples:
        for pack in packs:
            if sum(map(len, pack)) + len(sample) <= pack_tokens:
                pack.append(list(sample))
                break
        else:
            packs.append([list(sample)])
    return packs


def wrapped(samples: Sequence[Row], pack_tokens: int) -> list[list[Row]]:
    """Return packs of a stream that is cut wherever a pack is full; the last may be short."""
    packs: list[list[Row]] = [[]]
    room = pack_tokens
    for sample in samples:
        rest = list(sample)
        while rest:
            packs[-1].append(rest[:room])
            taken = len(packs[-1][-1])
            rest, room = rest[taken:], room - taken
            if room == 0:
                packs.append([])
                room = pack_tokens
    return packs


def best_fit_split(samples: Sequence[Row], pack_tokens: int, rng: random.Random) -> list[list[Row]]:
    """Return packs in which samples longer than a pack lie in fragments, each put anywhere."""
    fragments = [
        sample[start : start + pack_tokens]
        for sample in samples
        for start in range(0, len(sample), pack_tokens)
    ]
    rng.shuffle(fragments)
    return first_fit(sorted(fragments, key=len, reverse=True), pack_tokens)


def draw_samples(
    rng: random.Random,
    *,
    n_samples: int,
    vocabulary: int,
    low: int = 1,
    high: int = 200,
    prefix: int = 0,
    repeats: float = 0.0,
    nested: float = 0.0,
) -> list[Row]:
    """Return random samples.

    Args:
        rng: where they come from.
        n_samples: how many.
        vocabulary: different ids.
        low: tokens of the shortest.
        high: tokens of the longest.
        prefix: tokens with which all begin.
        repeats: share of samples that are copies of an earlier one.
        nested: share that are a head, a tail or an inner part of an earlier one, or hold one.
    """
    shared = [rng.randrange(FIRST_ID, FIRST_ID + vocabulary) for _ in range(prefix)]
    samples: list[Row] = []
    for _ in range(n_samples):
        own = [rng.randrange(FIRST_ID, FIRST_ID + vocabulary) for _ in range(rng.randint(low, high))]
        draw = rng.random()
        if samples and draw < repeats:
            samples.append(list(rng.choice(samples)))
        elif samples and draw < repeats + nested:
            other = rng.choice(samples)
            a = rng.randrange(len(other))
            b = rng.randrange(a, len(other)) + 1
            samples.append(rng.choice([other[:b], other[a:], other[a:b], other + own, own + other]))
        else:
            samples.append(shared + own)
    return samples


def reconcile(
    packs: Packs,
    samples: Sequence[Row],
    *,
    specials: bool = True,
    block_tokens: int = 1 << 17,
    jobs: int = 1,
    max_tokens: int | None = None,
) -> Reconciliation:
    """Return what became of samples.

    Args:
        packs: the packs.
        samples: the reference.
        specials: `BOS` and `EOS` are declared.
        block_tokens: tokens per batch.
        jobs: threads.
        max_tokens: tokens of unmatched segments held at a time.
    """
    config = parse_config({"spec": {"bos_id": BOS, "eos_ids": [EOS]}} if specials else {}, "test")
    shards, first = [], 0
    for number, size in enumerate(packs.sizes or [len(packs.rows)]):
        columns: dict[str, list[Row]] = {"input_ids": packs.rows[first : first + size]}
        if packs.seq_lens is not None:
            columns["seq_lens"] = packs.seq_lens[first : first + size]
        shards.append(replace(shard_of(columns), name=f"shard-{number}"))
        first += size
    plans = plan_shards(shards, config, config.spec).shards
    reference = [replace(shard_of({"input_ids": list(samples)}), name="reference")]
    comparison = compare(plan_samples(reference, config.spec), plans, jobs=jobs, block_tokens=block_tokens)
    results = local.run(plans, (), jobs=jobs, block_tokens=block_tokens, survey=comparison.survey())
    limit = {} if max_tokens is None else {"max_tokens": max_tokens}
    return comparison.settle(plans, results, **limit)[0]


def as_example(packs: Packs, samples: Sequence[Row], **config: Any) -> dict[str, Any]:
    """Return packs and their reference as an example for `packlint.testing.lint`.

    Args:
        packs: the packs.
        samples: the reference.
        config: what packlint.toml holds.
    """
    example: dict[str, Any] = {
        "input_ids": packs.rows,
        "reference": {"input_ids": list(samples)},
        "config": {"spec": {"bos_id": BOS, "eos_ids": [EOS]}, **config},
    }
    if packs.seq_lens is not None:
        example["seq_lens"] = packs.seq_lens
    if packs.sizes:
        example["shards"] = packs.sizes
    return example


def correct_packs(rng: random.Random, pack_tokens: int = 128) -> tuple[Packs, list[Row]]:
    """Return packs of a packer that loses nothing, and their samples."""
    samples = draw_samples(
        rng, n_samples=rng.randint(1, 20), vocabulary=1000, high=pack_tokens - 2, repeats=0.2, prefix=0
    )
    packed = [[BOS] * rng.choice([0, 1]) + [*sample, EOS] for sample in samples]
    rng.shuffle(packed)
    return as_packs(first_fit(packed, pack_tokens)), samples


def found_by(code: str, example: Mapping[str, Any]) -> Finding | None:
    """Return what one rule says of an example, with a reference, in a whole run."""
    config = {**example.get("config", {}), "select": [code]}
    report = lint({**example, "config": config})
    assert not report.internal_errors
    found = [finding for finding in report.findings if finding.code == code]
    assert len(found) <= 1
    return found[0] if found else None


def status_of(code: str, example: Mapping[str, Any]) -> tuple[RuleStatus, tuple[str, ...]]:
    """Return what became of a rule in a whole run, and the reasons."""
    [rule] = [rule for rule in lint(example).rules if rule.code == code]
    return rule.status, rule.reasons
