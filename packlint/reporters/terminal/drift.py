"""The comparison with a reference: what was kept, what of the mixture moved, and how far.

    the books          packed = reference - lost + …
    two sides          samples, tokens, targets
    by column          a pair of bars for each category
    lengths            two small histograms over one scale, and quantiles
    tokens             ids that moved most; special tokens per sample
    positions, context, weights, order

Every distance is a size, beside what chance alone would give. `drift_parts.py` draws what was measured of
samples, `drift_marks.py` has the bars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packlint.report import Report
from packlint.reporters.paper import Paper
from packlint.reporters.presentation import Presentation
from packlint.reporters.signs import count, percent
from packlint.reporters.terminal.drift_marks import SIDES, heading, short, table
from packlint.reporters.terminal.drift_parts import (
    draw_column,
    draw_context,
    draw_lengths,
    draw_positions,
    draw_tokens,
)

__all__ = ["draw_drift"]

_MAX_LOST, _MAX_VALUE = 5, 60
_LEAD = 18
_Table = Mapping[str, Any]


def draw_drift(paper: Paper, report: Report, presentation: Presentation) -> None:
    """Draw the comparison, if there is one."""
    drift = report.drift
    if not drift:
        return
    paper.blank()
    names = [paper.show(str(drift[side]["name"])) for side, _ in SIDES if drift.get(side)]
    paper.line(("Drift", "bold"), f": {names[1]} against {names[0]}" if len(names) == 2 else "")
    _books(paper, drift.get("conservation") or {})
    _sides(paper, drift)
    _lost(paper, report, drift.get("lost_samples") or ())
    for name, column in (drift.get("columns") or {}).items():
        draw_column(paper, report, name, column, presentation)
    draw_lengths(paper, report, drift.get("lengths") or {})
    draw_tokens(paper, report, drift.get("tokens") or {}, presentation)
    draw_positions(paper, report, drift.get("positions") or {})
    draw_context(paper, report, drift.get("context") or {})
    _weights(paper, report, drift.get("weights") or {})
    _order(paper, report, drift.get("order") or {})


def _books(paper: Paper, terms: _Table) -> None:
    """Write the equation in tokens, a term a line; those that are 0 are left out."""
    rows = []
    for name, number in terms.items():
        is_first, is_sum = name.startswith("reference"), name.startswith("packed")
        if not isinstance(number, int) or not (number or is_first or is_sum):
            continue
        is_less = name.startswith("lost") != (number < 0)
        sign = "=" if is_sum else " " if is_first else "-" if is_less else "+"
        rows.append((f"{sign} {name.replace('_', ' ')}", f"{abs(number):,}"))
    if rows:
        paper.blank()
        table(paper, rows, indent=2, n_heads=0)


_COUNTS = (
    ("n_samples", "samples"),
    ("n_segments", "segments"),
    ("n_tokens", "tokens"),
    ("n_targets", "targets"),
)


def _sides(paper: Paper, drift: _Table) -> None:
    sides = [drift.get(side) or {} for side, _ in SIDES]
    if not all(sides):
        return
    rows = [("", "reference", "packs", "change")]
    for key, words in _COUNTS:
        before, now = (side.get(key) for side in sides)
        if before is None and now is None:
            continue
        absent = "" if key == "n_segments" else "not stored"
        shown = [absent if n is None else f"{n:,}" for n in (before, now)]
        change = _change(now / before - 1) if before and now is not None else ""
        rows.append((words, shown[0], shown[1], change))
    paper.blank()
    table(paper, rows, indent=2)


def _change(by: float) -> str:
    """Return a change in per cent: a small one is not none."""
    return "0%" if by == 0 else f"{by:+.2%}" if abs(by) >= 0.00005 else f"{100 * by:+.1g}%"


def _lost(paper: Paper, report: Report, samples: Sequence[Any]) -> None:
    rows = [sample for sample in samples if isinstance(sample, Mapping)]
    if not rows:
        return
    paper.blank()
    paper.line(("Lost samples", "bold"), ", the longest first", indent=2)
    for row in rows[:_MAX_LOST]:
        parts = [
            f"{value:,} {name[2:]}"
            if name.startswith("n_") and isinstance(value, int)
            else f"{name.replace('_', ' ')} {short(paper, str(value), _MAX_VALUE)}"
            for name, value in row.items()
        ]
        paper.line(f" {paper.glyphs.dot} ".join(parts), indent=4)
    n_lost = sum(finding.n_hits for finding in report.findings if finding.code == "SMP001")
    if (rest := max(n_lost, len(rows)) - _MAX_LOST) > 0:  # the report lists the longest only
        paper.line((f"{paper.glyphs.ellipsis} and {rest:,} more", "dim"), indent=4)


def _weights(paper: Paper, report: Report, part: _Table) -> None:
    if not part:
        return
    heading(paper, report, "Weights in the loss", {"DRF005": ""})
    before, now = (percent(part[side]["effective_fraction"]) for side, _ in SIDES)
    words = f"samples weigh as {now} of their number would if all weighed the same; {before} in the reference"
    paper.hang(("mean over tokens", "dim"), words, indent=4, column=_LEAD)
    packs = part["packs"]
    words = (
        f"{percent(packs['moved_fraction'])} of the loss falls on other tokens than under a mean over tokens:"
        f" one weighs {packs['least']:.2g} to {packs['most']:.3g} times the mean"
    )
    if packs["n_without_targets"]:
        words += f"; {count(packs['n_without_targets'], 'pack')} without a target"
    paper.hang(("mean over packs", "dim"), words, indent=4, column=_LEAD)


def _order(paper: Paper, report: Report, part: _Table) -> None:
    """Say how much alike neighbours and shards are: 0 where packs are shuffled, 1 where they are sorted."""
    groups: dict[str, list[str]] = {}
    for name, value in part.items():
        what, is_effect, group = name.partition(" alike in ")
        if is_effect and isinstance(value, int | float):
            groups.setdefault(group, []).append(f"{what} {value:.2f}")
    if groups:
        heading(paper, report, "Order", {"ORD001": "", "ORD002": "", "ORD003": "", "ORD004": ""})
        paper.line(("how much alike they are: 0 shuffled, 1 sorted", "dim"), indent=2)
        for group, effects in groups.items():
            paper.hang(
                (group, "dim"), paper.show(f" {paper.glyphs.dot} ".join(effects)), indent=4, column=_LEAD
            )
