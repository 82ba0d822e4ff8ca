"""`packlint check PATH…`: one scan, one report, any number of formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from packlint.cli.job_summary import append_job_summary
from packlint.cli.options import (
    find_baseline,
    reference_options,
    rule_options,
    run_config,
    settings_options,
    show_options,
    spec_options,
)
from packlint.cli.outputs import Output, parse_outputs, save
from packlint.cli.progress import ScanProgress, wants_progress
from packlint.cli.screen import color_option, paper_for, wants_color, write
from packlint.cli.tables import table_options, tables_wanted
from packlint.config import RunConfig
from packlint.errors import PacklintError
from packlint.finding import Severity
from packlint.report import Report, hold_against
from packlint.reporters import NEED_PAGES, REPORTERS, USUAL_FILES, render
from packlint.reporters.presentation import Advice, Presentation
from packlint.reporters.rule_page import RulePage

if TYPE_CHECKING:
    from packlint.chat.tokenizer import Tokenizer
    from packlint.expectations import TablesWanted

__all__ = ["command", "finish", "n_cpus", "present", "report_options", "scan", "scan_options"]

F = TypeVar("F", bound=Callable[..., Any])


def n_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def report_options(command: F) -> F:
    """Add what decides the exit code and where reports go."""
    for option in (
        click.option(
            "--output-dir",
            metavar="DIR",
            help=f"Write the usual set here: {', '.join(USUAL_FILES.values())}.",
        ),
        click.option(
            "--output",
            multiple=True,
            metavar="FORMAT[=FILE]",
            help=f"{', '.join(REPORTERS)}: to a file, or to standard output (repeatable; all come from one "
            "scan).",
        ),
        click.option("--exit-zero", is_flag=True, help="Exit 0 even when there are findings."),
        click.option(
            "--fail-on",
            type=click.Choice(["error", "warning", "info"]),
            help="Lowest severity that makes the exit code 1.  [default: error]",
        ),
    ):
        command = option(command)
    return command


def scan_options(command: F) -> F:
    """Add threads, conventions of the data, and how much is said."""
    verbose = "Leave nothing out: all shards, places, values, rules."
    quiet = "Only the verdict and one line per finding; no progress bar."
    command = color_option(command)
    command = click.option("--verbose", "-v", is_flag=True, help=verbose)(command)
    command = click.option("--quiet", "-q", is_flag=True, help=quiet)(command)
    command = spec_options(command)
    jobs = click.IntRange(min=1)
    return click.option("--jobs", type=jobs, metavar="N", help="Threads.  [default: number of CPUs]")(command)


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@settings_options
@click.option(
    "--manifest",
    metavar="FILE",
    help="What was declared of the shards, instead of the nearest packlint-manifest.json.",
)
@rule_options
@reference_options
@report_options
@click.option(
    "--baseline",
    "baseline_file",
    metavar="FILE",
    help="Findings that are known and do not fail, instead of the nearest .packlint-baseline.json.",
)
@click.option("--no-baseline", is_flag=True, help="Know no finding.")
@table_options
@scan_options
def command(
    paths: tuple[str, ...],
    output: tuple[str, ...],
    output_dir: str | None,
    baseline_file: str | None,
    no_baseline: bool,
    tables: str | None,
    expectations: str | None,
    data_docs: str | None,
    jobs: int | None,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    color: str,
    **settings: Any,
) -> int:
    """Check packed shards: files, folders, globs and URLs (s3://, gs://, hf://, https://).

    Exit code: 0 clean, 1 findings at or above --fail-on, 2 usage, configuration or internal error,
    3 a path matched nothing.
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other")
    if baseline_file and no_baseline:
        raise click.UsageError("--baseline and --no-baseline exclude each other")
    outputs = parse_outputs(output, output_dir)
    repeated = show_options(settings)
    config_file = settings.pop("config_file")
    config = run_config(config_file, **settings)
    baseline = None if no_baseline else find_baseline(baseline_file, config_file)
    wanted = tables_wanted(tables, expectations, data_docs)
    report = scan(paths, config, jobs=jobs or n_cpus(), quiet=quiet, color=color, tables=wanted)
    if baseline is not None:
        report = hold_against(report, baseline, Severity(config.fail_on))
    shown = replace(
        present(report, config, color, paths), quiet=quiet, verbose=verbose, show_options=repeated
    )
    return finish(report, outputs, shown, exit_zero=exit_zero)


def finish(report: Report, outputs: Sequence[Output], shown: Presentation, *, exit_zero: bool) -> int:
    """Write the outputs and return the exit code."""
    _deliver(outputs, report, replace(shown, pages=_pages(outputs)))
    for line in report.internal_errors:
        print(f"packlint: internal error: {paper_for('never').show(line)}", file=sys.stderr)
    return 0 if exit_zero and report.exit_code == 1 else report.exit_code


def scan(
    paths: Sequence[str],
    config: RunConfig,
    *,
    jobs: int,
    quiet: bool,
    color: str,
    tables: TablesWanted | None = None,
    **wanted: Any,
) -> Report:
    """Check with a progress bar where someone is there to look at it; `wanted` is for the session."""
    from packlint.session import check_paths

    with ScanProgress(enabled=wants_progress(quiet), color=wants_color(color, sys.stderr)) as progress:
        return check_paths(
            paths,
            config,
            jobs=jobs,
            on_plan=progress.begin,
            on_progress=progress.advance,
            tables=tables,
            **wanted,
        )


def present(report: Report, config: RunConfig, color: str, paths: Sequence[str]) -> Presentation:
    """Return how to show the report on standard output."""
    from packlint.registry import find_rule

    paper, tokenizer = paper_for(color), _tokenizer(config)
    rules = {code: find_rule(code) for code in {finding.code for finding in report.findings}}
    return Presentation(
        width=paper.width,
        color=paper.color,
        unicode=paper.unicode,
        advice={code: Advice(rule.why, rule.fix) for code, rule in rules.items()},
        decode=tokenizer.decode if tokenizer else None,
        pieces=tokenizer.pieces if tokenizer else None,
        paths=_typed_paths(paths) if report.findings else {},
        fail_on=config.fail_on,
    )


def _deliver(outputs: Sequence[Output], report: Report, shown: Presentation) -> None:
    """Write all outputs: files first, so that a broken pipe loses none of them."""
    saved = replace(shown, width=100, color=False, unicode=True)
    save(outputs, lambda target: render(target.format, report, saved))
    has_annotations = any(output.format == "github" for output in outputs)
    if has_annotations:
        append_job_summary(report, saved)
    for output in outputs:
        if output.file is None:
            text = render(output.format, report, shown)
            is_log = has_annotations and output.format != "github"
            write(_shielded(text) if is_log else text)


def _shielded(text: str) -> str:
    from packlint.reporters.github import shielded

    return shielded(text)


def _pages(outputs: Sequence[Output]) -> dict[str, RulePage]:
    """Return the pages of all rules where a format carries them."""
    if not any(output.format in NEED_PAGES for output in outputs):
        return {}
    from packlint.cli.catalogue import read_catalogue

    return {page.code: page for page in read_catalogue().pages}


def _tokenizer(config: RunConfig) -> Tokenizer | None:
    if config.tokenizer is None:
        return None
    from packlint.chat.tokenizer import load_tokenizer

    return load_tokenizer(config.tokenizer)


def _typed_paths(paths: Sequence[str]) -> dict[str, str]:
    """Return what to type for each shard: the report's names are relative to the inputs, not to here."""
    from packlint.readers.discover import discover

    try:
        found = discover(paths)
    except PacklintError:  # the inputs went away while they were read; the report stands
        return {}
    return {c.name: c.source.shown if c.source.is_remote else _from_here(c.source.location) for c in found}


def _from_here(path: str) -> str:
    short = os.path.relpath(path)
    return path if short.startswith("..") else short
