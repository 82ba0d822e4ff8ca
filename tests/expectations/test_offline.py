"""In processes of their own: suites need no network, and nothing heavy is imported unless one is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]

OFFLINE = """
import json, logging, socket, sys, warnings
from pathlib import Path

def refuse(*args, **kwargs):
    raise AssertionError(f"a connection was asked for: {args}")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse

from packlint.expectations import TablesWanted, load_suite
from tests.expectations.builds import SHARDS, TEAM_SUITE, build, write_suite

folder = Path(sys.argv[1])
wanted = TablesWanted(suite=load_suite(write_suite(folder)), folder=folder / "t", data_docs=folder / "docs")
assert not {"pandas", "great_expectations"} & {*sys.modules}, "a suite was read with more than JSON"
shows = warnings.showwarning
wanted.begin()
rows = build()
findings = wanted.finish(rows, SHARDS)
assert {"pandas", "great_expectations"} <= {*sys.modules}
assert warnings.showwarning is shows, "warnings are shown elsewhere from now on"
logging.captureWarnings(True)
assert warnings.showwarning is not shows, "warnings cannot be captured any more"
print(json.dumps([[f.code, f.severity, f.message, dict(f.measured)] for f in findings]))
"""

LIGHT = """
import sys
{statement}
print(*sorted({{"pandas", "great_expectations", "scipy", "altair"}} & {{*sys.modules}}))
"""


def run(code: str, *args: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", code, *map(str, args)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done


def test_a_suite_of_both_tables_runs_without_a_network(tmp_path: Path) -> None:
    done = run(OFFLINE, tmp_path)

    found: list[tuple[str, str, str, dict[str, Any]]] = json.loads(done.stdout)
    assert {code for code, *_ in found} == {"EXP001"}
    assert {measured["table"] for *_, measured in found} == {"packs", "samples"}
    assert len(found) == 8
    assert sum("observed" in measured or "n_unexpected" in measured for *_, measured in found) == 7
    assert (tmp_path / "docs" / "index.html").is_file()
    assert (tmp_path / "t" / "samples.parquet").is_file()


@pytest.mark.parametrize(
    "statement",
    [
        "import packlint",
        "import packlint; packlint.check({'input_ids': [[1, 2]]})",
        "from packlint.cli.main import main; main(['check', 'a.jsonl', '--quiet'])",
        "from packlint.cli.main import main; main(['expectations', 'a.jsonl', '--quiet'])",
        "import packlint.expectations, packlint.expectations.findings, packlint.expectations.profile",
    ],
)
def test_without_a_suite_nothing_heavy_is_imported(tmp_path: Path, statement: str) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"input_ids": [1, 2, 3]}) + "\n")

    done = run(LIGHT.format(statement=statement), cwd=tmp_path)

    assert done.stdout.splitlines()[-1] == ""


def test_reading_parquet_and_a_reference_loads_no_pandas(tmp_path: Path) -> None:
    """Its own conversions to numpy import pandas, wherever it is installed."""
    pq.write_table(
        pa.table({"input_ids": [[1, 2, 3], [4, 5]], "domain": ["a", None]}), tmp_path / "a.parquet"
    )
    statement = (
        "from packlint import check; import pathlib;"
        f"file = {str(tmp_path / 'a.parquet')!r};"
        "assert check(file, reference=file, by=['domain']).drift"
    )

    assert run(LIGHT.format(statement=statement)).stdout.strip() == ""
