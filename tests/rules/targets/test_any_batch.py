"""Rules of the families TGT and SPC on any batch: none raises, none depends on how batches are cut."""

from __future__ import annotations

from dataclasses import asdict
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.engine.tally import Tally, tally_hits
from packlint.model.needs import missing
from packlint.registry import find_rule, rule_modules
from packlint.rule import DatasetRule, PackRule
from packlint.testing import judge, make_batch, make_batches
from tests.packs import Packs, random_packs

_CODES = [code for code in rule_modules() if code[:3] in ("TGT", "SPC")]
_PACK_RULES = [rule for rule in map(find_rule, _CODES) if issubclass(rule, PackRule)]
_DATASET_RULES = [rule for rule in map(find_rule, _CODES) if issubclass(rule, DatasetRule)]
_PROFILES = ("sft", "pretrain", {"extends": "sft", "wants_begin_token": True})
_TRAINERS = ("grain", "trl", "xtuner", "automodel", "seqio", "torchtune", "megatron", "llm-c", "olmo-core")
_COLUMNS = ("labels", "position_ids", "segment_ids", "seq_lens", "attention_mask")


def _mess(rng: np.random.Generator) -> Packs:
    """Return packs with anything wrong: ids, labels and records at random, columns missing, packs empty."""
    packs = random_packs(rng, n_packs=int(rng.integers(1, 8)), padded=bool(rng.integers(2)))
    for name in ("input_ids", "labels", "segment_ids"):
        for row in packs[name]:
            for slot in np.flatnonzero(rng.random(len(row)) < 0.2).tolist():
                row[slot] = int(rng.choice([0, 1, 2, 2, 11, *([-100] if name == "labels" else [])]))
    if rng.random() < 0.3:
        at = int(rng.integers(len(packs["input_ids"]) + 1))
        for name in ("input_ids", *_COLUMNS):
            packs[name].insert(at, [])
    if rng.random() < 0.3:
        weights = [0.0, 1.0, 2.0, 0.5, np.nan, np.inf, -1.0]
        packs["loss_mask"] = [rng.choice(weights, len(row)).tolist() for row in packs["input_ids"]]
    for name in _COLUMNS:
        if rng.random() < 0.3:
            del packs[name]
    if "segment_ids" not in packs:
        packs["layout"]["padding"] = str(rng.choice(["unknown", "never_stored", "mask_zero"]))
    spec: dict[str, Any] = {"bos_id": 1, "eos_ids": [2], "pad_id": int(rng.choice([0, 2]))}
    spec["label_alignment"] = str(rng.choice(["unshifted", "preshifted"]))
    for name in list(spec):
        if rng.random() < 0.2:
            del spec[name]
    packs["config"] = {
        "profile": _PROFILES[rng.integers(3)],
        "trainer": str(rng.choice(_TRAINERS)),
        "spec": spec,
    }
    if rng.random() < 0.2:
        del packs["config"]["trainer"]
    return packs


def _tally(rule: PackRule, packs: Packs, block_tokens: int) -> dict[str, Any]:
    """Return the counts over all batches."""
    total = Tally()
    for batch in make_batches(packs, block_tokens):
        unmet = [reason for need in rule.meta.needs if (reason := missing(batch, need))]
        hits = None if unmet or rule.unchecked(batch) else rule.check(batch)
        if hits is not None:
            assert np.all(hits.starts <= hits.stops)
            assert np.all(hits.stops[:-1] <= hits.starts[1:])
            assert np.all(batch.pack_offsets[hits.packs] <= hits.starts)
            assert np.all(hits.stops <= batch.pack_offsets[hits.packs + 1])
            assert all(type(n) is int for n in hits.measured.values())
            total.add(tally_hits(batch, hits))
    counts = asdict(total)
    counts["measured"] = {name: n for name, n in counts["measured"].items() if n}
    return counts


@pytest.mark.parametrize("rule", _PACK_RULES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), block_tokens=st.integers(1, 60))
def test_counts_do_not_depend_on_the_batches(rule: type[PackRule], seed: int, block_tokens: int) -> None:
    packs = _mess(np.random.default_rng(seed))

    assert _tally(rule(), packs, block_tokens) == _tally(rule(), packs, 1 << 60)


@pytest.mark.parametrize("rule", _DATASET_RULES)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), block_tokens=st.integers(1, 60))
def test_judgements_do_not_depend_on_the_batches(
    rule: type[DatasetRule[Any]], seed: int, block_tokens: int
) -> None:
    packs = _mess(np.random.default_rng(seed))

    assert judge(rule, make_batches(packs, block_tokens)) == judge(rule, [make_batch(packs)])


@pytest.mark.parametrize("rule", _DATASET_RULES)
def test_summaries_merge_in_any_order(rule: type[DatasetRule[Any]]) -> None:
    batches = make_batches(random_packs(np.random.default_rng(1), n_packs=6), 1)
    judged = judge(rule, batches)
    instance = rule()
    parts = [instance.observe(instance.zero(), batch) for batch in batches]

    forward = reduce(lambda a, b: a.merge(b), parts, instance.zero())
    backward = reduce(lambda a, b: b.merge(a), parts, instance.zero())

    assert judged == judge(rule, batches[::-1])
    assert type(forward) is type(backward)


_ODD: tuple[Packs, ...] = (
    {"input_ids": [[]], "labels": [[]], "seq_lens": [[]]},
    {"input_ids": [[], [1]], "labels": [[], [1]], "seq_lens": [[], [1]]},
    {"input_ids": [[2]], "labels": [[-100]], "segment_ids": [[0]]},
    {"input_ids": [[1], [2], [0]], "labels": [[1], [-100], [0]], "segment_ids": [[1], [1], [0]]},
    {"input_ids": [[1]], "loss_mask": [[float("nan")]], "segment_ids": [[0]]},
)


@pytest.mark.parametrize("rule", _PACK_RULES)
@pytest.mark.parametrize("packs", _ODD)
@pytest.mark.parametrize("trainer", [None, "automodel", "trl"])
def test_smallest_packs(rule: type[PackRule], packs: Packs, trainer: str | None) -> None:
    spec = {"bos_id": 1, "eos_ids": [2], "pad_id": 2}
    config = {"profile": "sft", "spec": spec} | ({"trainer": trainer} if trainer else {})

    batch = make_batch({**packs, "config": config})

    assert len(rule().check(batch)) <= batch.n_tokens + batch.n_packs
