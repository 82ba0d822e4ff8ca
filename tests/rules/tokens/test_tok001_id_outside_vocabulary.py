"""TOK001: ids below 0 or not below the vocabulary."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.spec import Known, Origin
from packlint.testing import check, make_batch
from packlint_rules.tokens.tok001_id_outside_vocabulary import IdOutsideVocabulary
from tests.packs import VOCAB, Packs, sft_packs, text_packs, with_config


def places(packs: Packs) -> list[tuple[int, int]]:
    hits = check(IdOutsideVocabulary, packs)
    return list(zip(hits.starts.tolist(), hits.stops.tolist(), strict=True))


def packs_of(*rows: list[int], spec: dict[str, Any] | None = None, **columns: Any) -> Packs:
    return {"input_ids": list(rows), "config": {"spec": spec or {}}, **columns}


@given(sft_packs() | text_packs(), st.data())
@settings(max_examples=60)
def test_finds_exactly_the_planted_ids(packs: Packs, data: st.DataObject) -> None:
    lengths = [len(row) for row in packs["input_ids"]]
    everywhere = [(p, t) for p, n in enumerate(lengths) for t in range(n)]
    planted = data.draw(st.dictionaries(st.sampled_from(everywhere), st.sampled_from([-7, VOCAB, 10**6])))
    for (pack, token), value in planted.items():
        packs["input_ids"][pack][token] = value
    batch = make_batch(packs)

    hits = check(IdOutsideVocabulary, batch)

    flat = {int(batch.pack_offsets[pack]) + token for pack, token in planted}
    found = [t for a, b in zip(hits.starts, hits.stops, strict=True) for t in range(a, b)]
    assert sorted(found) == sorted(flat)
    assert len(found) == len(set(found))
    if planted:
        n_negative = sum(value < 0 for value in planted.values())
        assert hits.measured == {"negative_ids": n_negative, "large_ids": len(planted) - n_negative}
    rows = [
        (int(batch.packs_of(np.array([t]))[0]), int(batch.segments_of(np.array([t]))[0]))
        for t in sorted(flat)
    ]
    keys = [(t - i, *row) for i, (t, row) in enumerate(zip(sorted(flat), rows, strict=True))]
    assert len(hits) == len(list(groupby(keys)))


@given(sft_packs() | text_packs(), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=40)
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert places(with_config(packs, profile=profile)) == []


def test_limits_are_the_first_and_the_last_id() -> None:
    assert places(packs_of([0, 99], spec={"vocab_size": 100})) == []
    assert places(packs_of([-1, 100], spec={"vocab_size": 100})) == [(0, 2)]


def test_without_a_vocabulary_only_negative_ids_are_found_and_silence_is_not_clean() -> None:
    packs = packs_of([5, 10**9, -1])

    assert places(packs) == [(2, 3)]
    reason = IdOutsideVocabulary().unchecked(make_batch(packs))
    assert reason is not None
    assert "vocab_size" in reason
    assert IdOutsideVocabulary().unchecked(make_batch(packs_of([5], spec={"vocab_size": 9}))) is None


def test_a_declared_pad_id_may_be_anything_inside_padding() -> None:
    spec = {"vocab_size": 100, "pad_id": -1}
    packs = packs_of([5, 6, -1, -1], spec=spec, attention_mask=[[1, 1, 0, 0]])

    assert places(packs) == []


def test_a_declared_pad_id_outside_padding_is_a_fault() -> None:
    spec = {"vocab_size": 100, "pad_id": -1}
    packs = packs_of([5, -1, 6, -1], spec=spec, attention_mask=[[1, 1, 1, 0]])

    assert places(packs) == [(1, 2)]


def test_other_ids_inside_padding_are_faults() -> None:
    packs = packs_of(
        [5, 6, 7, 100, 101], spec={"vocab_size": 100, "pad_id": 0}, attention_mask=[[1, 1, 1, 0, 0]]
    )

    assert places(packs) == [(3, 5)]


def test_an_undeclared_pad_id_is_a_fault() -> None:
    packs = packs_of([5, 6, -1], spec={"vocab_size": 100}, attention_mask=[[1, 1, 0]])

    assert places(packs) == [(2, 3)]


@pytest.mark.parametrize("rows", [[[]], [[], []], [[], [1], []]])
def test_packs_without_tokens(rows: list[list[int]]) -> None:
    assert places(packs_of(*rows, spec={"vocab_size": 100})) == []


def test_a_vocabulary_larger_than_the_storage_type() -> None:
    batch = make_batch(packs_of([5, 6], spec={"vocab_size": 100_000}))
    batch = replace(batch, tokens=np.array([5, 65_535], np.uint16), _cache={})

    assert len(check(IdOutsideVocabulary, batch)) == 0


def test_a_detected_pad_id_is_not_declared() -> None:
    batch = make_batch(
        packs_of([5, 6, -1], spec={"vocab_size": 100, "pad_id": -1}, attention_mask=[[1, 1, 0]])
    )
    detected = replace(batch.spec, pad_id=Known(-1, Origin.DETECTED))

    assert len(check(IdOutsideVocabulary, batch)) == 0
    assert len(check(IdOutsideVocabulary, replace(batch, shard=replace(batch.shard, spec=detected)))) == 1
