"""What was measured of samples on both sides: categories, lengths, tokens, positions, contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packlint.report import Report
from packlint.reporters.paper import Paper
from packlint.reporters.presentation import Presentation
from packlint.reporters.signs import count, percent
from packlint.reporters.terminal.drift_marks import (
    SIDES,
    bar,
    beside_chance,
    figure,
    fine_percent,
    heading,
    points,
    profiles,
    short,
    table,
    tokens_scale,
)

__all__ = ["draw_column", "draw_context", "draw_lengths", "draw_positions", "draw_tokens"]

_WEIGHTINGS = ("tokens", "samples", "targets")
_MAX_CATEGORIES, _MAX_MOVERS, _MAX_CONTEXTS = 10, 8, 6
_MAX_NAME, _MAX_TEXT, _MIN_BAR, _MAX_BAR = 22, 24, 8, 40
_NUMBER, _SIDE = 8, 10
_Table = Mapping[str, Any]


def draw_column(paper: Paper, report: Report, name: str, column: _Table, presentation: Presentation) -> None:
    """Draw a pair of bars of the shares of tokens for each category, with the other shares beside them."""
    weightings = [w for w in _WEIGHTINGS if column["reference"][w] and column["packed"][w]]
    if not weightings:
        return
    facts = [beside_chance(column["distances"], "js", w) for w in weightings]
    facts[0] = f"Jensen-Shannon {facts[0]}"
    unknown = 1 - min(column[side]["known_fraction"] for side, _ in SIDES)
    if unknown > 0:
        facts.append(f"not known of {percent(unknown)} of samples")
    rules = {"DRF001": f"{name}_js", "DRF004": f"{name}_gone"}
    heading(paper, report, f"Shares by {paper.show(name)}", rules, facts)
    _bars(paper, column, weightings, presentation)


def _bars(paper: Paper, column: _Table, weightings: list[str], presentation: Presentation) -> None:
    most = min(_MAX_NAME, paper.width // 4 - 1)
    categories = [short(paper, str(category), most) for category in column["categories"]]
    label = max(map(len, categories)) + 2
    room = paper.width - 4 - label - _SIDE - _NUMBER
    while len(weightings) > 1 and room - _NUMBER * len(weightings) < _MIN_BAR:
        weightings.pop()
    width = min(max(room - _NUMBER * len(weightings), _MIN_BAR), _MAX_BAR)
    heads = "".join(words.rjust(_NUMBER) for words in (*weightings, "points"))
    paper.unbroken((" " * (label + _SIDE + width) + heads, "dim"), indent=4)
    shown = _movers(column, weightings[0], len(categories) if presentation.verbose else _MAX_CATEGORIES)
    largest = max(max(column[side][weightings[0]]) for side, _ in SIDES)
    for place in shown:
        before, now = ([column[side][w][place] for w in weightings] for side, _ in SIDES)
        for lead, words, shares in ((categories[place], "reference", before), ("", "packs", now)):
            numbers = "".join(percent(share).rjust(_NUMBER) for share in shares)
            drawn = bar(paper, shares[0], largest, width)
            line = f"{lead.ljust(label)}{words.ljust(_SIDE)}{drawn}{numbers}"
            if shares is now:
                paper.unbroken(line + points(now[0] - before[0]).rjust(_NUMBER), indent=4)
            else:
                paper.unbroken((line, "dim"), indent=4)
    if (rest := max(column["n_categories"], len(categories)) - len(shown)) > 0:
        words = f"{paper.glyphs.ellipsis} and {count(rest, 'more value')} that moved less"
        paper.line((words, "dim"), indent=4)


def _movers(column: _Table, weighting: str, most: int) -> list[int]:
    """Return the places of the categories that moved most, in the order of the table."""
    pairs = list(zip(column["reference"][weighting], column["packed"][weighting], strict=True))
    order = sorted(range(len(pairs)), key=lambda i: (-abs(pairs[i][1] - pairs[i][0]), i))
    return sorted(order[:most])


def draw_lengths(paper: Paper, report: Report, part: _Table) -> None:
    """Draw both distributions, and their quantiles."""
    if not part:
        return
    distances = part["distances"]
    move, relative = (distances[f"{n}_by_samples"] for n in ("wasserstein", "wasserstein_relative"))
    facts = [beside_chance(distances, "psi", w) for w in _WEIGHTINGS if f"psi_by_{w}" in distances]
    facts[0] = f"stability index {facts[0]}"
    facts.insert(0, f"moved by {figure(move)} tokens, {relative:.2g} deviations")
    heading(paper, report, "Lengths of samples in tokens", {"DRF002": ""}, facts)
    profiles(
        paper, part["edges"], {"samples": part, **({"tokens": part["tokens"]} if part["tokens"] else {})}
    )
    rows = [["", "mean", *(f"{100 * q['fraction']:g}%" for q in part["quantiles"])]]
    for side, words in SIDES:
        rows.append([words, f"{part['means'][side]:,.0f}", *(f"{q[side]:,}" for q in part["quantiles"])])
    paper.blank()
    table(paper, rows, indent=4)


def draw_tokens(paper: Paper, report: Report, part: _Table, presentation: Presentation) -> None:
    """Write the ids that moved most, and how many special tokens there are per sample."""
    if not part:
        return
    distances = part["distances"]
    facts = [f"Jensen-Shannon {distances['js']:.2g} between the ids of both sides"]
    if distances["js_within"]:
        facts.append(f"{distances['js_within']:.2g} within a side")
    heading(paper, report, "Tokens", {"DRF003": ""}, facts)
    movers = part["movers"] if presentation.verbose else part["movers"][:_MAX_MOVERS]
    rows = [["id", "reference", "packs", "points", ""]]
    for mover in movers:
        change = points(mover["packed"] - mover["reference"])
        shares = [fine_percent(mover[side]) for side, _ in SIDES]
        rows.append([str(mover["id"]), *shares, change, _spelled(paper, mover, presentation)])
    if movers:
        table(paper, rows, indent=4, n_text=1)
    rows = [["special token", "reference", "packs", "", ""]]
    for special in part["specials"]:
        rates = [f"{special[side]:.4g}" for side, _ in SIDES]
        lead = f"{special['id']} {'/'.join(special['purposes'])}"
        rows.append([lead, *rates, "per sample", _spelled(paper, special, presentation)])
    if part["specials"]:
        paper.blank()
        table(paper, rows, indent=4, n_text=2)


def _spelled(paper: Paper, entry: _Table, presentation: Presentation) -> str:
    """Return the text of an id in quotes, or nothing without a tokenizer."""
    text = str(entry["text"])
    if not text and presentation.decode is not None:
        text = presentation.decode((entry["id"],))
    if not text:
        return ""
    return f'"{short(paper, text, _MAX_TEXT)}"'


def draw_positions(paper: Paper, report: Report, part: _Table) -> None:
    """Draw where in their samples tokens and targets sit."""
    if not part:
        return
    pairs = {"tokens": part, **({"targets": part["targets"]} if part["targets"] else {})}
    facts = [beside_chance(part["distances"], "js", what) for what in pairs]
    facts[0] = f"Jensen-Shannon {facts[0]}"
    heading(paper, report, "Positions in samples", {"DRF006": ""}, facts)
    profiles(paper, part["edges"], pairs)


def draw_context(paper: Paper, report: Report, part: _Table) -> None:
    """Write what part of the tokens sees at least so many tokens of its own sample."""
    if not part:
        return
    heading(paper, report, "Tokens that see at least so many tokens of their own sample", {})
    pairs = list(zip(*(part[side] for side, _ in SIDES), strict=True))
    seen = [place for place, pair in enumerate(pairs) if max(pair) > 0.0005]
    places = seen[:: -max(1, -(-len(seen) // _MAX_CONTEXTS))][::-1]
    rows = [["", "mean", *(tokens_scale(part["lengths"][i]) for i in places)]]
    for side, words in SIDES:
        rows.append([words, f"{part['means'][side]:,.0f}", *(percent(part[side][i]) for i in places)])
    table(paper, rows, indent=4)
