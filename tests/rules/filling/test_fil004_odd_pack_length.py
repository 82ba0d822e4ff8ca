"""FIL004: packs longer than the format allows, or padded to less."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence, Hits
from packlint.testing import check, make_batch
from packlint_rules.filling.fil004_odd_pack_length import OddPackLength
from tests.packs import Packs, sft_packs, text_packs, with_config


def odd(*lengths: list[int], padding: tuple[int, ...] = (), **config: Any) -> Hits:
    """Check packs given as lengths of their segments; padded packs end in one 0."""
    rows: list[list[int]] = []
    masks: list[list[int]] = []
    for pack, segments in enumerate(lengths):
        n_padding = 1 if pack in padding else 0
        n_real = sum(segments)
        rows.append([*range(10, 10 + n_real), *[0] * n_padding])
        masks.append([*[i + 1 for i, n in enumerate(segments) for _ in range(n)], *[0] * n_padding])
    packs: Packs = {"input_ids": rows, "config": config}
    if padding:
        packs["attention_mask"] = masks
    else:
        packs["seq_lens"] = lengths
    return check(OddPackLength, packs)


@pytest.mark.parametrize(
    ("trainer", "lengths", "expected"),
    [
        ("trl", [[8], [4, 4], [3], [9], [4, 5]], [3, 4]),
        ("llama-factory", [[8], [9], [10]], [2]),
        ("megatron-bridge", [[8], [9], [10], [5, 5], [5, 6], [3, 3, 5], [3, 3, 6]], [2, 4, 6]),
        ("trl-wrapped", [[8], [3], [9]], [2]),
        (None, [[8], [9]], [1]),
    ],
)
def test_too_long(trainer: str | None, lengths: list[list[int]], expected: list[int]) -> None:
    hits = odd(*lengths, trainer=trainer, spec={"max_seq_len": 8})

    assert hits.packs.tolist() == expected
    assert hits.measured == {"too_long": len(expected), "too_short": 0}
    assert hits.confidence is (Confidence.CERTAIN if trainer else Confidence.LIKELY)


def test_excess_ranks_the_places() -> None:
    assert odd([10], [30], trainer="trl", spec={"max_seq_len": 8}).amounts.tolist() == [2, 22]


def test_short_packs_are_a_fault_only_if_padded() -> None:
    hits = odd([7], [3], [3], padding=(0, 1), trainer="llama-factory", spec={"max_seq_len": 8})

    assert hits.packs.tolist() == [1]
    assert hits.amounts.tolist() == [4]
    assert hits.measured == {"too_long": 0, "too_short": 1}
    assert hits.confidence is Confidence.LIKELY


def test_packs_without_the_extra_slot_are_not_short() -> None:
    assert len(odd([7], padding=(0,), trainer="llama-factory", spec={"max_seq_len": 8})) == 0


@pytest.mark.parametrize("trainer", ["trl-wrapped", "megatron-bridge"])
def test_ragged_formats_and_windows_may_end_in_padding(trainer: str) -> None:
    assert len(odd([3], padding=(0,), trainer=trainer, spec={"max_seq_len": 8})) == 0


def test_padding_known_by_its_id_only_proves_no_padded_layout() -> None:
    packs = {"input_ids": [[5, 0]], "config": {"spec": {"max_seq_len": 8, "pad_id": 0}}}

    assert len(check(OddPackLength, packs)) == 0


def test_a_detected_length_has_the_extra_slot_in_it() -> None:
    batch = make_batch({"input_ids": [[1, 2, 3]] * 2, "config": {"trainer": "llama-factory"}})
    longer = make_batch({"input_ids": [[1, 2, 3, 4]], "config": {"trainer": "llama-factory"}})
    mixed = {**vars_of(longer), "shard": batch.shard}

    assert len(check(OddPackLength, batch)) == 0
    hits = check(OddPackLength, type(longer)(**mixed))
    assert len(hits) == 1
    assert hits.confidence is Confidence.LIKELY


def vars_of(batch: Any) -> dict[str, Any]:
    return {name: getattr(batch, name) for name in batch.__slots__ if name != "_cache"}


@given(sft_packs() | text_packs(), st.integers(1, 80), st.sampled_from(["grain", "trl", "megatron-bridge"]))
@settings(max_examples=60)
def test_equals_brute_force(packs: Packs, max_seq_len: int, trainer: str) -> None:
    spec = {**packs["config"]["spec"], "max_seq_len": max_seq_len}
    packs = with_config(packs, trainer=trainer, spec=spec)
    per_segment = 1 if trainer == "megatron-bridge" else 0

    hits = check(OddPackLength, packs)

    expected = []
    for pack, (row, mask) in enumerate(zip(packs["input_ids"], packs["segment_ids"], strict=True)):
        too_long = len(row) > max_seq_len + per_segment * len(packs["seq_lens"][pack])
        too_short = not per_segment and mask[-1] == 0 and len(row) < max_seq_len
        if too_long or too_short:
            expected.append(pack)
    assert hits.packs.tolist() == expected


@given(sft_packs() | text_packs(), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=30)
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    longest = max(len(row) for row in packs["input_ids"])

    assert len(check(OddPackLength, with_config(packs, profile=profile))) == 0
    spec = {**packs["config"]["spec"], "max_seq_len": longest}
    assert len(check(OddPackLength, with_config(packs, profile=profile, spec=spec))) == 0


@pytest.mark.parametrize("rows", [[[]], [[], []], [[], [1]]])
def test_packs_without_tokens(rows: list[list[int]]) -> None:
    packs = {"input_ids": rows, "attention_mask": rows, "config": {"spec": {"max_seq_len": 1}}}

    assert len(check(OddPackLength, packs)) == 0
    assert len(check(OddPackLength, {"input_ids": rows})) == 0


def test_an_empty_pack_does_not_end_in_the_padding_of_the_one_before() -> None:
    packs = {
        "input_ids": [[5, 6, 7, 0], []],
        "attention_mask": [[1, 1, 1, 0], []],
        "config": {"trainer": "grain", "spec": {"max_seq_len": 4}},
    }

    assert len(check(OddPackLength, packs)) == 0
