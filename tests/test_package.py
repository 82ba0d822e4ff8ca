"""What is shipped: two import packages in one wheel, their data, their layers, and light imports."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import packlint

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_two_packages_and_nothing_else(wheel_names: set[str]) -> None:
    roots = {name.split("/")[0] for name in wheel_names}

    assert {root for root in roots if not root.endswith(".dist-info")} == {"packlint", "packlint_rules"}


def test_wheel_holds_every_source_file_and_its_data(wheel_names: set[str]) -> None:
    sources = {
        str(path.relative_to(base))
        for base in (ROOT, ROOT / "rules")
        for package in ("packlint", "packlint_rules")
        for path in (base / package).rglob("*")
        if path.is_file() and path.suffix in {".py", ".toml", ".json", ".typed"}
    }

    assert sources <= wheel_names
    assert {
        "packlint/py.typed",
        "packlint_rules/py.typed",
        "packlint_rules/profiles/pretrain.toml",
        "packlint_rules/profiles/sft.toml",
        "packlint_rules/profiles/long-context.toml",
        "packlint_rules/profiles/strict.toml",
        "packlint/reporters/schema/manifest-v1.json",
        "packlint/reporters/schema/report-v1.json",
    } <= wheel_names
    assert any(name.endswith("licenses/LICENSE") for name in wheel_names)


def test_layers_are_kept() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_public_names() -> None:
    assert sorted(packlint.__all__) == ["Finding", "Report", "Severity", "__version__", "check"]
    assert all(hasattr(packlint, name) for name in packlint.__all__)


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import packlint", "numpy pyarrow pandas pydantic rich click"),
        ("import packlint.rule, packlint.registry", "pyarrow pandas pydantic rich click"),
        (
            "import packlint; packlint.check({'input_ids': [[1, 2]]})",
            "pyarrow pandas torch datasets great_expectations rich click tokenizers",
        ),
    ],
)
def test_heavy_imports_are_lazy(statement: str, forbidden: str) -> None:
    code = f"{statement}\nimport sys\nprint(*(n for n in {forbidden.split()} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.split() == []
