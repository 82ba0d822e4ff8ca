"""The pack table and the sample table, beside plain Python; and that batches and order do not matter."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import PackBatch
from packlint.model.metadata import Categories
from packlint.summaries.columns import COLUMNS, Column, Table, Values
from packlint.summaries.tables import TableObserver, TableRows
from packlint.testing import make_batches
from tests.packs import EOS, PAD, Packs, sft_packs

NAMES = ("web", "code", "books", "never")


def plain(column: Column) -> list[Any]:
    if isinstance(column, Categories):
        return [column.names[code] if code >= 0 else None for code in column.codes]
    known = np.ones(column.values.size, np.bool_) if column.known is None else column.known
    return [
        value if is_known else None for value, is_known in zip(column.values.tolist(), known, strict=True)
    ]


def rows_of(table: Table, n_rows: int | None = None) -> list[dict[str, Any]]:
    blocks = [table.columns()] if n_rows is None else list(table.blocks(n_rows))
    found = []
    for block in blocks:
        lists = {name: plain(column) for name, column in block.items()}
        found += [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    return found


def with_domains(batches: list[PackBatch]) -> tuple[list[PackBatch], list[str | None]]:
    """Give every segment a domain by what it holds; each batch names them in an order of its own."""
    told, values = [], []
    for number, batch in enumerate(batches):
        names = NAMES[number % 3 :] + NAMES[: number % 3]
        kinds = batch.tokens[batch.segments.starts + 1] % 4
        codes = np.array([names.index(NAMES[kind]) if kind < 3 else -1 for kind in kinds], np.int32)
        told.append(replace(batch, metadata={"domain": Categories(names, codes)}))
        values += [None if code < 0 else names[code] for code in codes]
    return told, values


def tables_of(batches: list[PackBatch]) -> dict[str, Table]:
    observer = TableObserver()
    rows = observer.zero()
    for batch in batches:
        rows = observer.observe(rows, batch)
    return rows.tables(["a"])


def expected_rows(packs: Packs, domains: list[str | None]) -> tuple[list[Any], list[Any]]:
    pack_rows: list[dict[str, Any]] = []
    sample_rows: list[dict[str, Any]] = []
    for number, ids in enumerate(packs["input_ids"]):
        labels, lengths = packs["labels"][number], packs["seq_lens"][number]
        start, mine = 0, []
        for segment, length in enumerate(lengths):
            n_targets = sum(label != -100 for label in labels[start : start + length])
            domain = domains[len(sample_rows)]
            mine.append(domain)
            sample_rows.append(
                {"shard": "a", "pack": number, "segment": segment, "start": start, "n_tokens": length}
                | {"n_targets": n_targets, "target_fraction": n_targets / length, "is_first": segment == 0}
                | {"ends_with_end_token": ids[start + length - 1] == EOS, "domain": domain}
            )
            start += length
        n_targets, n_padding = sum(label != -100 for label in labels), len(ids) - start
        contexts = sum(length * (length + 1) / 2 for length in lengths) / sum(lengths)
        pack_rows.append(
            {"shard": "a", "pack": number, "n_tokens": len(ids), "n_padding": n_padding}
            | {"padding_fraction": n_padding / len(ids), "n_segments": len(lengths), "n_targets": n_targets}
            | {"target_fraction": n_targets / start, "longest_segment": max(lengths)}
            | {"mean_context_tokens": contexts, "domain": mine[0] if len({*mine}) == 1 else None}
        )
    return pack_rows, sample_rows


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    """Compare rows; a column that is known of no row is left out."""
    empty = {name for name in expected[0] if all(row[name] is None for row in expected)}
    wanted = [{name: value for name, value in row.items() if name not in empty} for row in expected]
    return len(found) == len(wanted) and all(
        list(a) == list(b)
        and all(math.isclose(a[k], b[k]) if isinstance(b[k], float) else a[k] == b[k] for k in b)
        for a, b in zip(found, wanted, strict=True)
    )


@settings(max_examples=40)
@given(sft_packs(), st.integers(1, 200))
def test_rows_are_those_of_plain_python(packs: Packs, block_tokens: int) -> None:
    batches, domains = with_domains(make_batches(packs, block_tokens))

    tables = tables_of(batches)

    for name, expected in zip(("packs", "samples"), expected_rows(packs, domains), strict=True):
        assert same(rows_of(tables[name]), expected)
        assert tables[name].n_rows == len(expected)
        assert set(tables[name].names) <= {*COLUMNS[name], "domain"}


@settings(max_examples=40)
@given(sft_packs(), st.integers(1, 200), st.integers(1, 9), st.randoms(use_true_random=False))
def test_cuts_and_order_do_not_matter(packs: Packs, block_tokens: int, n_rows: int, rng: Any) -> None:
    whole = tables_of(make_batches(packs, 1 << 40))
    parts = [TableRows.of(batch) for batch in make_batches(packs, block_tokens)]
    rng.shuffle(parts)
    merged = TableRows()
    for part in parts:
        merged = part.merge(merged)

    tables = merged.tables(["a"])

    for name, table in tables.items():
        assert rows_of(table) == rows_of(whole[name])
        assert rows_of(table, n_rows) == rows_of(whole[name])
        assert [len(plain(block["pack"])) for block in table.blocks(n_rows)][:-1] == [n_rows] * (
            (table.n_rows - 1) // n_rows
        )


def test_shards_come_in_order() -> None:
    (batch,) = make_batches({"input_ids": [[1, 11, EOS]]}, 1 << 20)
    second = replace(batch, shard=replace(batch.shard, index=1))

    tables = TableRows.of(second).merge(TableRows.of(batch)).tables(["a", "b"])

    assert [row["shard"] for row in rows_of(tables["packs"])] == ["a", "b"]


def test_what_is_known_of_no_row_is_left_out() -> None:
    batches = make_batches({"input_ids": [[11, 12, 13], [14, 15, 16]]})

    tables = tables_of(batches)

    assert {"n_padding", "padding_fraction"}.isdisjoint(tables["packs"].names)
    assert {"ends_with_end_token", "reference_row"}.isdisjoint(tables["samples"].names)


def test_what_is_known_of_some_rows_is_null_in_the_others() -> None:
    told = make_batches({"input_ids": [[11, 12, PAD]], "config": {"spec": {"pad_id": PAD, "eos_ids": [12]}}})
    (untold,) = make_batches({"input_ids": [[11, 12, 13]]})

    tables = tables_of([*told, replace(untold, shard=replace(untold.shard, index=1))])

    columns = TableRows((*TableRows.of(told[0]).packs,)).tables(["a"])["packs"].columns()
    assert plain(columns["n_padding"]) == [1]
    assert [row["n_padding"] for row in _named(tables["packs"])] == [1, None]
    assert [row["padding_fraction"] for row in _named(tables["packs"])] == [1 / 3, None]
    assert [row["ends_with_end_token"] for row in _named(tables["samples"])] == [True, None]


def _named(table: Table) -> list[dict[str, Any]]:
    return rows_of(replace(table, shards=["a", "b"]))


def test_rows_that_are_samples_are_no_packs() -> None:
    tables = tables_of(make_batches({"input_ids": [[1, 11, 2], [1, 2]], "layout": {"unit": "sample"}}))

    assert tables["packs"].n_rows == 0
    assert [row["n_tokens"] for row in rows_of(tables["samples"])] == [3, 2]


def test_an_empty_table_has_its_columns() -> None:
    for table in TableRows().tables([]).values():
        assert [*table.columns()] == [*table.names]
        assert [len(plain(column)) for column in table.columns().values()] == [0] * len(table.names)


def test_packs_without_segments() -> None:
    (batch,) = make_batches({"input_ids": [[PAD, PAD], [11, 12]], "attention_mask": [[0, 0], [1, 1]]})

    row = rows_of(tables_of([batch])["packs"])[0]

    assert (row["n_segments"], row["longest_segment"], row["n_padding"]) == (0, 0, 2)
    assert (row["target_fraction"], row["mean_context_tokens"]) == (None, None)


def test_metadata_named_like_one_of_our_columns_is_told_apart() -> None:
    (batch,) = make_batches({"input_ids": [[11, 12]]})
    codes = np.zeros(1, np.int32)

    tables = tables_of([replace(batch, metadata={"n_tokens": Categories(("many",), codes)})])

    (row,) = rows_of(tables["samples"])
    assert (row["n_tokens"], row["metadata_n_tokens"]) == (2, "many")


def test_merging_leaves_its_parts_alone() -> None:
    (batch,) = make_batches({"input_ids": [[11, 12]]})
    one, other = TableRows.of(batch), TableRows.of(replace(batch, shard=replace(batch.shard, index=1)))
    before = copy.copy(one)

    one.merge(other)

    assert (one.packs, one.samples) == (before.packs, before.samples)
    assert rows_of(one.merge(TableRows()).tables(["a"])["packs"]) == rows_of(one.tables(["a"])["packs"])


def test_counts_know_what_is_unknown() -> None:
    values = Values.counts(np.array([3, -1]))

    assert values.known is not None
    assert values.known.tolist() == [True, False]
