"""How segments begin and end: cuts, limits and fillers that the rules rely on."""

from __future__ import annotations

import pytest

from packlint.model.edges import doubled, fillers, fragment_starts, fragment_stops, truncated
from packlint.testing import make_batch
from tests.packs import Packs


def _packs(lens: list[list[int]], trainer: str, **spec: int) -> Packs:
    rows = [[11 + i % 2 for i in range(sum(row))] for row in lens]
    return {"input_ids": rows, "seq_lens": lens, "config": {"trainer": trainer, "spec": spec}}


@pytest.mark.parametrize(
    ("trainer", "starts", "stops"),
    [
        ("trl", [False] * 3, [False] * 3),
        ("xtuner", [True, False, False], [False, False, True]),
        ("torchtune", [False] * 3, [False, False, True]),
    ],
)
def test_fragments_are_what_the_trainer_cuts(trainer: str, starts: list[bool], stops: list[bool]) -> None:
    batch = make_batch(_packs([[2, 2, 2]], trainer))

    assert fragment_starts(batch, if_unknown=True).tolist() == starts
    assert fragment_stops(batch, if_unknown=True).tolist() == stops


def test_without_trainer_the_caller_decides() -> None:
    packs = _packs([[2, 2]], "trl")
    batch = make_batch({**packs, "config": {}})

    assert fragment_starts(batch, if_unknown=False).tolist() == [False, False]
    assert fragment_starts(batch, if_unknown=True).tolist() == [True, False]
    assert fragment_stops(batch, if_unknown=True).tolist() == [False, True]


def test_torchtune_tells_by_position() -> None:
    batch = make_batch({**_packs([[2, 2]], "torchtune"), "position_ids": [[5, 6, 0, 1]]})

    assert fragment_starts(batch, if_unknown=True).tolist() == [True, False]


def test_segment_that_fills_its_pack_is_truncated() -> None:
    assert truncated(make_batch(_packs([[4], [2, 2]], "trl"))).tolist() == [True, False, False]


def test_slots_that_a_trainer_adds_do_not_hide_it() -> None:
    """LLaMA-Factory: rows of cutoff_len + 1, the last slot padding."""
    packs = _packs([[4, 1]], "llama-factory")
    packs["input_ids"] = [[11, 12, 11, 12, 0]]

    assert truncated(make_batch(packs)).tolist() == [True, False]


def test_declared_limits_count_and_detected_ones_do_not() -> None:
    rows: Packs = {"input_ids": [[11, 12], [11, 12]], "layout": {"unit": "sample"}}
    detected = make_batch(rows)
    assert detected.spec.max_seq_len is not None

    assert truncated(detected).tolist() == [False, False]
    assert truncated(make_batch({**rows, "config": {"spec": {"max_seq_len": 2}}})).tolist() == [True, True]
    assert truncated(make_batch({**rows, "config": {"spec": {"max_sample_len": 3}}})).tolist() == [
        False,
        False,
    ]


def test_fillers_are_one_repeated_id() -> None:
    packs = _packs([[3, 2, 1], [2]], "trl")
    packs["input_ids"] = [[11, 11, 12, 0, 0, 0], [0, 0]]

    assert fillers(make_batch(packs)).tolist() == [False, True, True, True]


def test_doubled_needs_equal_neighbours() -> None:
    batch = make_batch({"input_ids": [[2, 2, 3, 3, 2], [2, 3]], "seq_lens": [[5], [2]]})

    runs = doubled(batch, batch.places_of(2, 3), (), by_pack=False)

    assert (runs.starts.tolist(), runs.stops.tolist()) == ([0, 2], [2, 4])
