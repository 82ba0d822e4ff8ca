"""A small packed build with domains, and a suite for both tables of which it fails the most."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from packlint.expectations.suite import Suite, parse_suite
from packlint.model.metadata import Categories
from packlint.summaries.columns import Table
from packlint.summaries.tables import TableRows
from packlint.testing import make_batches
from tests.packs import random_packs

__all__ = ["SHARDS", "TEAM_SUITE", "build", "entry", "suite_of", "tables_of", "write_suite"]

SHARDS = ("a.parquet",)
DOMAINS = ("code", "web", "wiki")


def build(seed: int = 0, *, n_packs: int = 40, shares: tuple[float, ...] = (0.3, 0.5, 0.2)) -> TableRows:
    """Return the rows of random packs, a domain to each sample, unknown for about one in twenty."""
    rng = np.random.default_rng(seed)
    rows = TableRows()
    for batch in make_batches(random_packs(rng, n_packs=n_packs), 200):
        codes = rng.choice(len(DOMAINS), batch.n_segments, p=shares).astype(np.int32)
        codes[rng.random(batch.n_segments) < 0.05] = -1
        told = replace(batch, metadata={"domain": Categories(DOMAINS, codes)})
        rows = rows.merge(TableRows.of(told))
    return rows


def tables_of(rows: TableRows) -> dict[str, Table]:
    """Return both tables."""
    return rows.tables(SHARDS)


def entry(kind: str, table: str | None = None, severity: str = "critical", **kwargs: Any) -> dict[str, Any]:
    """Return one expectation of a suite."""
    meta = {} if table is None else {"table": table}
    return {"type": f"expect_{kind}", "kwargs": kwargs, "severity": severity, "meta": meta}


def suite_of(*entries: dict[str, Any]) -> Suite:
    """Return a suite of some expectations."""
    return parse_suite({"name": "team", "expectations": list(entries)}, "suite.json")


TEAM_SUITE: dict[str, Any] = {
    "name": "team",
    "expectations": [
        entry("column_values_to_be_in_set", "samples", column="domain", value_set=["code", "web"]),
        entry("column_mean_to_be_between", severity="warning", column="padding_fraction", max_value=0.01),
        entry("column_values_to_be_between", "packs", column="n_targets", min_value=1),
        entry(
            "column_quantile_values_to_be_between",
            "samples",
            column="n_tokens",
            quantile_ranges={"quantiles": [0.5, 0.9], "value_ranges": [[900, None], [0, 900]]},
        ),
        entry("column_to_exist", "samples", "info", column="language"),
        entry(
            "column_kl_divergence_to_be_less_than",
            "samples",
            column="domain",
            partition_object={"values": ["code", "web"], "weights": [0.5, 0.5]},
            threshold=0.1,
        ),
        entry("column_values_to_not_be_null", "samples", column="n_tokens"),
        entry("table_row_count_to_be_between", "packs", max_value=7),
        entry("column_distinct_values_to_equal_set", "samples", column="domain", value_set=["code", "law"]),
        entry("column_max_to_be_between", severity="warning", column="longest_segment", max_value=5),
    ],
}


def write_suite(folder: Path, table: object = TEAM_SUITE) -> Path:
    """Write a suite to a file."""
    path = folder / "suite.json"
    path.write_text(json.dumps(table), encoding="utf-8")
    return path
