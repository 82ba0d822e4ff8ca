"""The pytest plugin: what a test sees that uses it, and that no other test sees anything."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from packlint.baseline import make_baseline
from packlint.errors import ConfigError, NoInputError, UsageError
from packlint.pytest_plugin import assert_clean
from packlint.report import Report

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
DATA = """
def packs(label):
    return {
        "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
        "labels": [[-100, 11, 12, 2, label, 21, 22, 2]],
        "position_ids": [[0, 1, 2, 3, 0, 1, 2, 3]],
        "seq_lens": [[4, 4]],
    }

SETTINGS = dict(trainer="torchtune", profile="sft", select=["TGT007"], spec={"eos_ids": [2], "bos_id": 1})
"""
CLEAN, FAULTY = -100, 1
Outcome = pytest.RunResult


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONUTF8", "1")
    monkeypatch.setenv("COLUMNS", "90")


@pytest.fixture
def outcome(pytester: pytest.Pytester) -> Callable[..., Outcome]:
    """Return a function that runs tests in a process of their own, with the plugin."""

    def run(body: str, *args: str, conftest: str = "") -> Outcome:
        pytester.makepyfile(test_data=DATA + body)
        pytester.makeconftest(conftest)
        return pytester.runpytest_subprocess("-p", "packlint.pytest_plugin", *args)

    return run


USES_FIXTURE = """
def test_packs(packlint):
    packlint(packs({label}), **SETTINGS)
"""


def test_calls_that_pass(outcome: Callable[..., Outcome]) -> None:
    body = """
import pytest

def test_the_report_is_returned(packlint):
    report = packlint(packs(-100), **SETTINGS)
    assert report.verdict == "clean"
    assert [rule.code for rule in report.rules if rule.status == "clean"] == ["TGT007"]

def test_ignored_with_a_reason(packlint):
    report = packlint(packs(1), **SETTINGS, ignore={"TGT007": "continued pretraining"})
    assert [r.reasons for r in report.rules if r.code == "TGT007"] == [("ignored: continued pretraining",)]

def test_ignored_codes(packlint):
    packlint(packs(1), **SETTINGS, ignore=["TGT007"])
    packlint(packs(1), **SETTINGS, ignore="TGT007")

def test_fail_on(packlint):
    warning = SETTINGS | {"rules": {"TGT007": {"severity": "warning"}}}
    assert packlint(packs(1), **warning).verdict == "findings"
    with pytest.raises(AssertionError, match="TGT007"):
        packlint(packs(1), **warning, fail_on="warning")
"""
    outcome(body).assert_outcomes(passed=4)


def test_faulty_data_fail_with_the_report(outcome: Callable[..., Outcome]) -> None:
    result = outcome(USES_FIXTURE.format(label=FAULTY))

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">*packlint(packs(1), [*][*]SETTINGS)",
            "E *AssertionError: ✗ 1 error in 1 of 1 shard",
            "E *input *1 shard*trainer torchtune, as declared",
            "E *TGT007 target-crosses-boundary*",
            "E *fix *",
            "E *packlint explain TGT007",
            "FAILED test_data.py::test_packs - AssertionError: ✗ 1 error in 1 of 1 shard",
        ]
    )
    assert "pytest_plugin.py" not in result.stdout.str(), "the traceback ends in the test"


def test_the_report_fits_the_terminal(
    outcome: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "class TestPacks:\n" + "".join(
        f"    {line}\n" for line in USES_FIXTURE.replace("(packlint", "(self, packlint").splitlines()
    )
    widest = {}
    for columns in (72, 160):
        monkeypatch.setenv("COLUMNS", str(columns))
        result = outcome(body.format(label=FAULTY))
        widest[columns] = max(len(line) for line in result.outlines if line.startswith("E "))

    assert 60 < widest[72] <= 72
    assert 100 < widest[160] <= 160


@pytest.mark.parametrize("color", ["no", "yes"])
def test_no_color_of_its_own(outcome: Callable[..., Outcome], color: str) -> None:
    result = outcome(USES_FIXTURE.format(label=FAULTY), f"--color={color}", "--junitxml=junit.xml")
    report = [line for line in result.outlines if "explain TGT007" in line]

    assert any("\x1b" in line for line in result.outlines) is (color == "yes")
    assert all(line.count("\x1b") in (0, 2, 3) for line in report), "only what pytest puts around a line"
    assert "#x1B" not in Path("junit.xml").read_text(encoding="utf-8")


def test_settings_of_all_tests(outcome: Callable[..., Outcome]) -> None:
    conftest = """
