"""`packlint manifest PATH…`: write down what the shards are, from measured data."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from packlint.cli.options import run_config, settings_options, spec_options
from packlint.cli.screen import write
from packlint.errors import UsageError

if TYPE_CHECKING:
    from packlint.readers.discover import Candidate

__all__ = ["command"]

_WAYS = {
    "tokenizer": "--tokenizer",
    "max_seq_len": "--max-seq-len",
    "boundary_tokens": "--eos-id or --bos-id",
    "packing_algorithm": "--packing-algorithm",
    "cross_document_attention": "--trainer, and --max-seq-len for a stream",
    "attention_mask_type": "--trainer, and --max-seq-len for a stream",
    "loss_mask_rule": "--profile",
    "padding_fraction": "--pad-id",
    "samples_per_pack": "--max-seq-len for a stream",
    "distribution_change": "--distribution-change",
}


@click.command("manifest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@settings_options
@click.option(
    "--packing-algorithm",
    metavar="TEXT",
    help="How samples were packed: name, version, whether they are cut.",
)
@click.option(
    "--distribution-change",
    metavar="TEXT",
    help="How packing changed the shares of domains or languages; 'none' if every sample is packed once.",
)
@spec_options
@click.option(
    "--output",
    "output",
    metavar="FILE",
    help="Where to write; - is standard output.  [default: packlint-manifest.json in the shards' folder]",
)
def command(
    paths: tuple[str, ...],
    packing_algorithm: str | None,
    distribution_change: str | None,
    output: str | None,
    **settings: Any,
) -> int:
    """Write a manifest of packed shards: what was measured, and what you say of them.

    What only you can know is taken from the options, or kept from the manifest that is there already.
    """
    from packlint.readers.discover import discover

    config = run_config(settings.pop("config_file"), **settings)
    candidates = discover(paths)
    target, base = _target(output, paths, candidates)
    told = _kept(target) | _told(config.tokenizer, packing_algorithm, distribution_change)
    table = _measure(paths, candidates, base, config, told)
    text = json.dumps(table, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if target is None:
        write(text)
        return 0
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {target}: {error.strerror}") from None
    _say(target, table)
    return 0


def _target(
    output: str | None, paths: Sequence[str], candidates: Sequence[Candidate]
) -> tuple[Path | None, tuple[str, ...]]:
    """Return the file to write, or none for standard output, and the folder that shards are named from."""
    from packlint.manifest.table import FILE_NAME

    folders = [candidate.source.parent for candidate in candidates]
    common = _common([folder.parts for folder in folders])
    if output == "-":
        return None, common
    if output is not None:
        target = Path(output)
        above = target.absolute().parent.parts[1:]
        return target, above if common[: len(above)] == above else common
    if len(paths) == 1 and Path(paths[0]).is_dir():
        folder = Path(os.path.abspath(paths[0]))
        return folder / FILE_NAME, folder.parts[1:]
    if any(folder.is_remote for folder in folders):
        raise UsageError("the shards are remote: give --output FILE")
    return Path(folders[0].path.absolute().anchor, *common, FILE_NAME), common


def _common(places: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the folders that all places share, from the top down."""
    shared = places[0]
    for parts in places:
        n_same = next(
            (i for i, pair in enumerate(zip(shared, parts, strict=False)) if pair[0] != pair[1]), None
        )
        shared = shared[: min(len(shared), len(parts)) if n_same is None else n_same]
    return shared


def _told(tokenizer: str | None, algorithm: str | None, change: str | None) -> dict[str, str]:
    from packlint.manifest.table import tokenizer_version

    told = {"packing_algorithm": algorithm, "distribution_change": change}
    told["tokenizer"] = None if tokenizer is None else tokenizer_version(tokenizer)
    return {name: value for name, value in told.items() if value is not None}


def _kept(target: Path | None) -> dict[str, str]:
    """Return what the manifest at the same place says that no shard shows."""
    from packlint.manifest.measure import UNMEASURED
    from packlint.manifest.table import read_manifest
    from packlint.readers.source import Source

    if target is None or not target.exists():
        return {}
    fields = read_manifest(Source(str(target))).fields
    return {name: fields[name] for name in UNMEASURED if name in fields}


def _measure(
    paths: Sequence[str],
    candidates: Sequence[Candidate],
    base: tuple[str, ...],
    config: Any,
    told: Mapping[str, str],
) -> dict[str, Any]:
    from packlint import __version__
    from packlint.manifest.lookup import find_places
    from packlint.manifest.measure import measure_manifest
    from packlint.session import plan_paths

    plan = plan_paths(paths, config)
    places = find_places([entry.shard.name for entry in plan.shards], candidates)
    listed = {name: "/".join(parts[len(base) :]) for name, (_, parts) in places.items()}
    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return measure_manifest(plan, told=told, paths=listed, version=__version__, jobs=jobs)


def _say(target: Path, table: Mapping[str, Any]) -> None:
    """Say what was written and what is still open, on standard error."""
    from packlint.model.manifest import FIELDS

    n_shards = len(table["shards"])
    shards = "1 shard" if n_shards == 1 else f"{n_shards:,} shards"
    print(f"packlint: wrote {target.name} for {shards}", file=sys.stderr)
    for name, words in FIELDS.items():
        if table[name] is None:
            print(f"packlint: undeclared: {words} (give {_WAYS[name]})", file=sys.stderr)
