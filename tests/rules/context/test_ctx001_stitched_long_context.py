"""CTX001: tokens with long context of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence, Severity
from packlint.model.batch import Unit
from packlint.rule import Judgement
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.context.ctx001_stitched_long_context import StitchedLongContext
from tests.packs import Packs, sft_packs, text_packs

LONG = {"profile": "long-context"}


def rows(*lengths: list[int], config: dict[str, Any] | None = None) -> Packs:
    ids = [[7] * sum(samples) for samples in lengths]
    return {"input_ids": ids, "seq_lens": list(lengths), "config": LONG if config is None else config}


def stitched(packs: Packs, **options: Any) -> Judgement | None:
    found = judge(StitchedLongContext, [make_batch(packs)], **options)
    return found[0] if found else None


def test_case_o1() -> None:
    found = stitched(rows([2] * 16))

    assert found is not None
    assert found.message == (
        "rows of 32 slots, effective context 1.5 tokens; of all tokens 0 % see 4, 0 % see 8, 0 % see 16"
        " tokens of their own sample; wanted at 16: 10.6 %"
    )
    assert found.measured == {"effective_context_tokens": 1.5, "long_context_fraction": 0.0}
    assert (found.n_hits, found.n_tokens) == (1, 32)


@pytest.mark.parametrize(
    ("lengths", "fires"),
    [
        ([[32]], False),
        ([[19, 13]], False),  # 4 of 32 tokens see 16 or more; 17 of 32 would, and a fifth of that is wanted
        ([[18, 14]], True),
        ([[16, 16]], True),
        ([[32], [2] * 16, [2] * 16, [2] * 16], False),
        ([[32], *[[2] * 16] * 5], True),
    ],
)
def test_a_fifth_of_the_promise(lengths: list[list[int]], fires: bool) -> None:
    assert (stitched(rows(*lengths)) is not None) == fires


def test_short_rows_promise_nothing_unless_the_profile_does() -> None:
    short = rows([2] * 16, config={"profile": "sft"})

    assert stitched(short) is None
    assert stitched(short, min_row_tokens=32) is not None
    assert stitched(short, min_row_tokens=33) is None
    assert stitched(rows([2] * 16, config={"profile": {"extends": "sft", "promises_long_context": True}}))


@pytest.mark.parametrize(("profile", "severity"), [("pretrain", "warning"), ("sft", "info")])
def test_severity_by_profile(profile: str, severity: str) -> None:
    packs = {"input_ids": [[7] * 32768], "seq_lens": [[1024] * 32]}
    report = packlint.check(packs, profile=profile, trainer="torchtune")

    assert [f.severity for f in report.findings if f.code == "CTX001"] == [Severity(severity)]


def test_an_error_where_long_context_is_promised() -> None:
    report = packlint.check({"input_ids": [[7] * 32], "seq_lens": [[2] * 16]}, profile="long-context")
    severities = {f.code: f.severity for f in report.findings}

    assert severities["CTX001"] == severities["CTX002"] == Severity.ERROR


def test_the_known_row_length_counts_not_the_packs() -> None:
    config = {**LONG, "spec": {"max_seq_len": 64}}

    assert stitched(rows([32], [32])) is None
    assert stitched(rows([32], [32], config=config)) is not None


def test_inferred_samples_are_likely_and_documents_are_left_out() -> None:
    packs = {"input_ids": [[7] * 8], "position_ids": [[0, 1] * 4], "config": LONG}
    batch = make_batch(rows([2] * 16))
    documents = replace(batch, shard=replace(batch.shard, unit=Unit.DOCUMENT))

    assert stitched(packs).confidence is Confidence.LIKELY  # type: ignore[union-attr]
    assert judge(StitchedLongContext, [documents]) == []


@given(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=5), min_size=1, max_size=6), st.data())
@settings(max_examples=60)
def test_equals_a_count_token_by_token(lengths: list[list[int]], data: st.DataObject) -> None:
    row = data.draw(st.integers(30, 64))
    packs = rows(*lengths, config={**LONG, "spec": {"max_seq_len": row}})
    batches = make_batches(packs, data.draw(st.sampled_from([1, 60])))

    found = judge(StitchedLongContext, data.draw(st.permutations(batches)))

    seen = [n for samples in lengths for tokens in samples for n in range(1, tokens + 1)]
    least = round(row / 2)
    share, promise = sum(n >= least for n in seen) / len(seen), (row - least + 1) / row
    assert bool(found) == (share < 0.2 * promise)
    if found:
        assert found[0].measured["long_context_fraction"] == pytest.approx(share)
        assert found[0].measured["effective_context_tokens"] == pytest.approx(sum(seen) / len(seen))


@given(sft_packs() | text_packs())
@settings(max_examples=20)
def test_silent_on_correct_packs(packs: Packs) -> None:
    assert stitched(packs) is None


@pytest.mark.parametrize("packs", [rows([]), rows([], []), rows([1])])
def test_little_or_no_data(packs: Packs) -> None:
    assert stitched(packs) is None
    assert judge(StitchedLongContext, []) == []
