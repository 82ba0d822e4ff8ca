"""FIL006: attention work per rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.rule import Judgement
from packlint.summaries.work import idle_fraction
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.filling.fil006_unbalanced_attention_work import UnbalancedAttentionWork
from tests.packs import Packs


def rows(*lengths: list[int], trainer: str = "trl") -> Packs:
    ids = [[7] * sum(samples) for samples in lengths]
    return {"input_ids": ids, "seq_lens": list(lengths), "config": {"trainer": trainer}}


def unbalanced(packs: Packs | list[PackBatch], **options: Any) -> Judgement | None:
    batches = packs if isinstance(packs, list) else [make_batch(packs)]
    found = judge(UnbalancedAttentionWork, batches, **options)
    return found[0] if found else None


ONE_LONG = rows([8], *[[1] * 8] * 7)


def test_one_long_sample_holds_up_all() -> None:
    found = unbalanced(ONE_LONG)

    assert found is not None
    assert found.measured == {
        "work_idle_fraction": pytest.approx(7 * (64 - 8) / (8 * 64)),
        "token_idle_fraction": 0.0,
    }
    assert found.message == (
        "ranks wait 76.6 % of the attention time (0 % by tokens, steps of 8 x 1 packs); allowed: 35 %"
    )
    assert (found.severity, found.confidence) == (Severity.INFO, Confidence.LIKELY)


def test_a_warning_where_the_ranks_are_told() -> None:
    found = unbalanced(ONE_LONG, n_ranks=8)

    assert found is not None
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.CERTAIN)
    assert found.n_hits == 1


def test_several_packs_per_rank_even_out() -> None:
    packs = rows(*[[8], [1] * 8] * 4)

    assert unbalanced(packs, n_ranks=4) is not None
    assert unbalanced(packs, n_ranks=4, packs_per_rank=2) is None
    assert unbalanced(packs, n_ranks=2, packs_per_rank=2, strided=True) is not None


@pytest.mark.parametrize("trainer", ["megatron", "litgpt", "llama-factory"])
def test_plain_causal_attention_is_the_same_for_all(trainer: str) -> None:
    assert unbalanced(rows([8], *[[1] * 8] * 7, trainer=trainer)) is None


def test_less_than_a_step_says_nothing() -> None:
    assert unbalanced(rows([8], *[[1] * 8] * 6)) is None
    assert unbalanced([]) is None
    assert unbalanced(rows([], [])) is None


@given(st.lists(st.lists(st.integers(1, 9), max_size=4), min_size=4, max_size=24), st.data())
@settings(max_examples=60)
def test_places_decide_and_not_the_order_of_adding(lengths: list[list[int]], data: st.DataObject) -> None:
    n_first = data.draw(st.integers(0, len(lengths)))
    batches = []
    for index, part in enumerate((lengths[:n_first], lengths[n_first:])):
        found = make_batches(rows(*part), data.draw(st.sampled_from([1, 16]))) if part else []
        batches += [replace(b, shard=replace(b.shard, index=index)) for b in found]

    judged = unbalanced(data.draw(st.permutations(batches)), n_ranks=2, max_idle_fraction=0.0)

    work = np.array([sum(n * n for n in samples) for samples in lengths])
    expected = idle_fraction(work, 2, 1, strided=False)
    assert (0.0 if judged is None else judged.measured["work_idle_fraction"]) == pytest.approx(expected)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 30))
@settings(max_examples=30)
def test_silent_on_packs_that_are_alike(samples: list[int], n_packs: int) -> None:
    assert unbalanced(rows(*[samples] * n_packs), max_idle_fraction=0.0) is None
