"""BND010: padding before or between real tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.testing import check, make_batch
from packlint_rules.boundaries.bnd010_interior_padding import InteriorPadding
from tests.packs import Packs, sft_packs, text_packs, with_config


def masked(*masks: list[int]) -> Packs:
    return {
        "input_ids": [[5] * len(mask) for mask in masks],
        "attention_mask": list(masks),
        "layout": {"padding": "mask_zero"},
        "config": {"profile": "sft", "trainer": "llama-factory"},
    }


@pytest.mark.parametrize(
    ("masks", "places"),
    [
        ([[1, 1, 0, 0]], []),
        ([[1, 1, 1, 1]], []),
        ([[0, 0, 0]], []),  # a pack of padding only: FIL003
        ([[0, 0, 1, 1]], [(0, 2)]),
        ([[1, 0, 2, 0]], [(1, 2)]),
        ([[0, 1, 0, 0, 1, 0]], [(0, 1), (2, 4)]),
        ([[1, 0], [0, 1]], [(2, 3)]),  # two runs that touch across packs
        ([[1, 0], [0, 0], [0, 1]], [(4, 5)]),
        ([[1, 0], [1, 0], []], []),
    ],
)
def test_runs(masks: list[list[int]], places: list[tuple[int, int]]) -> None:
    hits = check(InteriorPadding, masked(*masks))

    assert list(zip(hits.starts.tolist(), hits.stops.tolist(), strict=True)) == places


def test_a_policy_may_allow_it() -> None:
    packs = masked([1, 0, 2, 0])
    packs["config"]["profile"] = {"extends": "sft", "padding_only_at_end": False}

    assert len(check(InteriorPadding, packs)) == 0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), max_size=8), min_size=1, max_size=5))
def test_any_masks(masks: list[list[int]]) -> None:
    expected = [
        (pack, place)
        for pack, mask in enumerate(masks)
        for place, value in enumerate(mask)
        if value == 0 and 1 in mask[place:]
    ]
    batch = make_batch(masked(*masks))

    hits = check(InteriorPadding, batch)

    runs = zip(hits.packs.tolist(), hits.starts.tolist(), hits.stops.tolist(), strict=True)
    bases = batch.pack_offsets.tolist()
    assert [(pack, place - bases[pack]) for pack, a, b in runs for place in range(a, b)] == expected


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(InteriorPadding, with_config(packs, profile=profile))) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(padded=True), st.data())
def test_planted_left_padding_is_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    """Move the padding of some packs to their front."""
    expected = []
    names = ("input_ids", "segment_ids", "attention_mask", "position_ids", "labels")
    for pack, row in enumerate(packs["segment_ids"]):
        n_padding = row.count(0)
        if n_padding and data.draw(st.booleans()):
            expected.append((pack, n_padding))
            for name in names:
                values = packs[name][pack]
                packs[name][pack] = values[-n_padding:] + values[:-n_padding]
    del packs["seq_lens"]

    hits = check(InteriorPadding, packs)

    assert list(zip(hits.packs.tolist(), hits.amounts.tolist(), strict=True)) == expected


def test_message() -> None:
    report = packlint.check(
        {"input_ids": [[0, 5, 0, 0, 6, 0]], "attention_mask": [[0, 1, 0, 0, 1, 0]]},
        profile="sft",
        trainer="transformers",
        select=["BND010"],
    )

    assert report.findings[0].message == (
        "3 padding tokens stand before real tokens, in 2 runs (of 4 padding tokens in all); allowed: 0"
    )
