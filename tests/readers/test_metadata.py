"""Columns without role: read alike from every format that holds them, and led to the right segments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.config import parse_config
from packlint.engine.plan import plan_shards
from packlint.errors import UsageError
from packlint.model.batch import PackBatch
from packlint.model.metadata import Categories
from packlint.readers.canonical import build
from packlint.readers.discover import open_shards
from packlint.readers.memory import open_memory
from packlint.readers.metadata import (
    UNKNOWN_ID,
    HasColumns,
    RowValues,
    attach,
    attach_sample_ids,
    coding,
    read_metadata,
    read_sample_ids,
    why_not,
)
from packlint.readers.shard import Part, Settings, Shard

SAMPLES = Path(__file__).parents[1] / "samples"
FORMATS = ("parquet", "arrow", "jsonl", "table", "rows", "columns")

Rows = list[dict[str, Any]]


def shards_of(rows: Rows, form: str, folder: Path) -> list[Shard]:
    """Store rows in one of the ways that they can be had, and open them."""
    if form == "rows":
        return list(open_memory(rows, "batch", Settings()))
    if form == "columns":
        return list(open_memory({name: [row[name] for row in rows] for name in rows[0]}, "batch", Settings()))
    table = pa.Table.from_pylist(rows)
    if form == "table":
        return list(open_memory(table, "batch", Settings()))
    path = folder / f"data.{form}"
    if form == "parquet":
        pq.write_table(table, path, row_group_size=2)
    elif form == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    shards, errors = open_shards([str(path)], Settings())
    assert errors == []
    return shards


def words(values: RowValues) -> list[Any]:
    """Return a column as Python values."""
    flat = [None if code < 0 else values.categories.names[code] for code in values.categories.codes.tolist()]
    if values.offsets is None:
        return flat
    return [flat[a:b] for a, b in zip(values.offsets[:-1], values.offsets[1:], strict=True)]


def read(shards: Sequence[Shard], name: str) -> list[Any]:
    """Return a column of all parts as Python values."""
    return [
        word
        for shard in shards
        for part in shard.parts()
        for word in words(read_metadata(shard, part, [name])[name])
    ]


ROWS: Rows = [
    {"input_ids": [1, 2], "domain": "web", "n": 7, "ok": True, "meta": {"a": {"b": "x"}}, "f": 0.5},
    {"input_ids": [3, 4], "domain": None, "n": None, "ok": None, "meta": {"a": {"b": None}}, "f": 1.0},
    {"input_ids": [5, 6], "domain": "code\n\x1b[2J", "n": -1, "ok": False, "meta": None, "f": None},
]


@pytest.mark.parametrize("form", FORMATS)
def test_values_are_text(form: str, tmp_path: Path) -> None:
    shards = shards_of(ROWS, form, tmp_path)
    assert read(shards, "domain") == ["web", None, "code\n\x1b[2J"]
    assert read(shards, "n") == ["7", None, "-1"]
    assert read(shards, "ok") == ["true", None, "false"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_path_leads_into_structs(form: str, tmp_path: Path) -> None:
    assert read(shards_of(ROWS, form, tmp_path), "meta.a.b") == ["x", None, None]


@pytest.mark.parametrize("form", FORMATS)
def test_a_column_may_have_dots_in_its_name(form: str, tmp_path: Path) -> None:
    rows = [{**row, "meta.a.b": "whole"} for row in ROWS]
    assert read(shards_of(rows, form, tmp_path), "meta.a.b") == ["whole"] * 3


@pytest.mark.parametrize("form", FORMATS)
def test_lists_hold_one_value_per_segment(form: str, tmp_path: Path) -> None:
    rows: Rows = [
        {"input_ids": [1, 2], "domain": ["a", None], "samples": [{"lang": "de"}, {"lang": None}]},
        {"input_ids": [3, 4], "domain": None, "samples": [{"lang": "en"}]},
        {"input_ids": [5, 6], "domain": ["b"], "samples": []},
    ]
    shards = shards_of(rows, form, tmp_path)
    assert read(shards, "domain") == [["a", None], [], ["b"]]
    assert read(shards, "samples.lang") == [["de", None], ["en"], []]


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_no_category_is_refused_in_words(form: str, tmp_path: Path) -> None:
    [shard] = shards_of(ROWS, form, tmp_path)
    with pytest.raises(UsageError, match="column f holds floats"):
        why_not(shard, "f")
    with pytest.raises(UsageError, match=r"column meta holds objects.*name a field of them"):
        why_not(shard, "meta")
    with pytest.raises(UsageError, match=r"column meta\.a holds objects"):
        why_not(shard, "meta.a")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["nothing", "meta.z", "domain.z", "", ".", "meta..a"])
def test_a_missing_column_is_said_and_left_out(form: str, name: str, tmp_path: Path) -> None:
    [shard] = shards_of(ROWS, form, tmp_path)
    assert (why_not(shard, name) or "").startswith("no such ")
    assert read_metadata(shard, shard.parts()[0], [name]) == {}


def test_formats_without_columns_say_so() -> None:
    [shard], _ = open_shards([str(SAMPLES / "megatron_uint16_eod")], Settings())
    assert not isinstance(shard, HasColumns)
    assert why_not(shard, "domain") == "the format megatron has no such column"
    assert read_metadata(shard, shard.parts()[0], ["domain"]) == {}
    assert read_sample_ids(shard, shard.parts()[0]) is None


def test_loaders_are_not_read_twice() -> None:
    def loader() -> Any:
        yield from ROWS

    [shard] = open_memory(loader(), "batch", Settings())
    assert "pass a list" in (why_not(shard, "domain") or "")
    assert (
        sum(raw.row_numbers.size for raw in shard.rows(shard.parts()[0], frozenset(shard.layout.columns), 9))
        == 3
    )


def test_batches_and_rows_in_memory() -> None:
    batches: Rows = [
        {"input_ids": [[1, 2], [3, 4]], "domain": ["a", "b"], "lang": "de"},
        {"input_ids": np.array([[5, 6]]), "domain": np.array(["c"]), "lang": "en"},
        {"input_ids": [7], "domain": "d", "lang": float("nan")},
        {"nothing": 1},
    ]
    [shard] = open_memory(batches, "batch", Settings())
    assert read([shard], "domain") == ["a", "b", "c", "d", None]
    assert read([shard], "lang") == ["de", "de", "en", None, None]


def test_a_batch_in_memory_with_another_number_of_values_is_refused() -> None:
    shards = list(open_memory({"input_ids": [[1], [2]], "domain": ["a", "b", "c"]}, "batch", Settings()))
    with pytest.raises(UsageError, match="domain has 3 values for 2 rows"):
        read(shards, "domain")


def test_dictionaries_and_wide_types_of_arrow(tmp_path: Path) -> None:
    ids = pa.array([[1], [2], [3]])
    coded = pa.DictionaryArray.from_arrays(pa.array([2, None, 0], pa.int8()), pa.array(["a", "b", None]))
    lists = pa.array([["x"], None, ["y", "x"]], pa.list_(pa.dictionary(pa.int32(), pa.large_string())))
    table = pa.table(
        {"input_ids": ids, "coded": coded, "lists": lists, "big": pa.array([2**63, 1, None], pa.uint64())}
    )
    plain = table.set_column(
        1, "coded", table["coded"].cast(pa.string())
    )  # Parquet has no null in a dictionary
    pq.write_table(plain, tmp_path / "a.parquet")
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    shards, errors = open_shards([str(tmp_path)], Settings())
    assert errors == []
    for shard in [*shards, *open_memory(table, "batch", Settings())]:
        assert read([shard], "coded") == [None, None, "a"]
        assert read([shard], "lists") == [["x"], [], ["y", "x"]]
        assert read([shard], "big") == [str(2**63), "1", None]


def test_slices_and_nulls_with_values_beneath_them() -> None:
    values = pa.array(["a", "b", "c", "d", "e"])
    make: Any = pa.ListArray.from_arrays  # its stubs take no mask beside an array
    lists = make(pa.array([0, 1, 3, 4, 5]), values, mask=pa.array([False, True, False, False]))
    table = pa.table({"input_ids": [[1], [2], [3], [4]], "domain": lists}).slice(1, 2)
    assert read(list(open_memory(table, "batch", Settings())), "domain") == [[], ["d"]]


@pytest.mark.parametrize("form", FORMATS)
def test_too_many_values_name_the_column(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "MAX_DISTINCT", 3)
    few, many = ([{"input_ids": [1], "url": f"u{i % n}"} for i in range(8)] for n in (3, 4))
    (tmp_path / "few").mkdir()
    rows = read(shards_of(few, form, tmp_path / "few"), "url")
    assert rows == [row["url"] for row in few]
    [shard] = shards_of(many, form, tmp_path)
    if form != "parquet":  # its row groups of two rows are parts of their own
        with pytest.raises(UsageError, match="column url holds more than 3 distinct values"):
            read([shard], "url")


def test_long_texts_are_no_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "_MAX_CHARS", 10)
    [shard] = open_memory([{"input_ids": [1], "text": "x" * 11}], "batch", Settings())
    with pytest.raises(UsageError, match="column text holds long texts"):
        read([shard], "text")


def test_lines_that_are_no_rows_count(tmp_path: Path) -> None:
    lines = [
        '{"input_ids": [1], "domain": "a"}',
        "",
        "{broken",
        '{"input_ids": [2], "domain": ["b"]}',
        '{"domain": "c"}',
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    shards, _ = open_shards([str(tmp_path)], Settings())
    assert read(shards, "domain") == ["a", None, None, None, "c"]


def test_damage_ends_a_column_and_is_said(tmp_path: Path) -> None:
    rows = [{"input_ids": [i], "domain": "abc" * 50} for i in range(50)]
    [shard] = shards_of(rows, "arrow", tmp_path)
    parts = shard.parts()
    path = tmp_path / "data.arrow"
    content = bytearray(path.read_bytes())
    at = content.rfind(b"abc" * 50)
    content[at - 64 : at] = b"\xff" * 64
    path.write_bytes(content)
    values = [read_metadata(shard, part, ["domain"])["domain"] for part in parts]
    assert values[-1].damage
    assert sum(column.n_rows for column in values) < 50


@pytest.mark.parametrize("folder", ["mds_prolong_indices", "mds_sft_input_ids_labels"])
def test_mds(folder: str) -> None:
    shards, _ = open_shards([str(SAMPLES / folder)], Settings())
    [shard] = [shard for shard in shards if isinstance(shard, HasColumns)]
    if folder == "mds_prolong_indices":
        assert read([shard], "domain") == ["toy"] * 7
        assert read([shard], "length")[:2] == ["114", "102"]
    else:
        assert why_not(shard, "domain") == "no such column"


def test_mds_encodings() -> None:
    from packlint.readers.mds.encodings import parse_encoding
    from packlint.readers.mds.metadata import lacks_value, read_value

    values = [b"w\xc3\xa9b", b'{"domain": {"name": "x"}, "q": 0.5}', b"\x05", b"{", b"\xff"]
    texts = ["str", "json", "uint8", "json", "pkl"]
    encodings = {
        f"c{i}": parse_encoding(text, 1 if text == "uint8" else None) for i, text in enumerate(texts)
    }
    data = np.frombuffer(b"".join(values), np.uint8)
    stops = np.cumsum([len(value) for value in values]).tolist()
    places = {f"c{i}": (stop - len(values[i]), stop) for i, stop in enumerate(stops)}
    found = [
        read_value(name, encodings, data, places) for name in ("c0", "c1.domain.name", "c2", "c3.x", "zz")
    ]
    assert found == ["wéb", "x", 5, None, None]
    assert "never decoded" in (lacks_value("c4", encodings) or "")
    assert lacks_value("c0.x", encodings) == "no such column"


# From rows to segments


def batches_of(shard: Shard, **spec: Any) -> list[tuple[Part, PackBatch]]:
    config = parse_config({"spec": {"pad_id": 0, "eos_ids": [2], **spec}}, "test")
    [plan] = plan_shards([shard], config, config.spec).shards
    found = []
    for part in shard.parts():
        for raw in shard.rows(part, plan.roles, 8):
            batch, _ = build(raw, plan.reading)
            if batch is not None:
                found.append((part, batch))
    return found


def of_segments(shard: Shard, name: str) -> list[str | None]:
    found: list[str | None] = []
    for part, batch in batches_of(shard):
        column = attach(batch, read_metadata(shard, part, [name]), part).metadata[name]
        assert len(column) == batch.n_segments
        found += [None if code < 0 else column.names[code] for code in column.codes.tolist()]
    return found


def test_padding_run_that_is_recorded_takes_a_value() -> None:
    # Axolotl: numbered mask, 0 on padding; torchtune: the last length is the padding.
    rows: Rows = [
        {
            "tokens": [1, 2, 3, 0, 0],
            "labels": [1, 2, 3, -100, -100],
            "input_pos": [0, 1, 0, 1, 2],
            "seq_lens": [2, 1, 2],
            "domain": ["a", "b", "pad"],
        },
        {
            "tokens": [1, 2, 3, 0, 0],
            "labels": [1, 2, 3, -100, -100],
            "input_pos": [0, 1, 0, 1, 2],
            "seq_lens": [2, 1, 2],
            "domain": ["c", "d"],
        },
        {
            "tokens": [1, 2, 3, 0, 0],
            "labels": [1, 2, 3, -100, -100],
            "input_pos": [0, 1, 0, 1, 2],
            "seq_lens": [2, 1, 2],
            "domain": ["?"],
        },
    ]
    [shard] = open_memory(rows, "batch", Settings())
    assert of_segments(shard, "domain") == ["a", "b", "c", "d", None, None]


def test_records_that_do_not_count_segments_leave_them_unknown() -> None:
    rows: Rows = [
        {"input_ids": [1, 2, 3], "seq_lens": [2, 0, 1], "domain": ["a", "b", "c"]},
        {"input_ids": [1, 2, 3], "seq_lens": [2, 0, 1], "domain": ["a", "c"]},
        {"input_ids": [1, 2, 3], "seq_lens": [2, 1], "domain": ["a", "c"]},
    ]
    [shard] = open_memory(rows, "batch", Settings())
    assert of_segments(shard, "domain") == [None, None, None, None, "a", "c"]


def test_rows_left_out_do_not_shift_values(tmp_path: Path) -> None:
    rows: Rows = [
        {"input_ids": [1, 2], "labels": [1, 2], "domain": "a"},
        {"input_ids": [1, 2], "labels": [1], "domain": "ragged"},
        {"input_ids": [None, 2], "labels": [1, 2], "domain": "null"},
        {"input_ids": [1, 2], "labels": [1, 2], "domain": "b"},
    ]
    for form in ("parquet", "arrow", "jsonl", "rows", "table"):
        (tmp_path / form).mkdir()
        [shard] = shards_of(rows, form, tmp_path / form)
        assert of_segments(shard, "domain") == ["a", "b"], form


@st.composite
def packs(draw: st.DrawFn) -> Rows:
    """Draw packs with a value per row, one per segment, and lists that often have another length."""
    words = st.sampled_from(["a", "b", "é", "", None])
    rows: Rows = []
    for _ in range(draw(st.integers(1, 6))):
        lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        per_segment = draw(st.lists(words, min_size=len(lengths), max_size=len(lengths)))
        rows.append(
            {
                "input_ids": [5] * sum(lengths),
                "seq_lens": lengths,
                "row": draw(words),
                "segment": per_segment,
                "loose": draw(st.one_of(st.just(per_segment), st.lists(words, max_size=4))),
            }
        )
    rows[0]["row"] = rows[0]["row"] or "a"
    for name in ("segment", "loose"):
        rows[0][name] = [word or "a" for word in rows[0]["segment"]]
    return rows


@given(packs(), st.sampled_from(["parquet", "arrow", "jsonl", "table", "rows"]))
@settings(max_examples=25)
def test_every_segment_has_its_value(tmp_path_factory: pytest.TempPathFactory, rows: Rows, form: str) -> None:
    [shard] = shards_of(rows, form, tmp_path_factory.mktemp("packs"))
    wanted: dict[str, list[Any]] = {"row": [], "segment": [], "loose": []}
    for row in rows:
        n = len(row["seq_lens"])
        wanted["row"] += [row["row"]] * n
        wanted["segment"] += row["segment"]
        wanted["loose"] += row["loose"] if len(row["loose"]) == n else [None] * n
    assert {name: of_segments(shard, name) for name in wanted} == wanted


def test_threads_share_a_shard(tmp_path: Path) -> None:
    rows = [{"input_ids": [i], "domain": f"d{i % 7}"} for i in range(64)]
    [shard] = shards_of(rows, "parquet", tmp_path)
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda part: words(read_metadata(shard, part, ["domain"])["domain"]), shard.parts())
        )
    assert [word for part in found for word in part] == [row["domain"] for row in rows]


# Sample ids


@pytest.mark.parametrize("form", FORMATS)
def test_sample_ids_as_numbers_and_as_text(form: str, tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"sample_ids": [7, None, -3], "doc_id": ["7", None, "a/b"]}
    for name, values in columns.items():
        rows = [{"input_ids": [1], name: value} for value in values]
        (tmp_path / name).mkdir()
        [shard] = shards_of(rows, form, tmp_path / name)
        found = [read_sample_ids(shard, part) for part in shard.parts()]
        flat = [value for ids in found if ids is not None for value in ids.values.tolist()]
        assert flat[:2] == [7, UNKNOWN_ID]
        assert flat[2] == -3 if name == "sample_ids" else abs(flat[2]) > 1 << 40


def test_sample_ids_of_segments() -> None:
    rows: Rows = [
        {"input_ids": [1, 2, 3], "seq_lens": [2, 1], "sample_ids": [4, 9]},
        {"input_ids": [1, 2, 3], "seq_lens": [2, 1], "sample_ids": [5]},
    ]
    [shard] = open_memory(rows, "batch", Settings())
    [part] = shard.parts()
    ids = read_sample_ids(shard, part)
    assert ids is not None
    found = [attach_sample_ids(batch, ids, part).tolist() for part, batch in batches_of(shard)]
    assert [value for batch in found for value in batch] == [4, 9, UNKNOWN_ID, UNKNOWN_ID]


def test_rows_that_were_not_read_are_unknown() -> None:
    [shard] = open_memory([{"input_ids": [1, 2], "seq_lens": [1, 1]}] * 3, "batch", Settings())
    row = RowValues(categories=Categories(("a",), np.zeros(2, np.int32)))
    lists = RowValues(categories=Categories(("a",), np.zeros(4, np.int32)), offsets=np.array([0, 2, 4]))
    none = RowValues(categories=Categories((), np.zeros(0, np.int32)), offsets=np.zeros(1, np.int64))
    for part, batch in batches_of(shard):
        found = attach(batch, {"row": row, "lists": lists, "none": none}, part).metadata
        wanted = np.where(batch.pack_numbers[batch.segments.packs] < 2, 0, -1).tolist()
        assert found["row"].codes.tolist() == found["lists"].codes.tolist() == wanted
        assert found["none"].codes.tolist() == [-1] * batch.n_segments


def test_numbers_with_zeros_before_them_are_other_ids() -> None:
    assert coding.Hashed().number("7") == 7
    assert coding.Hashed().number("007") != 7
    assert coding.Hashed().number("-0") != 0


@given(
    st.lists(st.one_of(st.integers(-(2**70), 2**70).map(str), st.text(max_size=5)), min_size=2, unique=True)
)
def test_ids_that_differ_stay_apart(texts: list[str]) -> None:
    numbers = [coding.Hashed().number(text) for text in texts]
    assert len(set(numbers)) == len(texts)
    for text, number in zip(texts, numbers, strict=True):
        is_canonical = text.lstrip("-").isdigit() and text.isascii() and str(int(text)) == text
        assert not (is_canonical and abs(int(text)) < 2**63) or number == int(text)
