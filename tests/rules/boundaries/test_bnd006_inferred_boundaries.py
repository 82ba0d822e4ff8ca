"""BND006: boundaries that only tokens tell."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.testing import check
from packlint_rules.boundaries.bnd006_inferred_boundaries import InferredBoundaries
from tests.packs import Packs, sft_packs, text_packs, with_config


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()))
def test_every_pack_whose_records_are_taken_away(packs: Packs) -> None:
    bare = {name: packs[name] for name in ("input_ids", "config")}

    assert check(InferredBoundaries, bare).packs.tolist() == list(range(len(packs["input_ids"])))


@settings(max_examples=50, deadline=None)
@given(
    st.one_of(sft_packs(), text_packs()),
    st.sampled_from(["seq_lens", "segment_ids", "position_ids"]),
    st.sampled_from(["trl", "olmo-core", "megatron-reset"]),
)
def test_silent_with_any_record(packs: Packs, record: str, trainer: str) -> None:
    packs = with_config(packs, trainer=trainer)
    kept = {name: packs[name] for name in ("input_ids", "config", "layout", record)}
    if record == "position_ids" and all(len(lengths) == 1 for lengths in packs["seq_lens"]):
        return  # nothing restarts

    assert len(check(InferredBoundaries, kept)) == 0


def test_empty_packs_are_not_counted() -> None:
    packs = {"input_ids": [[], [1, 5, 2]], "config": {"profile": "pretrain", "spec": {"eos_ids": [2]}}}

    assert check(InferredBoundaries, packs).packs.tolist() == [1]


def test_message() -> None:
    report = packlint.check(
        {"input_ids": [[1, 5, 2, 1, 6, 2]]}, profile="pretrain", spec={"eos_ids": [2]}, select=["BND006"]
    )

    assert report.exit_code == 0
    assert report.findings[0].message == (
        "only end tokens tell the 2 segments of 1 pack apart; explicit lengths would be a contract"
    )
