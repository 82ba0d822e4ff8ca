"""What a few rows show: alignment, end ids, padding id and row length; never more than is plain."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import MaskKind
from packlint.model.contract import LabelAlignment
from packlint.model.labels import OFFSETS
from packlint.model.spec import DatasetSpec, Known, Origin, Policy
from packlint.readers.observe import Observations, observe
from packlint.readers.reading import Reading
from packlint.readers.settle import detected_spec, settle
from packlint.readers.shard import PaddingMark
from packlint.testing import shard_of
from packlint.trainers import find_contract
from tests.packs import EOS, Packs, random_packs, sft_packs

_UNSHIFTED, _PRESHIFTED = LabelAlignment.UNSHIFTED, LabelAlignment.PRESHIFTED


def _seen(packs: Packs, block_tokens: int = 1 << 60) -> Observations:
    shard = shard_of(packs)
    return observe(shard.rows(shard.parts()[0], frozenset(shard.columns), block_tokens))


def _spec(packs: Packs) -> DatasetSpec:
    return detected_spec(shard_of(packs).layout, _seen(packs))


def _reading(packs: Packs, trainer: str | None = None, **declared: Any) -> Reading:
    return settle(
        name="shard",
        index=0,
        layout=shard_of(packs).layout,
        declared=DatasetSpec(**declared),
        seen=_seen(packs),
        contract=find_contract(trainer) if trainer else None,
        policy=Policy(),
    )


def _plain(seen: Observations) -> dict[str, Any]:
    return {f.name: getattr(seen, f.name) for f in fields(seen)}


def _only(packs: Packs, *names: str) -> Packs:
    return {name: packs[name] for name in ("input_ids", *names)} | {"layout": packs["layout"]}


def _with_distinct_ids(packs: Packs) -> Packs:
    """Number the ordinary tokens, so that no label matches by chance."""
    changed = copy.deepcopy(packs)
    fresh = iter(range(1000, 1_000_000))
    for row, labels in zip(changed["input_ids"], changed["labels"], strict=True):
        row[:] = [next(fresh) if token > EOS else token for token in row]
        labels[:] = [-100 if label == -100 else row[i] for i, label in enumerate(labels)]
    return changed


def _packs(seed: int = 0, **changes: Any) -> Packs:
    return _with_distinct_ids(random_packs(np.random.default_rng(seed), n_packs=6, **changes))


def test_unshifted_labels_are_seen() -> None:
    known = _spec(_packs()).label_alignment

    assert known is not None
    assert (known.value, known.origin) == (_UNSHIFTED, Origin.DETECTED)
    assert known.why


def test_pre_shifted_labels_are_seen() -> None:
    packs = _packs()
    packs["labels"] = [[*row[1:], -100] for row in packs["labels"]]
    known = _spec(packs).label_alignment

    assert known is not None
    assert (known.value, known.origin) == (_PRESHIFTED, Origin.DETECTED)


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param([[-100, 7, 7, 7, 7, 7, 7, 7]], id="constant run matches at every offset"),
        pytest.param([[50, 51, 52, 53, 54, 55, 56, 57]], id="foreign labels match at none"),
        pytest.param([[-100] * 8], id="no labels"),
    ],
)
def test_what_is_not_plain_stays_with_the_format(labels: list[list[int]]) -> None:
    known = _spec({"input_ids": [[7] * 8], "labels": labels}).label_alignment

    assert known is not None
    assert (known.value, known.origin) == (_UNSHIFTED, Origin.FORMAT)


def test_two_labels_are_too_few() -> None:
    packs: Packs = {"input_ids": [[10, 11, 12, 13, 14]], "labels": [[-100, 11, 12, -100, -100]]}
    known = _spec(packs).label_alignment

    assert known is not None
    assert known.origin is Origin.FORMAT


def test_without_loss_there_is_no_alignment() -> None:
    assert _spec({"input_ids": [[7] * 8]}).label_alignment is None


def test_mask_without_labels_sits_where_the_format_says() -> None:
    packs: Packs = {
        "input_ids": [[7] * 8],
        "loss_mask": [[1] * 8],
        "layout": {"alignment": "preshifted"},
    }
    known = _spec(packs).label_alignment

    assert known is not None
    assert (known.value, known.origin) == (_PRESHIFTED, Origin.FORMAT)


@settings(max_examples=50, deadline=None)
@given(sft_packs())
def test_matches_against_plain_python(packs: Packs) -> None:
    packs["labels"] = [
        [row[0], *labels[1:]] for row, labels in zip(packs["input_ids"], packs["labels"], strict=True)
    ]
    n_live, matches = 0, [0] * len(OFFSETS)
    for row, labels in zip(packs["input_ids"], packs["labels"], strict=True):
        for slot, label in enumerate(labels):
            if label != -100 and 0 < slot < len(row) - 2:
                n_live += 1
                matches = [n + (label == row[slot + o]) for n, o in zip(matches, OFFSETS, strict=True)]

    seen = _seen(packs)

    assert (seen.n_live, seen.matches) == (n_live, matches)
    assert seen.n_unmasked == sum(label != -100 for row in packs["labels"] for label in row)


@pytest.mark.parametrize("record", ["seq_lens", "segment_ids", "attention_mask"])
def test_end_id_is_seen(record: str) -> None:
    packs = _only(_packs(max_segments=8), record)
    known = _spec(packs).eos_ids

    assert known is not None
    assert (known.value, known.origin) == ((EOS,), Origin.DETECTED)


@pytest.mark.parametrize("record", ["cu_seqlens", "segment_starts"])
def test_end_id_is_seen_by_offsets(record: str) -> None:
    offsets = [[0, 3, 6, 9, *([12] if record == "cu_seqlens" else [])]] * 4
    packs = {"input_ids": [[10, 11, 2] * 4] * 4, record: offsets}
    known = _spec(packs).eos_ids

    assert known is not None
    assert known.value == (2,)


def test_end_id_inside_segments_is_not_plain() -> None:
    """Chats whose turns end in it too."""
    packs: Packs = {"input_ids": [[10, 2, 11, 2] * 5] * 4, "seq_lens": [[4] * 5] * 4}

    assert _spec(packs).eos_ids is None


def test_few_ends_say_nothing() -> None:
    assert _spec({"input_ids": [[10, 11, 2] * 4], "seq_lens": [[3] * 4]}).eos_ids is None


def test_documents_without_end_id_are_seen() -> None:
    packs: Packs = {
        "input_ids": [[10, 20 + i] for i in range(40)],
        "document_starts": [[0]] * 40,
        "layout": {"unit": "document"},
    }
    known = _spec(packs).eos_ids

    assert known is not None
    assert (known.value, known.origin) == ((), Origin.DETECTED)


def test_ends_that_touch_the_end_of_a_row_may_be_cut_and_do_not_count() -> None:
    packs: Packs = {"input_ids": [[10, 11, 2, 12, 13, 14 + i] for i in range(9)], "seq_lens": [[3, 3]] * 9}
    seen = _seen(packs)

    assert seen.last_ids == {2: 9}
    assert seen.n_ends == 9


def test_pad_id_fills_tails_at_position_0() -> None:
    packs: Packs = {
        "input_ids": [[10, 11, 2, 0, 0, 0], [10, 11, 12, 2, 0, 0]],
        "position_ids": [[0, 1, 2, 0, 0, 0], [0, 1, 2, 3, 0, 0]],
    }
    known = _spec(packs).pad_id

    assert known is not None
    assert (known.value, known.origin) == (0, Origin.DETECTED)
    assert _seen(packs).n_restarts == 0


@pytest.mark.parametrize(
    ("ids", "positions"),
    [
        pytest.param([[10, 11, 2, 0]], [[0, 1, 2, 0]], id="one token may be a sample"),
        pytest.param([[10, 11, 0, 0]], [[0, 1, 2, 3]], id="positions go on"),
        pytest.param([[10, 11, 0, 0], [10, 11, 9, 9]], [[0, 1, 0, 0]] * 2, id="two ids"),
        pytest.param([[10, 11, 8, 9]], [[0, 1, 0, 0]], id="no repeated id"),
    ],
)
def test_pad_id_that_is_not_plain(ids: list[list[int]], positions: list[list[int]]) -> None:
    assert _spec({"input_ids": ids, "position_ids": positions}).pad_id is None


def test_restarts_are_counted_inside_rows() -> None:
    packs: Packs = {
        "input_ids": [[10, 11, 12, 13], [10, 11, 12, 13]],
        "position_ids": [[0, 1, 0, 1], [0, 1, 2, 3]],
    }

    assert _seen(packs).n_restarts == 1
    assert _reading(packs).positions_restart


@pytest.mark.parametrize(
    ("lengths", "expected"), [([8, 8, 8], 8), ([8], None), ([8, 8, 7], None)], ids=["equal", "one", "unequal"]
)
def test_row_length(lengths: list[int], expected: int | None) -> None:
    known = _spec({"input_ids": [[7] * n for n in lengths]}).max_seq_len

    assert (known and known.value) == expected


def test_what_was_declared_wins() -> None:
    packs = _packs()
    told = Known(_PRESHIFTED, Origin.CONFIG)

    reading = _reading(packs, label_alignment=told, eos_ids=Known((9,), Origin.CONFIG))

    assert reading.context.spec.label_alignment is told
    assert reading.alignment is _PRESHIFTED
    assert reading.eos_ids == (9,)


@pytest.mark.parametrize(
    ("mask", "trainer", "kind"),
    [
        ([1, 1, 1, 0], None, MaskKind.BINARY),
        ([1, 1, 2, 0], None, MaskKind.NUMBERED),
        ([1, 1, 1, 0], "llama-factory", MaskKind.NUMBERED),
    ],
)
def test_mask_kind(mask: list[int], trainer: str | None, kind: MaskKind) -> None:
    packs: Packs = {"input_ids": [[10, 11, 12, 0]], "attention_mask": [mask]}

    assert _reading(packs, trainer).mask_kind is kind


def test_segment_ids_that_count_from_0_mark_no_padding() -> None:
    packs: Packs = {"input_ids": [[10, 11, 12, 13]], "segment_ids": [[0, 0, 1, 1]]}

    layout = _reading(packs).layout

    assert layout.padding is not PaddingMark.SEGMENT_ID or layout.nothing == -1


@settings(max_examples=50, deadline=None)
@given(
    packs=sft_packs(max_packs=6),
    columns=st.sets(st.sampled_from(["labels", "position_ids", "segment_ids", "attention_mask", "seq_lens"])),
    block_tokens=st.integers(1, 60),
    stops=st.floats(0, 1),
)
def test_observations_add_up_over_any_cut(
    packs: Packs, columns: set[str], block_tokens: int, stops: float
) -> None:
    """Some ends are replaced, so that the commonest last id changes on the way."""
    rng = np.random.default_rng(7)
    chosen = _only(packs, *columns)
    chosen["input_ids"] = [
        [int(rng.integers(10, 13)) if token == EOS and rng.random() < stops else token for token in row]
        for row in packs["input_ids"]
    ]
    whole = _seen(chosen)

    total = Observations()
    for row in range(len(chosen["input_ids"])):
        total.add(_seen({k: v if k == "layout" else v[row : row + 1] for k, v in chosen.items()}))

    assert _plain(total) == _plain(whole)
    assert _plain(_seen(chosen, block_tokens)) == _plain(whole)


@settings(max_examples=25, deadline=None)
@given(sft_packs())
def test_correct_packs_are_read_as_they_are(packs: Packs) -> None:
    spec = _spec(packs)

    assert spec.label_alignment is not None
    assert spec.label_alignment.value is _UNSHIFTED
    assert spec.eos_ids is None or spec.eos_ids.value == (EOS,)
    assert spec.pad_id is None or spec.pad_id.value == 0


def test_ragged_and_empty_rows_are_passed_over() -> None:
    packs: Packs = {"input_ids": [[10, 11], [], [12, 13]], "labels": [[10, 11], [], [12]]}
    seen = _seen(packs)

    assert seen.n_tokens == 2
    assert seen.max_id == 11
    assert _plain(_seen({"input_ids": [[]]})) == _plain(Observations())
