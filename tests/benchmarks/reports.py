"""Reports in every format: what they add to a run with no findings, and how they grow."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from packlint.cli.demo_data import write_demo
from packlint.report import Report
from packlint.reporters import REPORTERS, render
from packlint.reporters.presentation import Presentation
from tests.benchmarks.timing import cpu_seconds
from tests.reporters.reports import large_report

__all__ = ["reports"]

_SIZES = (10_000, 100_000)
_N_RULES, _HITS = 10, 10
_CLEAN = ("trl/train-00000.parquet", "--select", "ISO,TGT", "--jobs", "1", "--quiet", "--color", "never")


def reports(folder: Path, rounds: int) -> None:
    """Time all formats after a run with no findings, then each format with many findings."""
    data = folder / "demo"
    write_demo(data)
    files = [f"--output={name}={folder / name}" for name in REPORTERS]
    pairs = [(_check(data, files), _check(data, [])) for _ in range(2 * rounds + 1)]
    added = statistics.median(one - other for one, other in pairs)
    print(f"no findings: {len(REPORTERS)} formats add {added:.2f} s of CPU time to the terminal's, by itself")
    for name in REPORTERS:
        times, sizes = [], []
        for report in map(_many, _SIZES):
            times.append(min(cpu_seconds(partial(_render, name, report)) for _ in range(rounds)))
            sizes.append(len(_render(name, report).encode(errors="surrogateescape")) / 1e6)
        print(
            f"{name}: {_SIZES[0]:,} findings {times[0]:.2f} s and {sizes[0]:.1f} MB, "
            f"{_SIZES[1]:,} findings of {_SIZES[1] * _HITS:,} hits {times[1]:.2f} s and {sizes[1]:.1f} MB"
        )


def _check(data: Path, options: Sequence[str]) -> float:
    """Return the CPU time of a whole run."""
    command = [str(Path(sys.executable).with_name("packlint")), "check", *_CLEAN, *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=data, check=False, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, "the run has findings"
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _many(n_findings: int) -> Report:
    report = large_report(_N_RULES, n_findings // _N_RULES)
    findings = tuple(replace(finding, n_hits=_HITS) for finding in report.findings)
    return replace(report, findings=findings)


def _render(name: str, report: Report) -> str:
    return render(name, report, Presentation())
