"""`packlint demo`: a faulty data set, its report, and what to do next."""

from __future__ import annotations

import shlex
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import rich_click as click

from packlint.cli.screen import color_option, paper_for, write
from packlint.errors import UsageError

__all__ = ["command"]


@click.command("demo")
@click.option(
    "--keep", type=click.Path(file_okay=False), metavar="DIR", help="Write the data set here and keep it."
)
@color_option
def command(keep: str | None, color: str) -> None:
    """Write a small packed data set with planted faults, check it, and say what to do next."""
    if keep is not None:
        folder = Path(keep)
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"--keep {keep}: the folder is not empty")
        folder.mkdir(parents=True, exist_ok=True)
        _run(folder, color, is_kept=True)
        return
    with TemporaryDirectory(prefix="packlint-demo-") as temporary:
        _run(Path(temporary), color, is_kept=False)


def _run(folder: Path, color: str, *, is_kept: bool) -> None:
    from packlint.cli.check import present, scan
    from packlint.cli.demo_data import write_demo
    from packlint.cli.options import run_config, show_options
    from packlint.reporters import render

    write_demo(folder)
    tokenizer = str(folder / "tokenizer") if find_spec("tokenizers") else None
    _introduce(folder, tokenizer, color)
    config = run_config(str(folder / "packlint.toml"), profile="sft", tokenizer=tokenizer)
    paths = [str(folder / name) for name in ("trl", "llama-factory")]
    report = scan(paths, config, jobs=1, quiet=True, color=color)
    shown = present(report, config, color, paths)
    options = {"config_file": str(folder / "packlint.toml"), "tokenizer": tokenizer}
    shown = replace(shown, show_options=show_options(options), paths=shown.paths if is_kept else {})
    write(render("terminal", report, shown))
    _conclude(folder, report.exit_code, color, is_kept=is_kept)


def _introduce(folder: Path, tokenizer: str | None, color: str) -> None:
    from packlint.cli.demo_data import SHARDS

    paper = paper_for(color)
    paper.line(("packlint demo", "bold"), ": a small packed data set with faults planted on purpose")
    paper.blank()
    column = max(len(shard.name) for shard in SHARDS) + 2
    for shard in SHARDS:
        paper.hang((shard.name, "cyan"), shard.says, indent=2, column=column)
    paper.blank()
    inside = shlex.quote(str(folder))
    paper.unbroken(("$ ", "dim"), f"cd {inside}")
    options = " --tokenizer tokenizer" if tokenizer else ""
    paper.unbroken(("$ ", "dim"), f"packlint check trl llama-factory --profile sft{options}")
    write(paper.text() + "\n")


def _conclude(folder: Path, exit_code: int, color: str, *, is_kept: bool) -> None:
    paper = paper_for(color)
    paper.line(
        f"`packlint check` would have exited with {exit_code}: a CI job stops here. The demo exits with 0."
    )
    if is_kept:
        paper.line(f"The data set is in {paper.show(str(folder))}; mend a shard and check it again.")
    else:
        paper.line("The data set is gone again; `packlint demo --keep DIR` leaves it for `packlint show`.")
    paper.line("Then try it on your own data: packlint check PATH")
    write("\n" + paper.text())
