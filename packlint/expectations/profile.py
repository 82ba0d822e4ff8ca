"""A suite that some tables pass, to be edited by those who know what is wanted: measured, and some room.

Numbers are rounded outwards, so that the data it was made from passes. The same data gives the same suite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UsageError
from packlint.expectations.suite import TAIL_WEIGHT_HOLDOUT
from packlint.model.metadata import Categories
from packlint.summaries.columns import COLUMNS, Column, Table, Values

__all__ = ["make_suite", "suite_text"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LENGTH_ROOM = 0.1
"""Quantiles of lengths may move by this share."""
FRACTION_ROOM = 0.05
"""Means and quantiles of fractions may move by this much."""
PADDING_ROOM = 0.02
END_ROOM = 0.01
MAX_DIVERGENCE = 0.02
"""In nats: a category of 20 % that becomes 30 % costs 0.03."""
MAX_CATEGORIES = 100
"""A column of more values is no category but an identity; it is only asked to be there."""

Entry = dict[str, Any]


def make_suite(tables: Mapping[str, Table], name: str) -> dict[str, Any]:
    """Return a suite as plain data.

    Args:
        tables: both tables by name.
        name: name of the suite.

    Raises:
        UsageError: there are no samples.
    """
    if tables["samples"].n_rows == 0:
        raise UsageError("the inputs hold no samples: there is nothing to make a suite of")
    entries: list[Entry] = []
    for table, expect in (("packs", _expect_packs), ("samples", _expect_samples)):
        if tables[table].n_rows:
            entries += [{**e, "meta": {"table": table}} for e in expect(tables[table].columns())]
    return {"name": name, "expectations": entries, "meta": {"made_by": "packlint expectations"}}


def suite_text(suite: Mapping[str, Any]) -> str:
    """Return a suite as JSON, a line per expectation: made to be read, edited and compared."""
    head = {key: value for key, value in suite.items() if key != "expectations"}
    lines = [f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in head.items()]
    entries = ",\n".join(f"  {json.dumps(entry, allow_nan=False)}" for entry in suite["expectations"])
    lines.insert(1, f' "expectations": [\n{entries}\n ]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _expect_packs(columns: Mapping[str, Column]) -> Iterator[Entry]:
    yield _entry("expect_table_row_count_to_be_between", "critical", min_value=1)
    yield from _bounds("n_tokens", columns, "critical")
    yield from _not_null(columns)
    if "padding_fraction" in columns:
        fractions = _known(columns["padding_fraction"])
        limit = min(1.0, _up(_mean(fractions) + PADDING_ROOM))
        yield _mean_entry("padding_fraction", fractions, None, limit)
        yield from _at_most("padding_fraction", fractions + PADDING_ROOM)
    yield from _loss_share(columns)
    if (lowest := int(_known(columns["n_targets"]).min())) >= 1:
        notes = f"the pack of fewest targets has {lowest:,}"
        yield _entry("expect_column_values_to_be_between", "critical", notes, column="n_targets", min_value=1)
    yield from _at_most("longest_segment", _known(columns["longest_segment"]))


def _expect_samples(columns: Mapping[str, Column]) -> Iterator[Entry]:
    yield _entry("expect_table_row_count_to_be_between", "critical", min_value=1)
    yield from _bounds("n_tokens", columns, "warning")
    yield from _not_null(columns)
    yield _quantile_entry("n_tokens", _known(columns["n_tokens"]), share=LENGTH_ROOM, at_least=1.0)
    yield from _loss_share(columns)
    if (fractions := _known(columns["target_fraction"])).size:
        yield _quantile_entry("target_fraction", fractions, at_least=FRACTION_ROOM, most=1.0)
    if "ends_with_end_token" in columns:
        ends = _known(columns["ends_with_end_token"]).astype(np.float64)
        lowest = max(0.0, _down(_mean(ends) - END_ROOM))
        yield _mean_entry("ends_with_end_token", ends, lowest, None)
    for name, column in columns.items():
        if name not in COLUMNS["samples"] and isinstance(column, Categories):
            yield from _categories(name, column)


def _bounds(name: str, columns: Mapping[str, Column], severity: str) -> Iterator[Entry]:
    values = _known(columns[name])
    low, high = int(values.min()), int(values.max())
    yield _entry("expect_column_values_to_be_between", severity, column=name, min_value=low, max_value=high)


def _not_null(columns: Mapping[str, Column]) -> Iterator[Entry]:
    """Ask for a value wherever all rows have one: others do not judge rows without."""
    for name, column in columns.items():
        if isinstance(column, Values) and column.known is None and name in _MAY_BE_NULL:
            yield _entry("expect_column_values_to_not_be_null", "critical", column=name)


_MAY_BE_NULL = frozenset({"padding_fraction", "target_fraction", "ends_with_end_token", "reference_row"})


def _loss_share(columns: Mapping[str, Column]) -> Iterator[Entry]:
    fractions = _known(columns["target_fraction"])
    if fractions.size:
        mean = _mean(fractions)
        low, high = max(0.0, _down(mean - FRACTION_ROOM)), min(1.0, _up(mean + FRACTION_ROOM))
        yield _mean_entry("target_fraction", fractions, low, high)


def _at_most(name: str, values: NDArray[Any]) -> Iterator[Entry]:
    if values.size:
        high = float(values.max())
        limit = int(high) if values.dtype.kind == "i" else min(1.0, _up(high))
        yield _entry("expect_column_values_to_be_between", "warning", column=name, max_value=limit)


def _mean_entry(name: str, values: NDArray[Any], low: float | None, high: float | None) -> Entry:
    limits: dict[str, Any] = {key: v for key, v in (("min_value", low), ("max_value", high)) if v is not None}
    notes = f"measured: {_mean(values):.6g}"
    return _entry("expect_column_mean_to_be_between", "warning", notes, column=name, **limits)


def _quantile_entry(
    name: str, values: NDArray[Any], *, share: float = 0.0, at_least: float, most: float = math.inf
) -> Entry:
    """Return ranges around the quantiles.

    Args:
        name: the column.
        values: its values.
        share: room on both sides, as a share of the quantile.
        at_least: room at the least, in the column's own unit.
        most: largest possible value.
    """
    lower, upper = (np.quantile(values, QUANTILES, method=way) for way in ("lower", "higher"))
    ranges = []
    for low, high in zip(lower.tolist(), upper.tolist(), strict=True):
        edges = low - max(share * low, at_least), high + max(share * high, at_least)
        if values.dtype.kind == "i":
            ranges.append([max(0, math.floor(edges[0])), math.ceil(edges[1])])
        else:
            ranges.append([max(0.0, _down(edges[0])), min(most, _up(edges[1]))])
    return _entry(
        "expect_column_quantile_values_to_be_between",
        "warning",
        column=name,
        quantile_ranges={"quantiles": list(QUANTILES), "value_ranges": ranges},
    )


def _categories(name: str, column: Categories) -> Iterator[Entry]:
    yield _entry("expect_column_to_exist", "critical", column=name)
    n_known = int(np.count_nonzero(column.codes >= 0))
    mostly: dict[str, Any] = (
        {} if n_known == column.codes.size else {"mostly": _down(n_known / column.codes.size)}
    )
    yield _entry("expect_column_values_to_not_be_null", "critical", column=name, **mostly)
    if len(column.names) > MAX_CATEGORIES:
        return
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.names))
    names = list(column.names)
    yield _entry("expect_column_values_to_be_in_set", "critical", column=name, value_set=names)
    yield _entry(
        "expect_column_kl_divergence_to_be_less_than",
        "warning",
        column=name,
        partition_object={"values": names, "weights": _weights(counts)},
        threshold=MAX_DIVERGENCE,
        tail_weight_holdout=TAIL_WEIGHT_HOLDOUT,
    )


def _weights(counts: Sequence[int] | NDArray[Any]) -> list[float]:
    total = int(np.sum(counts))
    return [float(f"{count / total:.12g}") for count in counts]


def _known(column: Column) -> NDArray[Any]:
    assert isinstance(column, Values)
    return column.values if column.known is None else column.values[column.known]


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if values.size else 0.0


def _down(value: float) -> float:
    """Round down to six decimals, and by one more, as the sum may be taken in another order."""
    return (math.floor(value * 1e6) - 1) / 1e6


def _up(value: float) -> float:
    """Round up likewise."""
    return (math.ceil(value * 1e6) + 1) / 1e6


def _entry(kind: str, severity: str, notes: str = "", **kwargs: Any) -> Entry:
    entry: Entry = {"type": kind, "kwargs": kwargs, "severity": severity}
    return entry | ({"notes": notes} if notes else {})
