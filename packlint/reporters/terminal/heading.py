"""The head of the report: verdict, numbers, inputs, profile."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from packlint.model.spec import Known
from packlint.report import InputReport, Report
from packlint.reporters.paper import Paper, Piece
from packlint.reporters.presentation import Presentation
from packlint.reporters.signs import SEVERITY_STYLES, count, percent, severity_sign
from packlint.reporters.verdict import below_limit, clean_words, counts_by_severity, known_words, where

__all__ = ["write_inputs", "write_numbers", "write_verdict"]

_NUMBER_COLUMN, _INPUT_COLUMN = 18, 9
_MAX_EVIDENCE = 110
_MAX_PATHS = 3


def write_verdict(paper: Paper, report: Report, presentation: Presentation) -> None:
    """Write one line that says it all."""
    if report.internal_errors:
        sign = (f"{paper.glyphs.error} ", SEVERITY_STYLES["error"])
        paper.line(sign, ("packlint itself failed", "bold red"), ": ", *_found(paper, report))
        return
    if not report.findings:
        paper.line((f"{paper.glyphs.clean} clean", "bold green"), f": {clean_words(report)}")
        return
    new = report.new_findings
    if not new:
        paper.line((f"{paper.glyphs.clean} ", "bold green"), *_found(paper, report))
        return
    worst = new[0].severity.value
    sign = (f"{severity_sign(worst, paper.glyphs)} ", SEVERITY_STYLES[worst])
    paper.line(sign, *_found(paper, report), below_limit(report, presentation.fail_on))


def _found(paper: Paper, report: Report) -> Iterator[Piece]:
    """Yield the words of `verdict.found_words`, with colour."""
    new = report.new_findings
    if not report.findings:
        yield "no findings, and the run is incomplete"
        return
    separator = ""
    for words, severity in counts_by_severity(new):
        yield separator
        yield (words, SEVERITY_STYLES[severity])
        separator = ", "
    yield where(report, new) if new else "nothing new"
    yield paper.show(known_words(report))


def write_numbers(paper: Paper, report: Report) -> None:
    """Write the five numbers that matter."""
    measures = report.measures
    units = {entry.unit for entry in report.inputs if entry.format != "unreadable"}
    are_packs = units <= {"pack"}
    rows = "packs" if are_packs else "rows"
    dot = paper.glyphs.dot
    paper.blank()
    n_rows, n_tokens = measures.get("n_packs", 0), measures.get("n_tokens", 0)
    lines = [(f"{rows} {dot} tokens", f"{n_rows:,} {dot} {n_tokens:,}")]
    if "samples_per_pack" in measures:
        word = "samples per pack" if are_packs else "samples per row"
        lines.append((word, f"{measures['samples_per_pack']:,.1f}"))
    if "padding_fraction" in measures:
        lines.append(("padding", f"{percent(measures['padding_fraction'])} of all tokens"))
    if "target_fraction" in measures:
        lines.append(("targets", f"{percent(measures['target_fraction'])} of tokens that are not padding"))
    if "mean_context_tokens" in measures:
        mean = measures["mean_context_tokens"]
        lines.append(("own context", f"a token sees {mean:,.0f} tokens of its own sample on average"))
    for name, value in lines:
        paper.hang((name, "dim"), value, indent=2, column=_NUMBER_COLUMN)


def write_inputs(paper: Paper, report: Report, presentation: Presentation) -> None:
    """Write what was read and how, one line for all shards that are alike, and the profile."""
    paper.blank()
    ordered = sorted(report.inputs, key=_kind)
    for (form, unit, trainer, source), members in groupby(ordered, key=_kind):
        shards = list(members)
        dot = f" {paper.glyphs.dot} "
        what = [count(len(shards), "shard"), paper.show(form)]
        if form != "unreadable":
            what += [f"rows are {unit}s"] if unit != "pack" else []
            what.append(_trainer(trainer, source))
        paper.hang(("input", "dim"), dot.join(what), indent=2, column=_INPUT_COLUMN)
        paper.hang("", (_paths(paper, shards, presentation), "dim"), indent=2, column=_INPUT_COLUMN)
        for line in _evidence(paper, shards, presentation):
            paper.hang("", (line, "dim"), indent=2, column=_INPUT_COLUMN)
    profile = report.profile
    how = f"inferred: {profile.why}" if profile.source == "inferred" else f"from {profile.why}"
    paper.hang(("profile", "dim"), paper.show(f"{profile.name}, {how}"), indent=2, column=_INPUT_COLUMN)
    if presentation.verbose:
        _spec(paper, report)
    elif report.spec:
        known = [f"{name} {_value(k)} ({k.origin})" for name, k in sorted(report.spec.items())]
        line = paper.show(f" {paper.glyphs.dot} ".join(known))
        paper.hang(("spec", "dim"), (line, "dim"), indent=2, column=_INPUT_COLUMN)


def _kind(entry: InputReport) -> tuple[str, str, str, str]:
    return (entry.format, entry.unit, entry.trainer, entry.trainer_source)


def _trainer(name: str, source: str) -> str:
    if not name:
        return "no trainer known: give --trainer NAME"
    return f"trainer {name}, as declared" if source == "config" else f"trainer {name}, from the format"


def _paths(paper: Paper, shards: list[InputReport], presentation: Presentation) -> str:
    names = [paper.show(shard.path) for shard in shards]
    if len(names) <= _MAX_PATHS or presentation.verbose:
        return ", ".join(names)
    return f"{names[0]} {paper.glyphs.ellipsis} {names[-1]}"


def _evidence(paper: Paper, shards: list[InputReport], presentation: Presentation) -> list[str]:
    """Return the reasons that hold for all of these shards; the first in short, unless verbose."""
    shared = [line for line in shards[0].evidence if all(line in shard.evidence for shard in shards)]
    if presentation.verbose:
        return [paper.show(line) for line in shared]
    short = [textwrap.shorten(line, _MAX_EVIDENCE, placeholder=" ...") for line in shared[:1]]
    return [paper.show(line).replace(" ...", paper.glyphs.ellipsis) for line in short]


def _value(known: Known[Any]) -> str:
    value = known.value
    if value is None:
        return "differs between shards"
    return (", ".join(map(str, value)) or "none") if isinstance(value, tuple) else str(value)


def _spec(paper: Paper, report: Report) -> None:
    lead: Piece = ("spec", "dim")
    for name, known in sorted(report.spec.items()):
        why = f", {known.why}" if known.why else ""
        line = paper.show(f"{name} = {_value(known)}  ({known.origin}{why})")
        paper.hang(lead, line, indent=2, column=_INPUT_COLUMN)
        lead = ""
