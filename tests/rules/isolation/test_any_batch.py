"""Rules of the families ISO and BND on any batch: none raises, none depends on how batches are cut."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.engine.tally import Tally, count_batch, tally_hits
from packlint.model.needs import missing
from packlint.registry import find_rule, rule_modules
from packlint.rule import PackRule, Totals
from packlint.testing import make_batch, make_batches
from packlint.trainers import CONTRACTS
from tests.packs import Packs, random_packs

_RULES = [
    rule
    for rule in (find_rule(code) for code in rule_modules() if code[:3] in ("ISO", "BND"))
    if issubclass(rule, PackRule)
]
_PADDINGS = ("unknown", "never_stored", "mask_zero", "segment_id", "beyond_lengths", "position_zero")


def _mess(rng: np.random.Generator) -> Packs:
    """Return packs with anything wrong: records at random, columns missing, packs empty."""
    packs = random_packs(rng, n_packs=int(rng.integers(1, 8)), padded=bool(rng.integers(2)))
    for name in ("input_ids", "position_ids", "segment_ids", "attention_mask", "seq_lens"):
        for row in packs[name]:
            for slot in np.flatnonzero(rng.random(len(row)) < 0.1).tolist():
                row[slot] = int(rng.integers(-1, 5))
    packs["cu_seqlens"] = [
        [*np.cumsum([0, *lengths]).tolist(), len(ids)]
        for lengths, ids in zip(packs["seq_lens"], packs["input_ids"], strict=True)
    ]
    columns = ("labels", "position_ids", "segment_ids", "attention_mask", "seq_lens", "cu_seqlens")
    if rng.random() < 0.3:
        at = int(rng.integers(len(packs["input_ids"]) + 1))
        for name in ("input_ids", *columns):
            packs[name].insert(at, [])
    for name in columns:
        if rng.random() < 0.4:
            del packs[name]
    packs["layout"] = {
        "lengths_cover_padding": bool(rng.integers(2)),
        "padding": str(rng.choice(_PADDINGS)),
        "nothing": 0,
    }
    spec: dict[str, Any] = {
        "bos_id": 1,
        "eos_ids": [2],
        "pad_id": 0,
        "max_sample_len": int(rng.integers(2, 9)),
    }
    spec = {name: value for name, value in spec.items() if rng.random() < 0.8}
    packs["config"] = {"profile": str(rng.choice(["sft", "pretrain"])), "spec": spec}
    if rng.random() < 0.9:
        packs["config"]["trainer"] = str(rng.choice(list(CONTRACTS)))
    return packs


def _tally(rule: PackRule, packs: Packs, block_tokens: int) -> dict[str, Any]:
    """Return the counts over all batches, having held every batch to what `Hits` promises."""
    total = Tally()
    for batch in make_batches(packs, block_tokens):
        unmet = [reason for need in rule.meta.needs if (reason := missing(batch, need))]
        if unmet or rule.unchecked(batch):
            continue
        hits = rule.check(batch)
        assert np.all(hits.starts <= hits.stops)
        assert np.all(hits.stops[:-1] <= hits.starts[1:])
        assert np.all(batch.pack_offsets[hits.packs] <= hits.starts)
        assert np.all(hits.stops <= batch.pack_offsets[hits.packs + 1])
        assert hits.segments.size == hits.amounts.size == len(hits)
        assert all(type(n) is int for n in hits.measured.values())
        tally = tally_hits(batch, hits)
        if tally.n_hits:
            assert "allowed" in _said(rule, tally, batch) or rule.meta.code == "BND006"
        total.add(tally)
    counts = asdict(total)
    counts["measured"] = {name: n for name, n in counts["measured"].items() if n}
    return counts


def _said(rule: PackRule, tally: Tally, batch: Any) -> str:
    return rule.message(
        Totals(
            shard=batch.shard,
            n_hits=tally.n_hits,
            n_packs=tally.n_packs,
            n_segments=tally.n_segments,
            n_tokens=tally.n_tokens,
            amount=tally.amount,
            measured=tally.measured,
            checked=count_batch(batch),
            worst=tally.exemplars[0],
        )
    )


@pytest.mark.parametrize("rule", _RULES)
@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), block_tokens=st.integers(1, 60))
def test_counts_do_not_depend_on_the_batches(rule: type[PackRule], seed: int, block_tokens: int) -> None:
    packs = _mess(np.random.default_rng(seed))

    assert _tally(rule(), packs, block_tokens) == _tally(rule(), packs, 1 << 60)


_ODD: tuple[Packs, ...] = (
    {"input_ids": [[]], "position_ids": [[]], "seq_lens": [[]]},
    {"input_ids": [[]], "position_ids": [[]], "segment_ids": [[]], "attention_mask": [[]]},
    {"input_ids": [[], [1]], "position_ids": [[], [0]], "seq_lens": [[], [1]], "cu_seqlens": [[0], [0, 1]]},
    {"input_ids": [[2], [1]], "segment_ids": [[0], [1]], "attention_mask": [[0], [1]]},
    {"input_ids": [[2, 1]], "segment_ids": [[0, 0]], "position_ids": [[0, 0]]},
    {"input_ids": [[2], [1]], "cu_seqlens": [[], []], "position_ids": [[7], [8]]},
    {"input_ids": [[2, 1]], "position_ids": [[-1, -1]], "attention_mask": [[0, 0]]},
    {"input_ids": [[2]], "dense_mask": [[[False]]], "attention_mask": [[0]]},
    {"input_ids": [[2]], "dense_mask": [[[True]]], "segment_ids": [[1]], "position_ids": [[0]]},
)


@pytest.mark.parametrize("rule", _RULES)
@pytest.mark.parametrize("packs", _ODD)
@pytest.mark.parametrize("trainer", [None, "transformers", "trl", "llama-factory", "olmo-core"])
def test_smallest_packs(rule: type[PackRule], packs: Packs, trainer: str | None) -> None:
    spec = {"bos_id": 1, "eos_ids": [2], "pad_id": 2, "max_sample_len": 1}
    config = {"profile": "sft", "spec": spec} | ({"trainer": trainer} if trainer else {})

    batch = make_batch({**packs, "config": config})

    assert len(rule().check(batch)) <= batch.n_tokens + batch.n_packs
