"""`packlint baseline PATH…`: today's findings, for later runs to know."""

from __future__ import annotations

import sys
from typing import Any

import rich_click as click

from packlint.baseline import make_baseline
from packlint.cli.check import n_cpus, scan
from packlint.cli.options import rule_options, run_config, settings_options, spec_options
from packlint.cli.screen import color_option, paper_for, write
from packlint.errors import RuleError
from packlint.report import Report
from packlint.reporters.signs import count

__all__ = ["command"]


@click.command("baseline")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@settings_options
@click.option(
    "--manifest",
    metavar="FILE",
    help="What was declared of the shards, instead of the nearest packlint-manifest.json.",
)
@rule_options
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: number of CPUs]")
@spec_options
@click.option("--quiet", "-q", is_flag=True, help="No progress bar, and nothing said of what was written.")
@color_option
def command(paths: tuple[str, ...], jobs: int | None, quiet: bool, color: str, **settings: Any) -> int:
    """Write today's findings to standard output, for `packlint check` to know them.

    packlint baseline shards/ > .packlint-baseline.json

    `packlint check` takes that file from the working directory, or from above it up to the configuration's
    folder. It then fails on new findings and on higher counts only: counts may fall, never rise. Give the
    paths as `check` is given them, as entries go by the names of shards. Unreadable shards are never known.
    """
    config = run_config(settings.pop("config_file"), **settings)
    report = scan(paths, config, jobs=jobs or n_cpus(), quiet=quiet, color=color)
    if report.internal_errors:
        first = paper_for("never").show(report.internal_errors[0])
        raise RuleError(f"no baseline: findings are missing, as {first}")
    baseline = make_baseline(report.findings)
    write(baseline.to_json())
    if not quiet:
        print(f"packlint: {_said(report, len(baseline.entries))}", file=sys.stderr)
    return 0


def _said(report: Report, n_entries: int) -> str:
    unread = len(report.unread_shards)
    left = f"; {count(unread, 'shard')} with unreadable parts will go on failing" if unread else ""
    return f"{count(n_entries, 'entry', 'entries')} in the baseline{left}"
