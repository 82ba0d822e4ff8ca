"""What a place looks like, against plain Python; and that batches do not show in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packlint.config import parse_config
from packlint.conventions import reader_settings
from packlint.engine.excerpts import MAX_SEGMENTS, excerpts_of
from packlint.finding import Excerpt, Layout, Location
from packlint.model.batch import PackBatch
from packlint.readers import open_memory
from packlint.report import Report
from packlint.session import check_shards
from packlint.testing import make_batch

PACKS: dict[str, Any] = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 2, 0, 0], [1, 31, 2, 1, 41, 42, 43, 2, 0]],
    "labels": [[-100, -100, 12, 2, -100, 21, 2, -100, -100], [-100, 31, 2, -100, -100, 42, 43, 2, 0]],
    "seq_lens": [[4, 3], [3, 5]],
    "config": {"trainer": "torchtune", "profile": "sft", "spec": {"pad_id": 0, "eos_ids": [2], "bos_id": 1}},
}


def places(report: Report) -> list[Location]:
    return [place for finding in report.findings for place in finding.locations]


def layout_of(excerpt: Excerpt) -> Layout:
    assert excerpt.layout is not None
    return excerpt.layout


def excerpt_of(batch: PackBatch, pack: int, place: int, low: int, high: int) -> Excerpt:
    """Return the excerpt of flat tokens around a flat place."""
    base, context = int(batch.pack_offsets[pack]), tuple(batch.tokens[low:high].tolist())
    where = Location(shard="x", pack=pack, start=place - base, context_start=low - base, context=context)
    return excerpts_of(batch, [where])[0]


def test_several_places_are_drawn_as_each_alone() -> None:
    batch = make_batch(PACKS)
    spans = [(1, 12, 9, 18), (0, 0, 0, 4), (0, 5, 4, 9)]
    context = [tuple(batch.tokens[low:high].tolist()) for _, _, low, high in spans]
    bases = [int(batch.pack_offsets[pack]) for pack, *_ in spans]
    places = [
        Location(shard="x", pack=pack, start=place - base, context_start=low - base, context=tokens)
        for (pack, place, low, _), base, tokens in zip(spans, bases, context, strict=True)
    ]

    assert excerpts_of(batch, places) == [excerpt_of(batch, *span) for span in spans]


def test_tokens_of_an_excerpt() -> None:
    batch = make_batch(PACKS)
    excerpt = excerpt_of(batch, 1, 12, 9, 18)

    assert excerpt.segments == tuple(
        batch.segment_numbers[i] if i >= 0 else -1 for i in batch.segments_of(np.arange(9, 18))
    )
    assert excerpt.segments[:8] == (0, 0, 0, 1, 1, 1, 1, 1)
    assert excerpt.is_target[:8] == (False, True, True, False, False, True, True, True)
    assert excerpt.labels[1:3] == (31, 2)
    assert excerpt.roles == ()


def test_layout_counts_from_the_pack() -> None:
    layout = layout_of(excerpt_of(make_batch(PACKS), 1, 12, 9, 18))

    assert layout.n_tokens == 9
    assert (layout.start, layout.stop) == (0, 9)
    assert layout.segments[:2] == ((0, 3), (3, 8))
    assert [group for _, _, group in layout.blocks] == list(range(len(layout.blocks)))


def test_layout_is_made_once_per_pack() -> None:
    batch = make_batch(PACKS)

    assert excerpt_of(batch, 0, 0, 0, 4).layout is excerpt_of(batch, 0, 5, 4, 9).layout


@pytest.mark.parametrize("place", [0, 200, 399])
def test_a_pack_of_many_segments_is_shown_around_the_place(place: int) -> None:
    n_segments = 200
    rows = {"input_ids": [[5, 2] * n_segments], "seq_lens": [[2] * n_segments]}
    batch = make_batch({**rows, "config": PACKS["config"]})
    layout = layout_of(excerpt_of(batch, 0, place, max(0, place - 6), min(400, place + 6)))

    assert layout.n_segments == n_segments
    assert len(layout.segments) == MAX_SEGMENTS
    assert layout.segments[0] == (2 * layout.first_segment, 2 * layout.first_segment + 2)
    assert layout.start <= place < layout.stop
    assert (layout.start, layout.stop) == (layout.segments[0][0], layout.segments[-1][1])
    assert all(layout.start <= a < b <= layout.stop for a, b, _ in layout.blocks)


def test_no_trainer_no_blocks() -> None:
    rows = {"input_ids": [[1, 11, 2, 1, 21, 2]], "seq_lens": [[3, 3]]}

    assert layout_of(excerpt_of(make_batch(rows), 0, 0, 0, 6)).blocks == ()


def test_dense_mask_becomes_a_grid() -> None:
    mask = np.tri(4, dtype=bool)
    mask[3, 0] = False
    batch = make_batch(
        {
            "input_ids": [[1, 2, 1, 2]],
            "seq_lens": [[2, 2]],
            "dense_mask": [mask.tolist()],
            "config": {"trainer": "transformers", "profile": "sft"},
        }
    )
    layout = layout_of(excerpt_of(batch, 0, 2, 0, 4))

    assert layout.grid == ("o...", "oo..", "##o.", ".#oo")
    assert layout.blocks == ()


def leaky(n: int) -> dict[str, Any]:
    return {
        "input_ids": PACKS["input_ids"] * n,
        "labels": PACKS["labels"] * n,
        "seq_lens": PACKS["seq_lens"] * n,
    }


@pytest.mark.parametrize("trainer", ["torchtune", "trl-wrapped"])
def test_excerpts_do_not_depend_on_batches(trainer: str) -> None:
    config = parse_config({**PACKS["config"], "trainer": trainer}, "test")
    reports = []
    for block_tokens in (1, 20, 1 << 20):
        shards = list(open_memory(leaky(7), "memory", reader_settings(config)))
        reports.append(check_shards(shards, {}, config, block_tokens=block_tokens))

    assert places(reports[0])
    assert places(reports[0]) == places(reports[1]) == places(reports[2])
    assert any(place.excerpt for place in places(reports[0]))
