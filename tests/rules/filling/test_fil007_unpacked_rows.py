"""FIL007: one sample per row although packing is declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.model.batch import PackBatch, Unit
from packlint.model.contract import BoundarySource
from packlint.rule import Judgement
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.filling.fil007_unpacked_rows import UnpackedRows
from tests.packs import Packs, sft_packs, with_config


def rows(*lengths: list[int], **spec: Any) -> Packs:
    ids = [list(range(10, 10 + sum(segments))) for segments in lengths]
    return {"input_ids": ids, "seq_lens": list(lengths), "config": {"spec": spec}}


def unpacked(packs: Packs | PackBatch, **options: Any) -> Judgement | None:
    batch = packs if isinstance(packs, PackBatch) else make_batch(packs)
    found = judge(UnpackedRows, [batch], **options)
    return found[0] if found else None


def test_case_k1() -> None:
    found = unpacked(rows([5], [5], [5], [3], [3], [3], max_seq_len=8))

    assert found is not None
    assert found.confidence is Confidence.CERTAIN
    assert found.n_packs == 6
    assert found.measured == {"packs": 6, "tokens": 24, "slots": 48}
    assert found.message == (
        "6 packs hold one sample each though packing is declared; 4 or more fit together in pairs"
        " (8 slots); used: 24 of 48 slots"
    )


@pytest.mark.parametrize(
    ("lengths", "fires"),
    [
        ([3, 3, 8, 8], True),
        ([4, 4, 8, 8], True),
        ([4, 5, 8, 8], False),
        ([1, 8, 8, 8], False),
        ([2, 4, 4, 6, 8, 8, 8], True),
        ([3, 4, 4, 6, 8, 8, 8], False),
        ([2, 2, 4], False),
    ],
)
def test_half_of_the_packs_must_fit_together_in_pairs(lengths: list[int], fires: bool) -> None:
    assert (unpacked(rows(*[[n] for n in lengths], max_seq_len=8)) is not None) == fires


def test_fewer_packs_than_the_option_are_no_evidence() -> None:
    packs = rows([2], [2], [2], max_seq_len=8)

    assert unpacked(packs) is None
    assert unpacked(packs, min_packs=3) is not None


def test_one_packed_row_makes_it_silent() -> None:
    assert unpacked(rows([2], [2], [2], [2], [2, 2], max_seq_len=8)) is None


def test_nothing_is_declared() -> None:
    assert unpacked(rows([2], [2], [3], [4])) is None
    assert unpacked(rows([2], [2], [2], [2])) is None


def test_packing_is_declared_or_denied() -> None:
    lengths = ([2], [2], [3], [5])

    assert unpacked(rows(*lengths, packed=True)) is not None
    assert unpacked(rows(*lengths, packed=False, max_seq_len=8)) is None


def test_without_a_length_the_longest_pack_is_the_room() -> None:
    assert unpacked(rows([2], [3], [4], [4], packed=True)) is None
    assert unpacked(rows([2], [2], [4], [4], packed=True)) is not None


def test_room_of_padded_rows_is_their_length() -> None:
    packs = {
        "input_ids": [[5] * 8] * 4,
        "attention_mask": [[1] * 4 + [0] * 4] * 4,
        "seq_lens": [[4, 4]] * 4,
        "config": {"spec": {"packed": True}},
    }

    found = unpacked(packs)

    assert found is not None
    assert found.measured == {"packs": 4, "tokens": 16, "slots": 32}


def test_inferred_samples_are_likely() -> None:
    batch = make_batch(rows([2], [2], [2], [2], max_seq_len=8))

    found = unpacked(replace(batch, segment_source=BoundarySource.POSITION_IDS))

    assert found is not None
    assert found.confidence is Confidence.LIKELY


@pytest.mark.parametrize("unit", [Unit.SAMPLE, Unit.DOCUMENT])
def test_rows_that_are_no_packs(unit: Unit) -> None:
    batch = make_batch(rows([2], [2], [2], [2], max_seq_len=8))

    assert unpacked(replace(batch, shard=replace(batch.shard, unit=unit))) is None


@given(sft_packs(max_packs=8), st.data())
@settings(max_examples=60)
def test_equals_brute_force_however_the_data_is_cut(packs: Packs, data: st.DataObject) -> None:
    max_seq_len = data.draw(st.integers(8, 40))
    spec = {**packs["config"]["spec"], "max_seq_len": max_seq_len}
    packs = with_config(packs, spec=spec)
    if data.draw(st.booleans()):
        for name in ("input_ids", "labels", "position_ids", "segment_ids", "attention_mask"):
            packs[name] = [row[: lens[0]] for row, lens in zip(packs[name], packs["seq_lens"], strict=True)]
        packs["seq_lens"] = [lens[:1] for lens in packs["seq_lens"]]

    found = judge(UnpackedRows, make_batches(packs, data.draw(st.sampled_from([10, 1 << 60]))))

    assert bool(found) == oracle([*packs["seq_lens"]], max_seq_len)


def oracle(seq_lens: list[list[int]], room: int) -> bool:
    """Pair the longest that can be paired with the shortest, one by one."""
    if len(seq_lens) < 4 or any(len(lens) > 1 for lens in seq_lens):
        return False
    lengths = sorted(lens[0] for lens in seq_lens)
    wanted = 2 * -(-len(lengths) // 4)
    paired = 0
    while len(lengths) > 1:
        longest = lengths.pop()
        if lengths[0] + longest <= room:
            lengths.pop(0)
            paired += 2
    return paired >= wanted


@pytest.mark.parametrize("packs", [{"input_ids": [[]]}, {"input_ids": [[], []], "seq_lens": [[], []]}])
def test_packs_without_tokens(packs: Packs) -> None:
    packs["config"] = {"spec": {"max_seq_len": 4}}

    assert unpacked(packs, min_packs=0) is None
    assert judge(UnpackedRows, []) == []
