"""packlint: the linter for packed LLM training data.

    from packlint import check

    report = check({"input_ids": ..., "labels": ..., "seq_lens": ...}, trainer="torchtune")
    print(report.verdict, [finding.code for finding in report.findings])

Where things live:

    model/       packs, segments, targets in canonical form; numpy only
    finding      Finding, Severity, Location
    rule         all that a rule author imports
    trainers/    how each trainer reads a shard, as a table with sources
    readers/     one module or folder per format; foreign names end there
    engine/      batches and rules → results → report
    executors/   what maps the engine over shards
    manifest/    what is declared beside the shards
    matching/    packs against the unpacked samples that they were made from
    conventions  configuration and tokenizer, as conventions
    references   what packs are compared with: nothing, samples or a saved summary
    expectations/  Great Expectations over tables of packs and samples
    session      one run, from inputs and settings to a report
    baseline     what was found before, so that only new findings fail
    reporters/   one module per report format
    cli/         one module per command
    pytest_plugin  a fixture that fails a test with the report
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packlint.finding import Finding, Severity
    from packlint.report import Report
    from packlint.session import check

__all__ = ["Finding", "Report", "Severity", "__version__", "check"]

__version__ = "0.1.0"

_HOMES = {
    "Finding": "packlint.finding",
    "Report": "packlint.report",
    "Severity": "packlint.finding",
    "check": "packlint.session",
}


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that `packlint --version` stays fast."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
