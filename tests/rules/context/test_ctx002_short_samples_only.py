"""CTX002: no sample long enough for the row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence, Severity
from packlint.rule import Judgement
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.context.ctx002_short_samples_only import ShortSamplesOnly
from tests.packs import Packs, sft_packs, text_packs

LONG = {"profile": "long-context"}


def rows(*lengths: list[int], config: dict[str, Any] | None = None) -> Packs:
    ids = [[7] * sum(samples) for samples in lengths]
    return {"input_ids": ids, "seq_lens": list(lengths), "config": LONG if config is None else config}


def short(packs: Packs, **options: Any) -> Judgement | None:
    found = judge(ShortSamplesOnly, [make_batch(packs)], **options)
    return found[0] if found else None


def test_case_o1() -> None:
    found = short(rows([2] * 16))

    assert found is not None
    assert found.message == (
        "the longest sample has 2 tokens in rows of 32 (6.2 %): no token has more than 1 token of its own"
        " sample before it; wanted: 50 % of the row"
    )
    assert found.measured == {"longest_sample_tokens": 2, "row_tokens": 32}


@pytest.mark.parametrize(("longest", "fires"), [(15, True), (16, False), (32, False)])
def test_half_a_row(longest: int, fires: bool) -> None:
    assert (short(rows([2] * 16, [longest, *[1] * (32 - longest)])) is not None) == fires


def test_short_rows_promise_nothing_unless_the_profile_does() -> None:
    packs = rows([2] * 16, config={"profile": "pretrain"})

    assert short(packs) is None
    assert short(packs, min_row_tokens=32) is not None


def test_information_only_elsewhere() -> None:
    packs = {"input_ids": [[7] * 32768], "seq_lens": [[1024] * 32]}
    report = packlint.check(packs, profile="pretrain", trainer="torchtune")

    assert [f.severity for f in report.findings if f.code == "CTX002"] == [Severity.INFO]


def test_one_row_length_with_long_samples_is_enough() -> None:
    both = [make_batch(rows([2] * 16)), make_batch(rows([60], config={**LONG, "spec": {"max_seq_len": 64}}))]

    assert judge(ShortSamplesOnly, both) == []


def test_inferred_samples_are_likely() -> None:
    packs = {"input_ids": [[7] * 8], "position_ids": [[0, 1] * 4], "config": LONG}

    assert short(packs).confidence is Confidence.LIKELY  # type: ignore[union-attr]


@given(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=5), min_size=1, max_size=6), st.data())
@settings(max_examples=40)
def test_the_longest_of_all_counts(lengths: list[list[int]], data: st.DataObject) -> None:
    packs = rows(*lengths, config={**LONG, "spec": {"max_seq_len": 48}})
    batches = make_batches(packs, data.draw(st.sampled_from([1, 60])))

    found = judge(ShortSamplesOnly, data.draw(st.permutations(batches)))

    longest = max(max(samples) for samples in lengths)
    assert [f.measured["longest_sample_tokens"] for f in found] == ([longest] if longest < 24 else [])


@given(sft_packs() | text_packs())
@settings(max_examples=20)
def test_silent_on_correct_packs(packs: Packs) -> None:
    assert short(packs) is None


@pytest.mark.parametrize("packs", [rows([]), rows([], []), rows([1])])
def test_little_or_no_data(packs: Packs) -> None:
    assert short(packs) is None
