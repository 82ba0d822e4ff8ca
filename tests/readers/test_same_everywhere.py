"""The same packs give the same findings and the same measures, whatever format they are stored in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import packlint
from packlint.report import Report
from tests.readers import test_datatrove, test_mds, test_megatron, test_olmo

WINDOW = 64
N_PACKS = 12
Documents = list[list[list[int]]]


def faulty_documents() -> Documents:
    """Return the documents of each pack, with faults that a stream without labels can have."""
    rng = np.random.default_rng(5)
    packs: Documents = []
    for _ in range(N_PACKS):
        lengths = 10 + rng.multinomial(WINDOW - 40, [0.25] * 4)
        packs.append([[1, *rng.integers(10, 90, n - 2).tolist(), 2] for n in lengths])
    packs[1][1][-1] = 50  # an end token is missing, a begin token follows
    packs[2][0][-1], packs[2][1][0] = 51, 52  # nothing parts these two
    packs[3][0][3] = 99  # outside the vocabulary
    packs[4][2][-2] = 2  # two end tokens
    packs[5][0][1] = 1  # two begin tokens
    packs[7] = [list(document) for document in packs[6]]  # a pack that comes twice
    packs[8][3][:] = [1, *([33, 34] * 40)[: len(packs[8][3]) - 2], 2]  # a cycle
    return packs


def rows_of(packs: Documents) -> dict[str, list[list[int]]]:
    return {
        "input_ids": [[t for document in pack for t in document] for pack in packs],
        "seq_lens": [[len(document) for document in pack] for pack in packs],
    }


def write_parquet(folder: Path, packs: Documents) -> None:
    pq.write_table(pa.table(rows_of(packs)), folder / "packs.parquet", row_group_size=5)


def write_arrow(folder: Path, packs: Documents) -> None:
    table = pa.table(rows_of(packs))
    with (
        pa.OSFile(str(folder / "packs.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as stream,
    ):
        stream.write_table(table, max_chunksize=5)


def write_megatron(folder: Path, packs: Documents) -> None:
    test_megatron.write(folder / "packs", [document for pack in packs for document in pack])


def write_mds(folder: Path, packs: Documents) -> None:
    rows = rows_of(packs)
    samples = []
    for ids, lengths in zip(rows["input_ids"], rows["seq_lens"], strict=True):
        ends = np.cumsum(lengths).tolist()
        samples.append(
            {"input_ids": ids, "indices": [[e - n, e] for e, n in zip(ends, lengths, strict=True)]}
        )
    test_mds.write(folder, {"input_ids": "ndarray:uint32", "indices": "ndarray:uint32"}, [samples])


def write_datatrove(folder: Path, packs: Documents) -> None:
    test_datatrove.write(folder / "packs.ds", [document for pack in packs for document in pack])


def write_olmo(folder: Path, packs: Documents) -> None:
    test_olmo.write(folder, [document for pack in packs for document in pack])


WRITERS: dict[str, Callable[[Path, Documents], None]] = {
    "parquet": write_parquet,
    "arrow-stream": write_arrow,
    "megatron": write_megatron,
    "mds": write_mds,
    "datatrove": write_datatrove,
    "olmo-numpy": write_olmo,
}


def lint(form: str, folder: Path) -> Report:
    # datatrove's windows are max_seq_len + 1 tokens
    length = WINDOW - 1 if form == "datatrove" else WINDOW
    spec = {"bos_id": 1, "eos_ids": [2], "vocab_size": 90, "pad_id": 0, "max_seq_len": length}
    contract = {"cut_policy": "whole", "boundary_token": "end", "extra_slots_per_pack": WINDOW - length}
    return packlint.check(folder, profile="pretrain", trainer_contract=contract, spec=spec)


def said(report: Report) -> dict[str, Any]:
    """Return all that does not name a shard, a format or a kind of record."""
    findings = [
        (
            f.code,
            f.severity,
            (f.n_hits, f.n_packs, f.n_segments, f.n_tokens),
            [(p.pack, p.segment, p.start, p.stop, p.context) for p in f.locations],
        )
        for f in report.findings
    ]
    leaks = next(rule.measured for rule in report.rules if rule.code == "ISO001")
    numbers = {key: leaks[key] for key in ("leaked_pairs", "allowed_pairs", "exposed_tokens")}
    # The bound follows from max_seq_len, which is another one where windows hold an extra token.
    measures = {name: value for name, value in report.measures.items() if name != "gap_fraction"}
    return {"findings": findings, "measures": measures, "leaks": numbers}


@pytest.mark.parametrize("form", WRITERS)
def test_findings_and_measures_do_not_depend_on_the_format(form: str, tmp_path: Path) -> None:
    packs = faulty_documents()
    (tmp_path / "expected").mkdir()
    write_parquet(tmp_path / "expected", packs)
    (tmp_path / "found").mkdir()
    WRITERS[form](tmp_path / "found", packs)

    expected, found = lint("parquet", tmp_path / "expected"), lint(form, tmp_path / "found")

    assert {entry.format for entry in found.inputs} == {form}
    assert said(found) == said(expected)
    codes = {finding.code for finding in found.findings}
    assert codes >= {"SPC001", "SPC003", "SPC004", "SPC005", "TOK001", "SMP007"}
