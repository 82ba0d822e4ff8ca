"""What was measured: the make-up of the slots, the figures of the data set, and the numbers of each rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from packlint.report import Report
from packlint.reporters.html.axes import finite
from packlint.reporters.html.charts import Chart, Series, curve, stacked
from packlint.reporters.html.groups import figure
from packlint.reporters.html.meter import meter
from packlint.reporters.signs import percent

__all__ = ["Measures", "make_measures"]

_WORDS = {
    "n_packs": "packs",
    "n_segments": "segments",
    "n_tokens": "slots, padding included",
    "n_padding": "slots of padding",
    "n_targets": "targets",
    "padding_fraction": "padding, of all slots",
    "samples_per_pack": "samples per pack",
    "tokens_per_sample": "tokens per sample",
    "target_fraction": "targets, of tokens that are not padding",
    "mean_context_tokens": "own tokens that a token sees, on average",
}
_MORE_WORDS = {
    "gap_fraction": "packs above the lower bound",
    "block_density": "block density of the attention mask",
    "work_factor": "attention computed in blocks, over what samples need",
    "work_idle_fraction": "attention work waited for",
    "effective_context_tokens": "effective context, tokens",
    "long_context_fraction": "tokens with the promised context",
    "longest_sample_tokens": "longest sample, tokens",
}
_CONTEXT = re.compile(r"tokens_with_context_(\d+)_fraction")
_ALL_WORDS = _WORDS | _MORE_WORDS
_MIN_POINTS, _MAX_RULES = 2, 80


@dataclass(frozen=True, slots=True)
class Measures:
    """Hold what the section shows.

    Args:
        makeup: what the slots are, as a chart; none where nothing was counted.
        context: how much context of their own sample tokens have, as a curve; none where nobody measured it.
        rows: name, value, bar or nothing, and where it comes from.
        rules: code and measured numbers of each rule.
    """

    makeup: Markup | None
    context: Markup | None
    rows: tuple[tuple[str, str, Markup | None, str], ...]
    rules: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]


def make_measures(report: Report) -> Measures:
    """Return the measures of a report."""
    rows = [
        _row(_ALL_WORDS.get(name, name.replace("_", " ")), name, value, "")
        for name, value in _ordered(report)
    ]
    seen = set()
    for finding in report.findings:
        for name, words in _MORE_WORDS.items():
            is_new = name not in report.measures and (finding.code, name) not in seen
            if name in finding.measured and not finding.shard and is_new:
                seen.add((finding.code, name))
                rows.append(_row(words, name, finding.measured[name], finding.code))
    rules = [
        (
            rule.code,
            rule.name,
            tuple((n.replace("_", " "), figure(v)) for n, v in sorted(rule.measured.items())),
        )
        for rule in report.rules
        if rule.measured
    ]
    return Measures(
        _makeup(report.measures), _context(report.measures), tuple(rows), tuple(rules[:_MAX_RULES])
    )


def _ordered(report: Report) -> list[tuple[str, int | float]]:
    known = [(name, report.measures[name]) for name in _ALL_WORDS if name in report.measures]
    others = sorted((n, v) for n, v in report.measures.items() if n not in _ALL_WORDS)
    return known + [(name, value) for name, value in others if not _CONTEXT.fullmatch(name)]


def _row(words: str, name: str, value: int | float | str, source: str) -> tuple[str, str, Markup | None, str]:
    if name.endswith(("_fraction", "density")) and isinstance(value, int | float):
        return words, percent(finite(value)), meter(finite(value)), source
    return words, figure(value), None, source


def _context(measures: Mapping[str, int | float]) -> Markup | None:
    """Return the share of tokens that have each context: the rows promise one, the samples give another."""
    found = {int(name[1]): n for key, n in measures.items() if (name := _CONTEXT.fullmatch(key))}
    if len(found) < _MIN_POINTS:
        return None
    lengths = sorted(found)
    says = "Share of tokens that see at least so many tokens of their own sample."
    series = [Series("tokens", [finite(found[length]) for length in lengths])]
    return curve(Chart("own-context", "Effective context", says), lengths, series, is_log=True)


def _makeup(measures: Mapping[str, int | float]) -> Markup | None:
    slots, padding = measures.get("n_tokens", 0), measures.get("n_padding", 0)
    if not slots:
        return None
    targets = min(measures.get("n_targets", 0), slots - padding)
    parts = ("targets", "other tokens", "padding")
    values = (targets / slots, (slots - padding - targets) / slots, padding / slots)
    chart = Chart("makeup", "What the slots hold", "Share of all slots, padding included.")
    return stacked(chart, parts, [Series("all shards", values)])
