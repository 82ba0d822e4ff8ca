"""SHD004: shards of the same content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.model.batch import PackBatch
from packlint.rule import Judgement
from packlint.testing import judge, make_batches
from packlint_rules.shards.shd004_repeated_shard import RepeatedShard
from tests.readers.test_megatron import write as write_megatron

ROWS = [list(range(10, 74)), list(range(20, 84))]


def shard(
    index: int, rows: list[list[int]], block_tokens: int = 1 << 60, dtype: Any = np.int64
) -> list[PackBatch]:
    batches = make_batches({"input_ids": rows}, block_tokens)
    return [
        replace(
            b,
            shard=replace(b.shard, name=f"shard-{index}", index=index),
            tokens=b.tokens.astype(dtype),
            _cache={},
        )
        for b in batches
    ]


def repeated(*shards: list[PackBatch], **options: Any) -> Judgement | None:
    found = judge(RepeatedShard, [batch for batches in shards for batch in batches], **options)
    return found[0] if found else None


def test_copies_whatever_their_storage_and_batches() -> None:
    found = repeated(shard(0, ROWS), shard(1, ROWS[:1]), shard(2, ROWS, 1, np.uint16), shard(3, ROWS))

    assert found is not None
    assert found.message == "2 shards are copies of another (4 packs, 256 tokens again); allowed: 0"
    assert (found.n_hits, found.n_packs, found.n_tokens) == (2, 4, 256)
    assert [(place.shard, place.note) for place in found.locations] == [
        ("shard-2", "same content as shard-0"),
        ("shard-3", "same content as shard-0"),
    ]


@pytest.mark.parametrize(
    "other", [ROWS[::-1], ROWS[:1], [*ROWS, [1]], [ROWS[0][:-1], ROWS[1]], [[*ROWS[0][:-1], 9], ROWS[1]]]
)
def test_other_packs_or_another_order(other: list[list[int]]) -> None:
    assert repeated(shard(0, ROWS), shard(1, other)) is None


def test_small_shards_may_be_alike() -> None:
    rows = [list(range(63))]

    assert repeated(shard(0, rows), shard(1, rows)) is None
    assert repeated(shard(0, rows), shard(1, rows), min_shard_tokens=63) is not None
    assert repeated(shard(0, [[]]), shard(1, [[]])) is None
    assert repeated() is None


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.data())
@settings(max_examples=25)
def test_exactly_the_planted_copies(contents: list[int], data: st.DataObject) -> None:
    rows = [[[content] * 40, list(range(content, content + 40))] for content in range(4)]
    shards = [
        shard(index, rows[content], data.draw(st.sampled_from([1, 100])))
        for index, content in enumerate(contents)
    ]

    found = repeated(*data.draw(st.permutations(shards)))

    firsts = {content: contents.index(content) for content in contents}
    copies = {
        (f"shard-{i}", f"same content as shard-{firsts[c]}") for i, c in enumerate(contents) if firsts[c] != i
    }
    assert (0 if found is None else found.n_hits) == len(copies)
    if found:
        assert {(place.shard, place.note) for place in found.locations} <= copies


def test_files_in_two_formats_under_two_names(tmp_path: Path) -> None:
    table = pa.table({"input_ids": ROWS, "labels": ROWS})
    pq.write_table(table, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)

    report = packlint.check(tmp_path, trainer="transformers")

    (finding,) = (f for f in report.findings if f.code == "SHD004")
    assert finding.n_packs == 2
    assert report.exit_code == 1


def test_streams_of_one_size_are_compared(tmp_path: Path) -> None:
    documents = [[1, *range(10, 50), 2], [1, *range(60, 90), 2]]
    for name, changed in (("a", documents), ("b", documents), ("c", documents[::-1]), ("d", documents[:1])):
        write_megatron(tmp_path / name, changed)

    report = packlint.check(tmp_path, spec={"eos_ids": [2]})

    (finding,) = (f for f in report.findings if f.code == "SHD004")
    assert [place.note.rsplit("/")[-1] for place in finding.locations] == ["a.idx"]
    assert finding.locations[0].shard.endswith("b.idx")
