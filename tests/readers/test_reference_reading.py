"""A row of a reference is one sample, whatever stands beside it; a document of a stream is one too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import NoInputError, UsageError
from packlint.model.batch import PackBatch
from packlint.model.contract import LabelAlignment
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.canonical import build
from packlint.readers.memory import open_memory
from packlint.readers.reference import open_reference, reference_reading
from packlint.readers.shard import Settings, Shard
from tests.readers.file_checks import SAMPLES, reference

DECLARED = DatasetSpec(
    max_seq_len=Known(8, Origin.CONFIG),
    bos_id=Known(1, Origin.CONFIG),
    eos_ids=Known((2,), Origin.CONFIG),
    label_alignment=Known(LabelAlignment.PRESHIFTED, Origin.CONFIG),
)

Lists = list[list[int]]


def batches(shards: Sequence[Shard], declared: DatasetSpec = DECLARED) -> list[PackBatch]:
    found = []
    for index, shard in enumerate(shards):
        reading = reference_reading(shard, index, declared)
        for part in shard.parts():
            for raw in shard.rows(part, frozenset(reading.layout.columns), 64):
                batch, faults = build(raw, reading)
                assert faults == ()
                if batch is not None:
                    found.append(batch)
    return found


def samples(shards: Sequence[Shard], declared: DatasetSpec = DECLARED) -> Lists:
    return [
        batch.tokens[start:stop].tolist()
        for batch in batches(shards, declared)
        for start, stop in zip(batch.segments.starts, batch.segments.stops, strict=True)
    ]


def labels(shards: Sequence[Shard]) -> Lists:
    """Return the ids that each sample is trained on."""
    return [
        batch.tokens[start:stop][batch.is_target[start:stop]].tolist()
        for batch in batches(shards)
        for start, stop in zip(batch.segments.starts, batch.segments.stops, strict=True)
        if batch.is_target is not None
    ]


def opened(path: str | Path, **told: Any) -> list[Shard]:
    shards, errors = open_reference([str(path)], Settings(**told))
    assert errors == []
    return shards


@pytest.mark.parametrize(
    "folder",
    [
        "axolotl_prepared",
        "instructlab_data_jsonl",
        "mds_sft_input_ids_labels",
        "neox_text_label_pair",
        "olmo_core_sft_numpy",
    ],
)
def test_chats_of_real_producers(folder: str) -> None:
    shards = opened(SAMPLES / folder)
    assert samples(shards) == reference("sft")
    wanted = [[i for i in row if i != -100] for row in reference("sft", "labels")]
    assert labels(shards) == wanted


@pytest.mark.parametrize(
    "folder",
    ["megatron_uint16_eod", "datatrove_ds", "datatrove_megatron", "litdata_tokens", "fairseq_mmap"],
)
def test_documents_of_real_producers(folder: str) -> None:
    # The window of the packs does not cut the documents of a reference.
    assert samples(opened(SAMPLES / folder, max_seq_len=8)) == reference("docs")


@pytest.mark.parametrize("folder", ["fms_fsdp_arrow", "megatron_int32_noeod"])
def test_documents_without_end_token(folder: str) -> None:
    assert samples(opened(SAMPLES / folder)) == [row[:-1] for row in reference("docs")]


def test_end_tokens_and_records_inside_a_row_do_not_cut_it() -> None:
    row = {
        "input_ids": [5, 2, 6, 2, 1, 7],
        "position_ids": [0, 1, 0, 1, 0, 1],
        "seq_lens": [2, 2, 2],
        "segment_ids": [1, 1, 2, 2, 3, 3],
    }
    assert samples(list(open_memory([row, row], "reference", Settings()))) == [row["input_ids"]] * 2


def test_a_numbered_mask_tells_padding_and_nothing_else() -> None:
    rows = [
        {"input_ids": [5, 6, 7, 0], "labels": [5, 6, 7, -100], "attention_mask": [1, 2, 2, 0]},
        {"input_ids": [0, 8, 9, 9], "labels": [-100, 8, 9, 9], "attention_mask": [0, 1, 1, 1]},
        {"input_ids": [0, 0], "labels": [-100, -100], "attention_mask": [0, 0]},
    ]
    assert samples(list(open_memory(rows, "reference", Settings()))) == [[5, 6, 7], [8, 9, 9]]


def test_padding_by_a_declared_id() -> None:
    declared = DatasetSpec(pad_id=Known(0, Origin.CONFIG))
    rows = [{"input_ids": [5, 0, 6, 0, 0]}, {"input_ids": [7]}]
    assert samples(list(open_memory(rows, "reference", Settings())), declared) == [[5, 0, 6], [7]]


@pytest.mark.parametrize("shift", [0, 1])
def test_labels_are_aligned_as_they_look(shift: int) -> None:
    ids = [list(range(10, 20)), list(range(30, 37))]
    rows = []
    for row in ids:
        values = [-100] * 4 + row[4:]
        rows.append({"input_ids": row, "labels": values[shift:] + [-100] * shift})
    assert labels(list(open_memory(rows, "reference", Settings()))) == [row[4:] for row in ids]


def test_streams_without_documents_are_cut_where_told(tmp_path: Path) -> None:
    documents: Lists = [[5, 6, 2], [7, 2], [8, 9, 10, 2]]
    np.array(list(chain.from_iterable(documents)), np.uint16).tofile(tmp_path / "a.bin")
    told = {"token_dtype": "uint16"}
    assert samples(opened(tmp_path / "a.bin", eos_ids=(2,), **told)) == documents
    [shard] = opened(tmp_path / "a.bin", **told)
    with pytest.raises(UsageError, match=r"a\.bin: nothing in this stream says where its documents end"):
        reference_reading(shard, 0, DECLARED)


def test_streams_cut_where_documents_begin(tmp_path: Path) -> None:
    documents: Lists = [[1, 5, 2, 6], [1, 7], [1, 8, 9]]
    np.array(list(chain.from_iterable(documents)), np.uint16).tofile(tmp_path / "a.bin")
    shards = opened(tmp_path / "a.bin", token_dtype="uint16", bos_id=1)
    assert samples(shards, DatasetSpec(eos_ids=Known((2,), Origin.CONFIG))) == documents
    wanted = [[2, *row[:-1]] for row in reference("docs")]
    assert samples(opened(SAMPLES / "llmc_gpt2_bin", eos_ids=(2,))) == wanted


def test_long_streams_are_cut_only_at_documents(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tokens = rng.integers(3, 100, 300_000).astype(np.uint16)
    tokens[rng.integers(0, tokens.size, 900)] = 2
    tokens[-1] = 2
    tokens.tofile(tmp_path / "a.bin")
    found = samples(opened(tmp_path / "a.bin", eos_ids=(2,), token_dtype="uint16"))
    stops = np.flatnonzero(tokens == 2) + 1
    assert [len(sample) for sample in found] == np.diff(stops, prepend=0).tolist()
    assert list(chain.from_iterable(found)) == tokens.tolist()


def test_names_of_columns_count_where_the_reference_has_them(tmp_path: Path) -> None:
    pq.write_table(pa.table({"tok": [[1, 2]], "input_ids": [[3]]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"input_ids": [[4, 5]]}), tmp_path / "b.parquet")
    assert samples(opened(tmp_path, columns={"input_ids": "tok"})) == [[1, 2], [4, 5]]


def test_what_is_no_reference_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    (tmp_path / "b.jsonl").write_text('{"input_ids": [1]}\n')
    (tmp_path / "notes.txt").write_text("hello\n")
    shards, errors = open_reference([str(tmp_path / "*.jsonl")], Settings())
    assert [shard.name for shard in shards] == ["b.jsonl"]
    [(name, error)] = errors
    assert name == "a.jsonl"
    assert "nor is it text: no column text, messages, or prompt and completion; columns: x" in str(error)
    with pytest.raises(NoInputError):
        open_reference([str(tmp_path / "nothing")], Settings())


def test_the_context_says_nothing_of_packs() -> None:
    [shard] = opened(SAMPLES / "trl_bfd" / "packed.parquet")
    reading = reference_reading(shard, 3, DECLARED)
    assert reading.context.spec.max_seq_len is None
    assert (reading.context.index, reading.context.contract, reading.context.policy.name) == (
        3,
        None,
        "reference",
    )


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=8), st.integers(1, 3)
)
@settings(max_examples=25)
def test_rows_come_back(tmp_path_factory: pytest.TempPathFactory, rows: Lists, n_group: int) -> None:
    path = tmp_path_factory.mktemp("reference") / "a.parquet"
    pq.write_table(pa.table({"input_ids": rows, "labels": rows}), path, row_group_size=n_group)
    assert samples(opened(path)) == rows
