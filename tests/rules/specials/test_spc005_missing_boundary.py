"""SPC005: documents with no token between them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.engine.tally import count_batch, tally_hits
from packlint.finding import Confidence
from packlint.rule import Totals
from packlint.testing import check, lint, make_batch
from packlint_rules.specials.spc005_missing_boundary import MissingBoundary
from tests.packs import Packs, sft_packs, text_packs, with_config

_H3: Packs = {
    "input_ids": [[11, 12, 21, 22]],
    "seq_lens": [[2, 2]],
    "config": {"profile": "pretrain", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


def _documents(rows: list[list[int]], **spec: Any) -> Packs:
    return {
        "input_ids": rows,
        "document_starts": [[0]] * len(rows),
        "layout": {"unit": "document", "padding": "never_stored"},
        "config": {"profile": "pretrain", "trainer": "megatron", "spec": spec},
    }


@pytest.mark.parametrize("example", MissingBoundary.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(MissingBoundary, example)) == 0


def test_case_h3_place_without_tokens_at_the_boundary() -> None:
    hits = check(MissingBoundary, _H3)

    assert (hits.starts.tolist(), hits.stops.tolist(), hits.segments.tolist()) == ([2], [2], [0])
    assert hits.measured == {"boundaries": 1, "open_boundaries": 1}


def test_clean_where_no_boundary_token_is_wanted() -> None:
    packs = with_config(_H3, profile="sft")

    assert len(check(MissingBoundary, packs)) == 0
    assert MissingBoundary().unchecked(make_batch(packs)) is None


@pytest.mark.parametrize("row", [[11, 2, 21, 22], [11, 12, 1, 22], [11, 12, 2, 22]])
def test_one_token_on_either_side_is_enough(row: list[int]) -> None:
    assert len(check(MissingBoundary, {**_H3, "input_ids": [row]})) == 0


def test_padding_parts_documents_too() -> None:
    packs: Packs = {
        "input_ids": [[11, 12, 0, 21, 22]],
        "segment_ids": [[1, 1, 0, 2, 2]],
        "config": _H3["config"],
    }

    assert len(check(MissingBoundary, packs)) == 0


def test_unmarked_padding_recorded_as_segments_is_no_document() -> None:
    """Positions 0 on every pad: each is a segment of one token."""
    packs = {
        **_H3,
        "input_ids": [[11, 12, 2, 0, 0, 0]],
        "seq_lens": [[3, 1, 1, 1]],
    }

    assert len(check(MissingBoundary, packs)) == 0


def test_every_document_must_bring_its_own_token_the_last_one_too() -> None:
    packs = _documents([[11, 2], [12, 13], [1, 14], [2, 15], [16, 17]], bos_id=1, eos_ids=[2])

    hits = check(MissingBoundary, packs)

    assert hits.packs.tolist() == [1, 4]
    assert hits.measured == {"boundaries": 5, "open_boundaries": 2}


def test_loader_that_puts_tokens_in_needs_none_stored() -> None:
    packs = with_config(_documents([[11, 12], [13, 14]], eos_ids=[2]), trainer="fms-fsdp")

    assert len(check(MissingBoundary, packs)) == 0


def test_documents_seen_to_have_no_end_id() -> None:
    """Megatron's preprocess_data.py without --append-eod."""
    batch = make_batch(_documents([[11, 20 + i] for i in range(40)]))
    assert batch.spec.eos_ids is not None
    assert batch.spec.eos_ids.value == ()

    hits = check(MissingBoundary, batch)
    tally = tally_hits(batch, hits)
    totals = Totals(
        shard=batch.shard,
        n_hits=tally.n_hits,
        n_packs=tally.n_packs,
        n_segments=tally.n_segments,
        n_tokens=tally.n_tokens,
        amount=tally.amount,
        measured=tally.measured,
        checked=count_batch(batch),
        worst=tally.exemplars[0],
    )

    assert hits.packs.tolist() == list(range(40))
    assert hits.confidence is Confidence.LIKELY
    assert "no id ends the segments" in MissingBoundary().message(totals)
    assert "--append-eod" in MissingBoundary().message(totals)


def test_nothing_known_is_said() -> None:
    batch = make_batch(_documents([[11, 12]]))

    assert "eos_ids" in (MissingBoundary().unchecked(batch) or "")


def test_boundaries_from_end_tokens_cannot_testify() -> None:
    packs: Packs = {
        "input_ids": [[11, 2, 12, 2]],
        "config": {"profile": "pretrain", "trainer": "olmo-core", "spec": {"eos_ids": [2]}},
    }

    assert "end tokens" in (MissingBoundary().unchecked(make_batch(packs)) or "")


@settings(max_examples=50, deadline=None)
@given(text_packs(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = with_config(packs, profile="pretrain")
    wanted, number = [], 0
    for pack, lengths in enumerate(planted["seq_lens"]):
        row, stop = planted["input_ids"][pack], 0
        ended = True
        for place, length in enumerate(lengths):
            start, stop = stop, stop + length
            begun = data.draw(st.booleans())
            if not begun:
                row[start] = 11
            wanted += [number - 1] if place and not ended and not begun else []
            ended = data.draw(st.booleans())
            if not ended:
                row[stop - 3 : stop] = [12, 13, 14]
            number += 1

    hits = check(MissingBoundary, planted)

    assert hits.segments.tolist() == wanted
    assert hits.measured == {
        "boundaries": sum(len(lengths) - 1 for lengths in planted["seq_lens"]),
        "open_boundaries": len(wanted),
    }


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(MissingBoundary, with_config(packs, profile=profile))) == 0


def test_a_reference_shows_boundaries_that_nothing_records() -> None:
    """One row of three documents with nothing between two of them, and no record of any."""
    rows = [list(range(a, a + 30)) for a in (100, 200, 300)]
    packs = {
        "input_ids": [[*rows[0], *rows[1], 2, *rows[2]]],
        "config": {"profile": {"extends": "pretrain", "wants_boundary_token": True}},
    }

    report = lint({**packs, "reference": {"input_ids": [[*row, 7] for row in rows]}})
    found = [f.message for f in report.findings if f.code == "SPC005"]

    assert found == []  # 7 ends each sample of the reference, so that none of them is whole here
    report = lint({**packs, "reference": {"input_ids": rows}})
    [message] = [f.message for f in report.findings if f.code == "SPC005"]
    assert message.startswith("1 of 2 places where, by the reference, samples meet have no token between")