import pytest

@pytest.fixture(scope="session")
def packlint_settings():
    return {"trainer": "torchtune", "profile": "sft", "select": ["TGT007"]}
"""
    body = """
def test_packs(packlint):
    report = packlint(packs(-100), profile="pretrain")
    assert report.inputs[0].trainer == "torchtune"
    assert report.profile.name == "pretrain"
"""
    outcome(body, conftest=conftest).assert_outcomes(passed=1)


def test_files_are_named_and_never_green_when_absent(outcome: Callable[..., Outcome], demo: Path) -> None:
    shard = demo / "trl" / "train-00002.parquet"
    body = f"""
def test_shard(packlint):
    packlint({str(shard)!r}, trainer="trl")

def test_nothing(packlint):
    packlint("absent/*.parquet")
"""
    result = outcome(body)

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([f"E *packlint show {shard} --pack *", "E *NoInputError: absent/*no file*"])


def test_workers_of_xdist_have_no_terminal(
    outcome: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist")
    result = outcome(USES_FIXTURE.format(label=FAULTY), "-p", "xdist.plugin", "-n", "1")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *AssertionError: ✗ 1 error in 1 of 1 shard"])


def test_tests_that_do_not_use_it_see_nothing(outcome: Callable[..., Outcome]) -> None:
    body = """
import sys

def test_own_fixture_of_that_name(packlint):
    assert packlint == "mine"

def test_nothing_is_imported():
    loaded = {name for name in sys.modules if name.startswith(("packlint", "numpy", "pyarrow", "rich"))}
    assert loaded == {"packlint", "packlint.pytest_plugin"}
"""
    conftest = "import pytest\n\n@pytest.fixture\ndef packlint():\n    return 'mine'\n"
    result = outcome(body, "-W", "error", conftest=conftest)

    result.assert_outcomes(passed=2)


def test_the_entry_point_names_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["entry-points"]["pytest11"] == {"packlint": "packlint.pytest_plugin"}


PACKS = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
    "labels": [[-100, 11, 12, 2, 1, 21, 22, 2]],
    "seq_lens": [[4, 4]],
}


def test_without_a_fixture() -> None:
    report = assert_clean(PACKS, trainer="torchtune", select=["TGT011"])

    assert isinstance(report, Report)
    with pytest.raises(AssertionError, match="TGT007 target-crosses-boundary") as caught:
        assert_clean(PACKS, trainer="torchtune", profile="sft", select=["TGT007"], width=80)
    assert max(map(len, str(caught.value).splitlines())) <= 80


def test_known_findings_do_not_fail(tmp_path: Path) -> None:
    settings = {"trainer": "torchtune", "profile": "sft", "select": ["TGT007"]}
    known = assert_clean(
        PACKS, config={**settings, "fail_on": "error", "rules": {"TGT007": {"severity": "info"}}}
    )
    path = tmp_path / "known.json"
    path.write_text(make_baseline(known.findings).to_json(), encoding="utf-8")

    report = assert_clean(PACKS, config=settings, baseline=path)
    assert [finding.baseline for finding in report.findings] == ["known"]
    with pytest.raises(ConfigError, match="cannot be read"):
        assert_clean(PACKS, config=settings, baseline=tmp_path / "absent.json")


def test_settings_that_make_no_sense() -> None:
    from packlint.config import RunConfig

    with pytest.raises(ConfigError, match="did you mean trainer"):
        assert_clean(PACKS, trainr="trl")
    with pytest.raises(UsageError, match="not both"):
        assert_clean(PACKS, config=RunConfig(), trainer="trl")
    with pytest.raises(NoInputError):
        assert_clean(["absent/*.parquet"])


def test_ignored_rules_join_those_of_the_configuration() -> None:
    config = {"trainer": "torchtune", "profile": "sft", "select": ["TGT007", "TGT011"], "ignore": ["TGT011"]}
    report = assert_clean(PACKS, config=config, ignore=("TGT007",))

    assert {rule.code for rule in report.rules if rule.reasons and rule.status == "off"} >= {
        "TGT007",
        "TGT011",
    }


def test_light_to_import() -> None:
    code = "import pytest, sys; n = {*sys.modules}; import packlint.pytest_plugin; print(*{*sys.modules} - n)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert {*done.stdout.split()} <= {"packlint", "packlint.pytest_plugin", "shutil"}
