"""`packlint expectations PATH…`: a suite of Great Expectations that today's data passes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import rich_click as click

from packlint.cli.check import n_cpus
from packlint.cli.options import run_config, settings_options, spec_options
from packlint.cli.progress import ScanProgress, wants_progress
from packlint.cli.screen import color_option, wants_color, write
from packlint.config import RunConfig
from packlint.engine.scan import Survey
from packlint.engine.tally import ShardResult, take_summary
from packlint.errors import UnreadableError
from packlint.reporters.signs import count
from packlint.summaries.columns import Table
from packlint.summaries.tables import TableObserver, TableRows

__all__ = ["command"]

_DAMAGE = ("SHD001", "SHD002", "SHD005")


@click.command("expectations")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--name", default="packlint", show_default=True, metavar="TEXT", help="Name of the suite.")
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN,...",
    help="Metadata to read: domain, language, ... (repeatable).",
)
@settings_options
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: number of CPUs]")
@spec_options
@click.option("--quiet", "-q", is_flag=True, help="No progress bar, and nothing said of what was written.")
@color_option
def command(
    paths: tuple[str, ...],
    name: str,
    by: tuple[str, ...],
    jobs: int | None,
    quiet: bool,
    color: str,
    **settings: Any,
) -> int:
    """Write a suite of Great Expectations that this data passes to standard output, for a team to edit.

    packlint expectations shards/ --by domain > suite.json

    It asks for today's columns and values, lengths, shares of padding, of loss and of categories, with some
    room. `packlint check --expectations suite.json` holds later builds to it. The data may be packed, or the
    unpacked samples that packs are made from.
    """
    from packlint.expectations.profile import make_suite, suite_text

    config = run_config(settings.pop("config_file"), **settings)
    named = tuple(column.strip() for value in by for column in value.split(",") if column.strip())
    config = replace(config, by=named or config.by)
    tables = _scan(paths, config, jobs=jobs or n_cpus(), quiet=quiet, color=color)
    suite = make_suite(tables, name)
    write(suite_text(suite))
    if not quiet:
        print(f"packlint: {_said(tables, len(suite['expectations']))}", file=sys.stderr)
    return 0


def _scan(paths: Sequence[str], config: RunConfig, *, jobs: int, quiet: bool, color: str) -> dict[str, Table]:
    from packlint.executors import local
    from packlint.session import plan_paths

    plan, survey = plan_paths(paths, config), Survey(by=config.by, observers=(TableObserver(),))
    with ScanProgress(enabled=wants_progress(quiet), color=wants_color(color, sys.stderr)) as progress:
        progress.begin(plan)
        results = local.run(plan.shards, (), jobs=jobs, survey=survey, on_progress=progress.advance)
    _refuse_damage(results)
    rows = take_summary(results.values(), TableObserver.key, TableRows())
    return rows.tables([entry.shard.name for entry in plan.shards])


def _refuse_damage(results: Mapping[str, ShardResult]) -> None:
    for name in sorted(results):
        for code in _DAMAGE:
            if code in results[name].tallies:
                note = results[name].tallies[code].exemplars[0].note
                raise UnreadableError(f"{name}: {note} ({code}); a suite would be made of a part of the data")
        if results[name].errors:
            raise UnreadableError("; ".join(results[name].errors))


def _said(tables: Mapping[str, Table], n_expectations: int) -> str:
    rows = " and ".join(
        count(tables[name].n_rows, unit) for name, unit in (("packs", "pack"), ("samples", "segment"))
    )
    return f"{count(n_expectations, 'expectation')} from {rows}"
