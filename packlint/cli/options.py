"""Options of the commands that read shards, and how they win over the configuration."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click

from packlint.baseline import FILE_NAME, Baseline, read_baseline
from packlint.config import Ignore, RunConfig, find_config, find_config_file, read_config, spec_from
from packlint.model.spec import Origin

__all__ = [
    "comma_list",
    "find_baseline",
    "named",
    "reference_options",
    "rule_options",
    "run_config",
    "settings_options",
    "show_options",
    "spec_options",
]

F = TypeVar("F", bound=Callable[..., Any])

_SPEC_NAMES = ("--max-seq-len", "--vocab-size", "--eos-id", "--bos-id", "--pad-id")


def settings_options(command: F) -> F:
    """Add `--profile`, `--trainer`, `--tokenizer` and `--config`."""
    for option in (
        click.option(
            "--config",
            "config_file",
            metavar="FILE",
            help="Configuration, instead of the nearest packlint.toml or pyproject.toml.",
        ),
        click.option(
            "--tokenizer", metavar="FILE", help="tokenizer.json or its folder: text and special ids."
        ),
        click.option("--trainer", metavar="NAME", help="Who will read it; `packlint trainers` lists them."),
        click.option(
            "--profile",
            metavar="NAME",
            help="What is wanted of the data: pretrain, sft, long-context, strict.",
        ),
    ):
        command = option(command)
    return command


def rule_options(command: F) -> F:
    """Add `--select` and `--ignore`."""
    for option in (
        click.option(
            "--ignore",
            multiple=True,
            metavar="CODE,...",
            help="Rules to leave out, besides the configuration's.",
        ),
        click.option(
            "--select",
            multiple=True,
            metavar="CODE,...",
            help="Rules to run, instead of the configuration's.",
        ),
    ):
        command = option(command)
    return command


def reference_options(command: F) -> F:
    """Add `--reference` and `--by`."""
    for option in (
        click.option(
            "--by",
            multiple=True,
            metavar="COLUMN,...",
            help="Metadata to compare shares by: domain, language, ... (repeatable).",
        ),
        click.option(
            "--reference",
            multiple=True,
            metavar="PATH",
            help="Unpacked samples that the packs were made from, or a summary that "
            "`packlint drift --save-summary` wrote (repeatable).",
        ),
    ):
        command = option(command)
    return command


def find_baseline(file: str | None, config_file: str | None) -> Baseline | None:
    """Return the baseline that was named, else the nearest from here up to the configuration's folder.

    Args:
        file: what `--baseline` says.
        config_file: what `--config` says; its folder is looked into after the working directory.

    Raises:
        ConfigError: the file cannot be read or is no baseline.
    """
    if file is not None:
        return read_baseline(Path(file))
    here = Path.cwd()
    found = Path(config_file).absolute() if config_file else find_config_file(here)
    folders = [here, *here.parents]
    if found and found.parent in folders:
        folders = folders[: folders.index(found.parent) + 1]
    elif found:
        folders = [here, found.parent]
    for folder in folders:
        if (folder / FILE_NAME).is_file():
            return read_baseline(folder / FILE_NAME)
    return None


def spec_options(command: F) -> F:
    """Add the shorthands for the `[spec]` table."""
    count = click.IntRange(min=1)
    for option in (
        click.option("--pad-id", type=int, metavar="ID", help="Id that fills packs."),
        click.option("--bos-id", type=int, metavar="ID", help="Id that begins a sample."),
        click.option(
            "--eos-id", type=int, multiple=True, metavar="ID", help="Id that ends a sample (repeatable)."
        ),
        click.option("--vocab-size", type=count, metavar="N", help="Number of token ids."),
        click.option("--max-seq-len", type=count, metavar="N", help="Slots per pack."),
    ):
        command = option(command)
    return command


def comma_list(values: Iterable[str]) -> tuple[str, ...]:
    """Return the items of repeated options that may each hold several, parted by commas."""
    items = (item.strip() for value in values for item in value.split(","))
    return tuple(item.upper() for item in items if item)


def named(values: Iterable[str]) -> tuple[str, ...]:
    """Return the items of repeated options as they were typed, each of which may hold several."""
    return tuple(item.strip() for value in values for item in value.split(",") if item.strip())


def run_config(
    config_file: str | None,
    *,
    profile: str | None = None,
    trainer: str | None = None,
    tokenizer: str | None = None,
    manifest: str | None = None,
    fail_on: str | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    reference: Iterable[str] = (),
    by: Iterable[str] = (),
    **spec: Any,
) -> RunConfig:
    """Return the configuration with what the command line says put over it."""
    config = read_config(Path(config_file)) if config_file else find_config(Path.cwd())
    if profile:
        config = replace(config, profile=profile, policy={}, source="the command line")
    if chosen := comma_list(select):
        config = replace(config, select=chosen, ignore=())
    ignored = tuple(Ignore(code, "on the command line") for code in comma_list(ignore))
    declared = spec_from(_spec_values(spec), Origin.CONFIG, "the command line")
    return replace(
        config,
        trainer=trainer or config.trainer,
        tokenizer=tokenizer or config.tokenizer,
        manifest=manifest or config.manifest,
        reference=tuple(reference) or config.reference,
        by=named(by) or config.by,
        fail_on=fail_on or config.fail_on,
        ignore=config.ignore + ignored,
        spec=declared.or_else(config.spec),
    )


def show_options(options: dict[str, Any]) -> str:
    """Return what of these options `packlint show` needs too, as typed, each after a space."""
    typed = {"--config": options.get("config_file"), "--trainer": options.get("trainer")}
    typed |= {"--profile": options.get("profile"), "--tokenizer": options.get("tokenizer")}
    typed |= {name: options.get(name[2:].replace("-", "_")) for name in _SPEC_NAMES}
    words: list[str] = []
    for name, value in typed.items():
        for one in value if isinstance(value, tuple) else (value,):
            words += [] if one is None else [name, str(one)]
    return f" {shlex.join(words)}" if words else ""


def _spec_values(options: dict[str, Any]) -> dict[str, Any]:
    values = dict(options)
    eos = values.pop("eos_id", ())
    return {**values, "eos_ids": list(eos) if eos else None}
