"""`packlint drift PACKED… --reference UNPACKED…`: are these packs still the data that went in?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from packlint.cli.check import finish, n_cpus, present, report_options, scan, scan_options
from packlint.cli.options import reference_options, rule_options, run_config, settings_options, show_options
from packlint.cli.outputs import parse_outputs
from packlint.errors import UsageError

if TYPE_CHECKING:
    from packlint.summaries.composition import Composition

__all__ = ["command"]

_FAMILIES = ("DRF", "SMP", "ORD", "SHD")


@click.command("drift")
@click.argument("paths", nargs=-1, required=True, metavar="PACKED...")
@reference_options
@click.option(
    "--save-summary",
    metavar="FILE",
    help="Write what the packs are made of, to compare a later build with when this one is gone.",
)
@settings_options
@rule_options
@report_options
@scan_options
def command(
    paths: tuple[str, ...],
    save_summary: str | None,
    output: tuple[str, ...],
    output_dir: str | None,
    jobs: int | None,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    color: str,
    select: tuple[str, ...],
    **settings: Any,
) -> int:
    """Compare packs with the unpacked samples that they were made from, or with an earlier build.

    Says what was lost, and how far the mixture, lengths, tokens and weights of the loss moved, as sizes and
    not as p-values. Runs the rules DRF, SMP, ORD and SHD unless --select says otherwise.

    packlint drift packed/ --reference tokenized/ --by domain,language
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other")
    outputs = parse_outputs(output, output_dir)
    repeated = show_options(settings)
    config = run_config(settings.pop("config_file"), select=select, **settings)
    if not select:
        config = replace(config, select=_families())
    if not config.reference and save_summary is None:
        raise UsageError("nothing to compare with: give --reference PATH, or --save-summary FILE")
    kept: list[Composition] = []
    wanted: dict[str, Any] = {} if save_summary is None else {"on_composition": kept.append}
    target = None if save_summary is None else _target(save_summary)
    report = scan(paths, config, jobs=jobs or n_cpus(), quiet=quiet, color=color, **wanted)
    if target is not None:
        from packlint.summaries.composition_file import write_composition

        write_composition(kept[0], target)
    shown = replace(
        present(report, config, color, paths), quiet=quiet, verbose=verbose, show_options=repeated
    )
    return finish(report, outputs, shown, exit_zero=exit_zero)


def _families() -> tuple[str, ...]:
    """Return the families that compare, of those that are installed."""
    from packlint.registry import rule_modules

    known = {code[:3] for code in rule_modules()}
    return tuple(family for family in _FAMILIES if family in known)


def _target(file: str) -> Path:
    """Return where the summary goes; what cannot work is told before the scan."""
    target = Path(file)
    if not target.parent.is_dir():
        raise UsageError(f"--save-summary {file}: no folder {target.parent}")
    if target.is_dir():
        raise UsageError(f"--save-summary {file}: is a folder")
    return target
