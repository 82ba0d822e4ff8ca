"""`--tables`, `--expectations` and `--data-docs`: what is made of the pack table and the sample table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from packlint.errors import UsageError

if TYPE_CHECKING:
    from packlint.expectations import TablesWanted

__all__ = ["table_options", "tables_wanted"]

F = TypeVar("F", bound=Callable[..., Any])


def table_options(command: F) -> F:
    """Add the three options."""
    for option in (
        click.option(
            "--data-docs",
            metavar="DIR",
            help="Build Great Expectations' own pages here; a browser needs the network to show them well.",
        ),
        click.option(
            "--expectations",
            metavar="SUITE",
            help="Suite of Great Expectations in JSON to hold both tables to; "
            "`packlint expectations` makes one.",
        ),
        click.option(
            "--tables",
            metavar="DIR",
            help="Write packs.parquet, a row per pack, and samples.parquet, a row per segment.",
        ),
    ):
        command = option(command)
    return command


def tables_wanted(tables: str | None, expectations: str | None, data_docs: str | None) -> TablesWanted | None:
    """Return what is to be made of the tables, or none; what cannot work is told before the scan.

    Raises:
        UsageError: options that make no sense, a folder that cannot be made, a suite that cannot be read.
    """
    if data_docs is not None and expectations is None:
        raise UsageError("--data-docs shows what became of a suite: give --expectations SUITE")
    if tables is None and expectations is None:
        return None
    from packlint.expectations import TablesWanted, load_suite

    return TablesWanted(
        suite=None if expectations is None else load_suite(Path(expectations)),
        folder=_folder("--tables", tables),
        data_docs=_folder("--data-docs", data_docs),
    )


def _folder(option: str, path: str | None) -> Path | None:
    if path is None:
        return None
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}") from None
    return Path(path)
