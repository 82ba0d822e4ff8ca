"""`packlint check PATH…`: one scan, one report, any number of formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import rich_click as click

from packlint.cli.options import run_config, settings_options, show_options, spec_options
from packlint.cli.outputs import Output, parse_outputs, save
from packlint.cli.progress import ScanProgress, wants_progress
from packlint.cli.screen import color_option, paper_for, wants_color, write
from packlint.config import RunConfig
from packlint.report import Report
from packlint.reporters import render
from packlint.reporters.presentation import Advice, Presentation

__all__ = ["command", "present", "scan"]


def _n_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@settings_options
@click.option(
    "--select", multiple=True, metavar="CODE,...", help="Rules to run, instead of the configuration's."
)
@click.option(
    "--ignore", multiple=True, metavar="CODE,...", help="Rules to leave out, besides the configuration's."
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    help="Lowest severity that makes the exit code 1.  [default: error]",
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 even when there are findings.")
@click.option(
    "--output",
    multiple=True,
    metavar="FORMAT[=FILE]",
    help="terminal or json, to a file or to standard output (repeatable; all come from one scan).",
)
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: number of CPUs]")
@spec_options
@click.option(
    "--quiet", "-q", is_flag=True, help="Only the verdict and one line per finding; no progress bar."
)
@click.option("--verbose", "-v", is_flag=True, help="Leave nothing out: all shards, places, values, rules.")
@color_option
def command(
    paths: tuple[str, ...],
    output: tuple[str, ...],
    jobs: int | None,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    color: str,
    **settings: Any,
) -> int:
    """Check packed shards: files, folders and globs.

    Exit code: 0 clean, 1 findings at or above --fail-on, 2 usage, configuration or internal error,
    3 a path matched nothing.
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other")
    outputs = parse_outputs(output)
    repeated = show_options(settings)
    config = run_config(settings.pop("config_file"), **settings)
    report = scan(paths, config, jobs=jobs or _n_cpus(), quiet=quiet, color=color)
    shown = replace(
        present(report, config, color, paths), quiet=quiet, verbose=verbose, show_options=repeated
    )
    saved = replace(shown, width=100, color=False, unicode=True)
    save(outputs, lambda target: render(target.format, report, saved))
    _print(outputs, report, shown)
    for line in report.internal_errors:
        print(f"packlint: internal error: {paper_for('never').show(line)}", file=sys.stderr)
    return 0 if exit_zero and report.exit_code == 1 else report.exit_code


def scan(paths: Sequence[str], config: RunConfig, *, jobs: int, quiet: bool, color: str) -> Report:
    """Check with a progress bar where someone is there to look at it."""
    from packlint.session import check_paths

    with ScanProgress(enabled=wants_progress(quiet), color=wants_color(color, sys.stderr)) as progress:
        return check_paths(paths, config, jobs=jobs, on_plan=progress.begin, on_progress=progress.advance)


def present(report: Report, config: RunConfig, color: str, paths: Sequence[str]) -> Presentation:
    """Return how to show the report on standard output."""
    from packlint.registry import find_rule

    paper = paper_for(color)
    rules = {code: find_rule(code) for code in {finding.code for finding in report.findings}}
    return Presentation(
        width=paper.width,
        color=paper.color,
        unicode=paper.unicode,
        advice={code: Advice(rule.why, rule.fix) for code, rule in rules.items()},
        decode=_decoder(config),
        paths=_typed_paths(paths) if report.findings else {},
        fail_on=config.fail_on,
    )


def _print(outputs: Sequence[Output], report: Report, shown: Presentation) -> None:
    for output in outputs:
        if output.file is None:
            write(render(output.format, report, shown))


def _decoder(config: RunConfig) -> Any:
    if config.tokenizer is None:
        return None
    from packlint.chat.tokenizer import load_tokenizer

    return load_tokenizer(config.tokenizer).decode


def _typed_paths(paths: Sequence[str]) -> dict[str, str]:
    """Return what to type for each shard: the report's names are relative to the inputs, not to here."""
    from packlint.readers.discover import discover

    return {c.name: _from_here(str(c.path)) for c in discover(paths)}


def _from_here(path: str) -> str:
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
