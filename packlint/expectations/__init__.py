"""Great Expectations over the two metric tables; nothing outside imports `great_expectations` or pandas.

    wanted = TablesWanted(suite=load_suite(path), folder=None, data_docs=None)
    wanted.begin()                                  # starts the import, in a thread, while shards are scanned
    findings = wanted.finish(rows, shard_names)     # writes tables, validates, returns EXP001 findings

tables.py      the tables as Parquet and as frames
suite.py       a suite in JSON, checked as far as that goes without the package
gx.py          the package itself: loaded on demand, quiet, offline
validate.py    suite and tables → failed expectations
findings.py    failed expectation → finding
data_docs.py   pages of Great Expectations' own
profile.py     tables → a suite that they pass
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packlint.expectations.gx import preload, require
from packlint.expectations.suite import Suite, load_suite
from packlint.finding import Finding
from packlint.summaries.tables import TableRows

__all__ = ["Suite", "TablesWanted", "judge_expectations", "load_suite", "preload"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesWanted:
    """Say what is to be made of the tables of a run.

    Args:
        suite: what is expected of them, or none.
        folder: where they are written as Parquet, or none.
        data_docs: where Data Docs are built, or none.
    """

    suite: Suite | None = None
    folder: Path | None = None
    data_docs: Path | None = None

    def begin(self) -> None:
        """Start what takes long; call it when the scan begins.

        Raises:
            UsageError: Great Expectations is needed and not installed.
        """
        if self.suite is not None:
            require()
            preload()

    def by(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of metadata to read: those named already, and what the suite asks for."""
        asked = () if self.suite is None else self.suite.metadata
        return tuple(dict.fromkeys((*names, *asked)))

    def finish(self, rows: TableRows, shards: Sequence[str]) -> tuple[Finding, ...]:
        """Write the tables, validate the suite, and return what failed.

        Args:
            rows: what the scan collected.
            shards: name of each shard, by its index.

        Raises:
            UsageError: a folder cannot be written to, or an expectation cannot be judged.
        """
        if self.folder is not None:
            from packlint.expectations.tables import write_tables

            write_tables(rows.tables(shards), self.folder)
        if self.suite is None:
            return ()
        return judge_expectations(rows, self.suite, shards, data_docs=self.data_docs)


def judge_expectations(
    rows: TableRows, suite: Suite, shards: Sequence[str], *, data_docs: Path | None = None
) -> tuple[Finding, ...]:
    """Return one finding per failed expectation, in the order of the suite.

    Args:
        rows: what the scan collected.
        suite: what is expected.
        shards: name of each shard, by its index.
        data_docs: folder for Data Docs, or none.

    Raises:
        UsageError: an expectation cannot be judged; see `validate.validate`.
    """
    from packlint.expectations.findings import to_finding
    from packlint.expectations.validate import validate

    return tuple(to_finding(failed) for failed in validate(rows.tables(shards), suite, data_docs))
