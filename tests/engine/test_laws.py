"""The report does not depend on how data is cut into batches and shards, or on who scans what when."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packlint.config import RunConfig, parse_config
from packlint.report import Report
from packlint.session import check_paths
from tests.packs import SPEC, Packs, random_packs

N_PACKS = 24


def faulty_packs(seed: int) -> Packs:
    """Return packs in which about one place in twenty is wrong in some way."""
    rng = np.random.default_rng(seed)
    packs = random_packs(rng, n_packs=N_PACKS)
    for name, wrong in (("labels", 7), ("input_ids", 2), ("position_ids", 3), ("segment_ids", 9)):
        for row in packs[name]:
            for place in np.flatnonzero(rng.random(len(row)) < 0.05):
                row[place] = wrong
    packs["input_ids"][3] = list(packs["input_ids"][1])
    packs["labels"][5] = packs["labels"][5][:-1]
    return packs


def write(packs: Packs, folder: Path, cuts: tuple[int, ...], row_group_size: int) -> list[str]:
    """Write the packs as Parquet shards, cut at the given rows."""
    folder.mkdir()
    names = ("input_ids", "labels", "position_ids", "segment_ids", "seq_lens")
    table = pa.table({name: packs[name] for name in names})
    edges = (0, *cuts, N_PACKS)
    paths = []
    for number, (start, stop) in enumerate(pairwise(edges)):
        path = folder / f"shard-{number}.parquet"
        pq.write_table(table.slice(start, stop - start), path, row_group_size=row_group_size)
        paths.append(str(path))
    return paths


def config(**more: Any) -> RunConfig:
    return parse_config({"profile": "sft", "trainer": "grain", "spec": dict(SPEC), **more})


def figures(report: Report) -> dict[str, Any]:
    """Return what must not depend on where shards are cut."""
    plain = report.to_dict()
    for rule in plain["rules"]:
        rule.pop("reason")
    return {key: plain[key] for key in ("verdict", "exit_code", "spec", "profile", "rules", "measures")}


@pytest.mark.parametrize("seed", range(3))
def test_batches_workers_and_order_do_not_show(tmp_path: Path, seed: int) -> None:
    paths = write(faulty_packs(seed), tmp_path / "data", (5, 11), 3)

    expected = check_paths(paths, config()).to_json()

    for block_tokens in (1, 50, 1000):
        assert check_paths(paths, config(), block_tokens=block_tokens).to_json() == expected
    assert check_paths(paths, config(), jobs=4).to_json() == expected
    assert check_paths(paths[::-1], config()).to_json() == expected
    assert json.loads(expected)["findings"], "the planted faults must show"


@pytest.mark.parametrize("seed", range(3))
def test_cutting_into_other_shards_keeps_all_figures(tmp_path: Path, seed: int) -> None:
    packs = faulty_packs(seed)
    whole = check_paths(write(packs, tmp_path / "one", (), 24), config())

    for cuts in ((1,), (4, 9, 17), tuple(range(1, N_PACKS))):
        parts = check_paths(write(packs, tmp_path / f"cut{len(cuts)}", cuts, 5), config())
        assert figures(parts) == figures(whole)
