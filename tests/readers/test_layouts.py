"""Columns → producer, trainer and roles."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from packlint.errors import ConfigError, UnreadableError
from packlint.model.batch import Unit
from packlint.model.contract import LabelAlignment
from packlint.readers.layouts import ColumnKind, Element, detect_layout, factors
from packlint.readers.layouts.producers import SIGNATURES
from packlint.readers.shard import Layout, PaddingMark, Role
from packlint.trainers import CONTRACTS

_INTS = ColumnKind(Element.INT)
_SPECIAL = {
    "length": ColumnKind(Element.INT, 0),
    "len": ColumnKind(Element.INT, 0),
    "id": ColumnKind(Element.INT, 0),
    "packing_params": ColumnKind(Element.STRUCT, 0),
    "images": ColumnKind(Element.NULL, 0),
    "videos": ColumnKind(Element.NULL, 0),
    "audios": ColumnKind(Element.NULL, 0),
    "domain": ColumnKind(Element.STRING, 0),
}


def _kinds(names: str | Iterable[str]) -> dict[str, ColumnKind]:
    parts = names.split() if isinstance(names, str) else names
    return {name: _SPECIAL.get(name, _INTS) for name in parts}


def _detect(names: str, *marks: str) -> Layout:
    return detect_layout(_kinds(names), renamed={}, format_marks=marks)


@pytest.mark.parametrize(
    ("names", "trainer", "padding"),
    [
        ("input_ids labels seq_lengths", "trl", PaddingMark.NEVER_STORED),
        ("input_ids seq_lengths", "trl", PaddingMark.NEVER_STORED),
        ("input_ids completion_mask seq_lengths", "trl-0", PaddingMark.NEVER_STORED),
        ("input_ids assistant_masks", "trl-0", PaddingMark.UNKNOWN),
        ("input_ids labels position_ids", "trl-ffd", PaddingMark.UNKNOWN),
        ("input_ids position_ids domain", "trl-ffd", PaddingMark.UNKNOWN),
        (
            "input_ids labels attention_mask position_ids packing_params",
            "llama-factory",
            PaddingMark.MASK_ZERO,
        ),
        (
            "input_ids labels attention_mask position_ids images videos audios",
            "llama-factory-plain",
            PaddingMark.POSITION_ZERO,
        ),
        ("input_ids labels attention_mask position_ids length", "axolotl", PaddingMark.MASK_ZERO),
        ("input_ids labels position_ids length", "axolotl", PaddingMark.NEVER_STORED),
        ("input_ids labels attention_mask position_ids", "transformers", PaddingMark.MASK_ZERO),
        ("input_ids attention_mask", "transformers", PaddingMark.MASK_ZERO),
        ("input_ids labels cumulative_len position_ids", "xtuner", PaddingMark.NEVER_STORED),
        ("input_ids labels len", "instructlab", PaddingMark.NEVER_STORED),
        ("input_ids labels length", "ms-swift", PaddingMark.NEVER_STORED),
        (
            "input_ids labels position_ids seq_lens seq_lens_padded",
            "automodel",
            PaddingMark.BEYOND_LENGTHS,
        ),
        ("tokens labels input_pos seq_lens", "torchtune", PaddingMark.LAST_LENGTH),
        ("input_ids loss_mask seq_start_id", "megatron-bridge", PaddingMark.NEVER_STORED),
        ("tokens labels loss_mask position_ids", "megatron", PaddingMark.UNKNOWN),
        (
            "input_ids labels position_ids cu_seq_lens_q cu_seq_lens_k seq_idx",
            "transformers-flattening",
            PaddingMark.UNKNOWN,
        ),
        (
            "inputs targets inputs_segmentation targets_segmentation inputs_position targets_position",
            "maxtext",
            PaddingMark.SEGMENT_ID,
        ),
        (
            "inputs targets inputs_segment_ids targets_segment_ids inputs_positions targets_positions",
            "grain",
            PaddingMark.SEGMENT_ID,
        ),
        ("tokens loss_mask segment_ids", "levanter-packed", PaddingMark.SEGMENT_ID),
        ("input_ids labels positions", "torchtitan", PaddingMark.UNKNOWN),
        ("input_ids labels", None, PaddingMark.UNKNOWN),
        ("tokens", None, PaddingMark.UNKNOWN),
        ("input_ids segment_ids", None, PaddingMark.SEGMENT_ID),
    ],
)
def test_columns_give_the_producer_away(names: str, trainer: str | None, padding: PaddingMark) -> None:
    layout = _detect(names)

    assert (layout.trainer, layout.padding) == (trainer, padding)
    assert layout.producer in layout.evidence[0]


def test_column_order_does_not_matter() -> None:
    names = "input_ids labels attention_mask position_ids images videos audios"

    assert dict(_detect(names).columns) == dict(_detect(" ".join(reversed(names.split()))).columns)


@pytest.mark.parametrize(
    ("mark", "names", "trainer"),
    [
        ("trl", "input_ids labels", "trl-wrapped"),
        ("colossalai", "input_ids labels", "colossalai"),
        ("axolotl", "input_ids labels attention_mask position_ids", "axolotl"),
        ("automodel", "input_ids labels attention_mask position_ids", "automodel"),
        ("datasets", "input_ids labels", None),
    ],
)
def test_marks_decide_where_columns_cannot(mark: str, names: str, trainer: str | None) -> None:
    assert _detect(names, mark).trainer == trainer


def test_every_trainer_is_known() -> None:
    assert {s.trainer for s in SIGNATURES} - {None} <= set(CONTRACTS)


def test_samples_are_no_packs() -> None:
    assert _detect("input_ids labels position_ids length").unit is Unit.SAMPLE
    assert _detect("input_ids labels seq_lengths").unit is Unit.PACK


def test_automodel_labels_are_preshifted_and_lengths_leave_padding_out() -> None:
    layout = _detect("input_ids labels position_ids seq_lens seq_lens_padded")

    assert layout.alignment is LabelAlignment.PRESHIFTED
    assert not layout.lengths_cover_padding
    assert layout.columns[Role.SEQ_LENS] == "seq_lens"


def test_bridge_offsets_have_no_end() -> None:
    layout = _detect("input_ids loss_mask seq_start_id")

    assert layout.columns[Role.SEGMENT_STARTS] == "seq_start_id"
    assert not layout.offsets_have_end
    assert layout.alignment is LabelAlignment.PRESHIFTED


def test_maxtext_roles() -> None:
    layout = _detect("inputs targets inputs_segmentation targets_segmentation inputs_position")

    assert layout.columns == {
        Role.INPUT_IDS: "inputs",
        Role.LABELS: "targets",
        Role.LABEL_SEGMENT_IDS: "targets_segmentation",
        Role.SEGMENT_IDS: "inputs_segmentation",
        Role.POSITION_IDS: "inputs_position",
    }


@pytest.mark.parametrize(("name", "nothing"), [("segment_ids", 0), ("seq_idx", -1), ("sequence_id", -1)])
def test_ids_that_count_from_zero_leave_minus_one_for_padding(name: str, nothing: int) -> None:
    assert _detect(f"input_ids labels {name}").nothing == nothing


def test_two_loss_masks_are_multiplied() -> None:
    layout = _detect("input_ids completion_mask assistant_masks seq_lengths")
    stored = layout.columns[Role.LOSS_MASK]

    assert factors(stored, {"input_ids", "completion_mask"}) == ("completion_mask", "assistant_masks")
    assert factors("a * b", {"a * b"}) == ("a * b",)


def test_trl_masks_beside_labels_are_not_read() -> None:
    layout = _detect("input_ids labels completion_mask seq_lengths")

    assert Role.LOSS_MASK not in layout.columns
    assert "not read: completion_mask" in layout.evidence


@pytest.mark.parametrize("ndim", [2, 3])
def test_masks_of_several_axes_are_dense(ndim: int) -> None:
    kinds = _kinds("tokens labels loss_mask position_ids")
    kinds["attention_mask"] = ColumnKind(Element.BOOL, ndim)
    layout = detect_layout(kinds, renamed={})

    assert layout.columns[Role.DENSE_MASK] == "attention_mask"
    assert Role.ATTENTION_MASK not in layout.columns
    assert layout.dense_mask_blocks


def test_renamed_columns_win() -> None:
    kinds = _kinds("tok labels input_ids lens")
    layout = detect_layout(kinds, renamed={"input_ids": "tok", "seq_lens": "lens"})

    assert layout.columns == {Role.INPUT_IDS: "tok", Role.LABELS: "labels", Role.SEQ_LENS: "lens"}
    assert "[columns] says that tok is input_ids" in layout.evidence


def test_renamed_mask_and_attention_keep_their_kind() -> None:
    kinds = _kinds("input_ids m") | {"blocked": ColumnKind(Element.BOOL, 2)}
    layout = detect_layout(kinds, renamed={"loss_mask": "m", "attention_mask": "blocked"})

    assert layout.columns[Role.LOSS_MASK] == "m"
    assert layout.columns[Role.DENSE_MASK] == "blocked"


def test_renamed_column_that_is_missing() -> None:
    with pytest.raises(UnreadableError, match=r"no column 'lens', which .columns. names for seq_lens"):
        detect_layout(_kinds("input_ids"), renamed={"seq_lens": "lens"})


def test_renamed_name_that_is_unknown() -> None:
    with pytest.raises(ConfigError, match="does not know 'inputids'; it takes input_ids"):
        detect_layout(_kinds("input_ids"), renamed={"inputids": "input_ids"})


def test_renamed_column_of_the_wrong_kind() -> None:
    kinds = _kinds("tokens") | {"text": ColumnKind(Element.STRING, 0)}
    with pytest.raises(UnreadableError, match="column input_ids holds single strings"):
        detect_layout(kinds, renamed={"input_ids": "text"})


def test_no_token_ids() -> None:
    with pytest.raises(UnreadableError, match="no column of token ids; columns: text, url"):
        detect_layout(
            {"text": ColumnKind(Element.STRING, 0), "url": ColumnKind(Element.STRING, 0)}, renamed={}
        )


@pytest.mark.parametrize(
    ("names", "trainer", "prompt", "roles"),
    [
        ("prompt_ids chosen_ids rejected_ids", "trl-dpo", True, {Role.LOSS_MASK}),
        ("prompt_ids chosen_ids rejected_ids reference_ids", "trl-dpo", True, {Role.LOSS_MASK}),
        ("prompt_input_ids chosen_input_ids rejected_input_ids", "trl-dpo", True, {Role.LOSS_MASK}),
        (
            "prompt_input_ids prompt_attention_mask chosen_input_ids chosen_attention_mask chosen_labels"
            " rejected_input_ids rejected_attention_mask rejected_labels",
            "trl-orpo",
            False,
            {Role.LABELS, Role.ATTENTION_MASK},
        ),
        (
            "chosen_input_ids chosen_attention_mask chosen_labels"
            " rejected_input_ids rejected_attention_mask rejected_labels images videos audios",
            "llama-factory-dpo",
            False,
            {Role.LABELS, Role.ATTENTION_MASK},
        ),
        ("chosen_input_ids chosen_labels rejected_input_ids rejected_labels", None, False, {Role.LABELS}),
        (
            "chosen_input_ids chosen_loss_mask rejected_input_ids rejected_loss_mask",
            None,
            False,
            {Role.LOSS_MASK},
        ),
        ("chosen_ids rejected_ids", "trl-reward", False, set()),
        ("chosen_input_ids rejected_input_ids", "trl-reward", False, set()),
        (
            "input_ids_chosen attention_mask_chosen input_ids_rejected attention_mask_rejected",
            "trl-reward",
            False,
            {Role.ATTENTION_MASK},
        ),
    ],
)
def test_a_preference_pair_in_columns_of_its_own(
    names: str, trainer: str | None, prompt: bool, roles: set[Role]
) -> None:
    layout = detect_layout(_kinds(names), renamed={}, reads_pairs=True)
    assert layout.pairs is not None
    assert (layout.unit, layout.trainer, bool(layout.pairs.prompt)) == (Unit.PAIR, trainer, prompt)
    assert trainer is None or trainer in CONTRACTS
    assert layout.columns.keys() == {Role.INPUT_IDS, Role.SEQ_LENS, *roles}
    is_masked = Role.ATTENTION_MASK in roles
    assert layout.padding is (PaddingMark.MASK_ZERO if is_masked else PaddingMark.NEVER_STORED)
    unread = [line for line in layout.evidence if line.startswith("not read")]
    assert (
        unread == [f"not read: {name}" for name in names.split() if name == "reference_ids"]
        or prompt is False
    )

    with pytest.raises(
        UnreadableError, match="hold a preference pair in one row, which is read from Parquet"
    ):
        detect_layout(_kinds(names), renamed={})

    chosen = next(name for name in names.split() if "chosen" in name)
    layout = detect_layout(_kinds(names), renamed={"input_ids": chosen}, reads_pairs=True)
    assert layout.columns == {Role.INPUT_IDS: chosen}
    assert layout.pairs is None


def test_ids_of_pairs_may_be_named_and_nothing_else_of_them() -> None:
    kinds = _kinds("prompt_ids chosen_ids rejected_ids number")

    layout = detect_layout(kinds, renamed={"sample_ids": "number"}, reads_pairs=True)
    assert layout.columns[Role.SAMPLE_IDS] == "number"
    with pytest.raises(UnreadableError, match="under these names"):
        detect_layout(kinds, renamed={"labels": "number"}, reads_pairs=True)


def test_ordinary_rows_are_no_pairs() -> None:
    names = "input_ids labels rejected_input_ids rejected_labels rejected_attention_mask"  # Axolotl, ORPO
    layout = detect_layout(_kinds(names), renamed={}, reads_pairs=True)

    assert layout == detect_layout(_kinds(names), renamed={})
    assert (layout.unit, layout.pairs) == (Unit.PACK, None)


def test_known_column_that_holds_something_else() -> None:
    kinds = _kinds("input_ids") | {"labels": ColumnKind(Element.STRING)}
    with pytest.raises(UnreadableError, match="column labels holds lists of strings, which cannot be labels"):
        detect_layout(kinds, renamed={})


def test_columns_that_merely_share_a_name_are_left_alone() -> None:
    kinds = _kinds("input_ids labels seq_lengths domain") | {
        "id": ColumnKind(Element.STRING, 0),
        "text": ColumnKind(Element.STRING, 0),
    }

    assert set(detect_layout(kinds, renamed={}).columns) == {Role.INPUT_IDS, Role.LABELS, Role.SEQ_LENS}


def test_float_loss_weights_are_fine_and_float_labels_are_not() -> None:
    kinds = _kinds("input_ids") | {"loss_scale": ColumnKind(Element.FLOAT)}

    assert detect_layout(kinds, renamed={}).columns[Role.LOSS_MASK] == "loss_scale"
    with pytest.raises(UnreadableError, match="labels"):
        detect_layout(_kinds("input_ids") | {"labels": ColumnKind(Element.FLOAT)}, renamed={})
