"""The drift section: the packed data against their reference, as far as `report.drift` has it.

Every part is left out where its key is missing, so that a report of only some of them is shown as well.
`drift_charts.py` draws, `distances.py` writes how far both sides are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from packlint.report import Report, RuleStatus
from packlint.reporters.html import drift_charts as charts
from packlint.reporters.html.axes import finite
from packlint.reporters.html.distances import distance_table
from packlint.reporters.html.groups import figure
from packlint.reporters.html.meter import seesaw
from packlint.reporters.html.plain import Facts, plain, plain_facts, rows_of, table_of
from packlint.reporters.signs import percent

__all__ = ["Drift", "Mark", "Mover", "Part", "make_drift"]

_MAX_COLUMNS, _MAX_LOST, _MAX_MOVERS, _MAX_SPECIALS = 12, 40, 20, 20
_MINUS = "\N{MINUS SIGN}"
_COUNTS = (
    ("n_samples", "samples"),
    ("n_segments", "segments"),
    ("n_tokens", "tokens"),
    ("n_targets", "targets"),
)
Decode = Callable[[tuple[int, ...]], str]


@dataclass(frozen=True, slots=True)
class Mark:
    """Say what a rule found about a part: severity, or `clean`, and code and name of the rule."""

    kind: str
    code: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Show one part: its title, what rules say of it, drawings, and numbers."""

    title: str
    marks: tuple[Mark, ...]
    drawn: tuple[Markup, ...]
    facts: Facts = ()


@dataclass(frozen=True, slots=True)
class Mover:
    """Show one token whose share moved."""

    id: str
    text: str
    reference: str
    packed: str
    change: str
    bar: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Hold what the section shows; whatever is unknown is empty.

    Args:
        names: name of each side.
        sides: counts: what is counted, in the reference, in the packs, and the change.
        conservation: terms of the equation: sign, name and number.
        lost_head: names of the columns of `lost`.
        lost: lost samples.
        n_lost_left: lost samples that are only counted.
        marks: what rules say of the samples.
        parts: charts and numbers.
        movers: tokens whose share moved most.
        specials: special tokens per sample: id, what it is for, text, and its rate on both sides.
        tokens: what else is known of the tokens.
    """

    names: tuple[tuple[str, str], ...] = ()
    sides: tuple[tuple[str, str, str, str], ...] = ()
    conservation: tuple[tuple[str, str, str], ...] = ()
    lost_head: tuple[str, ...] = ()
    lost: tuple[tuple[str, ...], ...] = ()
    n_lost_left: int = 0
    marks: tuple[Mark, ...] = ()
    parts: tuple[Part, ...] = ()
    movers: tuple[Mover, ...] = ()
    specials: tuple[tuple[str, ...], ...] = ()
    tokens: Part = field(default_factory=lambda: Part("Tokens", (), ()))


def make_drift(
    drift: Mapping[str, Any], report: Report | None = None, decode: Decode | None = None
) -> Drift | None:
    """Return the section, or none where nothing was compared.

    Args:
        drift: what was compared.
        report: what the rules say of it.
        decode: ids to text.
    """
    if not drift:
        return None
    lost = rows_of(drift, "lost_samples")
    head = tuple(dict.fromkeys(str(key) for row in lost for key in row))
    tokens = table_of(drift, "tokens")
    sides = [table_of(drift, side) for side in charts.SIDES]
    return Drift(
        names=tuple(
            (side, str(one["name"])) for side, one in zip(charts.SIDES, sides, strict=True) if one.get("name")
        ),
        sides=tuple(_sides(*sides)),
        conservation=tuple(_equation(table_of(drift, "conservation"))),
        lost_head=head,
        lost=tuple(tuple(plain(row.get(key, "")) for key in head) for row in lost[:_MAX_LOST]),
        n_lost_left=max(0, len(lost) - _MAX_LOST),
        marks=_marks(report, dict.fromkeys((f"SMP{i:03d}" for i in (1, 2, 3, 4, 5, 8)), "")),
        parts=tuple(part for part in _parts(drift, report) if part.drawn or part.facts),
        movers=tuple(_movers(rows_of(tokens, "movers")[:_MAX_MOVERS], decode)),
        specials=tuple(_specials(rows_of(tokens, "specials")[:_MAX_SPECIALS], decode)),
        tokens=_part("Tokens", report, {"DRF003": ""}, tokens),
    )


def _parts(drift: Mapping[str, Any], report: Report | None) -> Iterator[Part]:
    columns = table_of(drift, "columns")
    for i, name in enumerate(list(columns)[:_MAX_COLUMNS]):
        column, rules = table_of(columns, name), {"DRF001": f"{name}_js", "DRF004": f"{name}_gone"}
        yield _part(
            f"Shares by {name}", report, rules, column, charts.column_chart(f"column-{i}", str(name), column)
        )
    part = table_of(drift, "lengths")
    drawn = charts.distributions("lengths", "Lengths of samples", part, "samples")
    yield _part("Lengths of samples", report, {"DRF002": ""}, part, *drawn, charts.quantile_table(part))
    part = table_of(drift, "positions")
    drawn = charts.distributions("positions", "Positions in samples", part, "tokens")
    yield _part("Positions in samples", report, {"DRF006": ""}, part, *drawn)
    part = table_of(drift, "context")
    facts = tuple(
        (f"mean, {side}", f"{finite(n):,.0f} tokens") for side, n in table_of(part, "means").items()
    )
    yield _part("Effective context", report, {}, part, charts.context_chart(part), facts=facts)
    yield _weights(table_of(drift, "weights"), columns, report)
    part = table_of(drift, "order")
    facts = plain_facts({k: v for k, v in part.items() if not isinstance(v, list | tuple)})
    rules = dict.fromkeys(("ORD001", "ORD002", "ORD003", "ORD004"), "")
    yield _part("Order", report, rules, part, *charts.order_charts(part), facts=facts)


def _part(
    title: str,
    report: Report | None,
    rules: Mapping[str, str],
    part: Mapping[str, Any],
    *drawn: Markup | None,
    facts: Facts = (),
) -> Part:
    """Return a part with its drawings, and behind them how far both sides are apart."""
    distances = distance_table(table_of(part, "distances"), title)
    shown = tuple(one for one in (*drawn, distances) if one is not None)
    return Part(title, _marks(report, rules) if part else (), shown, facts)


def _marks(report: Report | None, rules: Mapping[str, str]) -> tuple[Mark, ...]:
    """Return what rules found; a rule may have to have measured something for it to be about this part."""
    if report is None:
        return ()
    found = [
        Mark(f.severity.value, f.code, f.name)
        for f in report.findings
        if f.code in rules and (not rules[f.code] or rules[f.code] in f.measured)
    ]
    looked = {r.code for r in report.rules if r.status in (RuleStatus.CLEAN, RuleStatus.FOUND)}
    if not found and looked & rules.keys():
        found = [Mark("clean")]
    return tuple(dict.fromkeys(found))


def _weights(part: Mapping[str, Any], columns: Mapping[str, Any], report: Report | None) -> Part:
    names = [str(name) for name in table_of(part, "columns")][:_MAX_COLUMNS]
    drawn = [
        charts.weight_chart(
            f"weight-{i}", name, table_of(table_of(part, "columns"), name), table_of(columns, name)
        )
        for i, name in enumerate(names)
    ]
    packs = table_of(part, "packs")
    facts = [
        (
            f"samples that weigh, {side}",
            f"{percent(finite(table_of(part, side).get('effective_fraction')))} of them",
        )
        for side in charts.SIDES
        if table_of(part, side)
    ]
    if packs:
        low, high = (finite(packs.get(key)) for key in ("least", "most"))
        facts.append(
            ("loss that lies elsewhere under a mean over packs", percent(finite(packs.get("moved_fraction"))))
        )
        facts.append(("weight of a token then, times the mean", f"{low:.3g} to {high:.3g}"))
        facts.append(("packs without a target", plain(packs.get("n_without_targets", 0))))
    return _part("Weights in the loss", report, {"DRF005": ""}, part, *drawn, facts=tuple(facts))


def _sides(reference: Mapping[str, Any], packed: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for key, words in _COUNTS:
        before, now = reference.get(key), packed.get(key)
        if not all(n is None or isinstance(n, int) for n in (before, now)) or before is now is None:
            continue
        absent = "" if key == "n_segments" else "not stored"
        shown = [absent if n is None else f"{n:,}" for n in (before, now)]
        yield words, shown[0], shown[1], f"{now / before - 1:+.2%}" if before and now is not None else ""


def _equation(terms: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield packed = reference - lost + …, with the signs that the names carry; nothing of what is 0."""
    numbers = {name: value for name, value in terms.items() if isinstance(value, int | float)}
    left = [name for name in numbers if name.startswith("packed")]
    is_source = ("unpacked", "reference")
    right = sorted((n for n in numbers if n not in left), key=lambda n: not n.startswith(is_source))
    right = [name for name in right if numbers[name] or name.startswith(is_source)]
    for i, name in enumerate(left + right):
        is_less = name.startswith(("lost", "dropped", "truncated", "cut", "missing"))
        sign = "" if i == 0 else "=" if i == len(left) else _MINUS if is_less else "+"
        yield sign, name.replace("_", " "), figure(numbers[name])


def _movers(movers: Sequence[Mapping[str, Any]], decode: Decode | None) -> Iterator[Mover]:
    changes = [finite(m.get("packed")) - finite(m.get("reference")) for m in movers]
    most = max(map(abs, changes), default=0.0)
    for mover, change in zip(movers, changes, strict=True):
        yield Mover(
            id=str(mover.get("id", "")),
            text=_text(mover, decode),
            reference=charts.fine(finite(mover.get("reference"))),
            packed=charts.fine(finite(mover.get("packed"))),
            change=charts.share_points(change),
            bar=seesaw(change, most),
        )


def _specials(specials: Sequence[Mapping[str, Any]], decode: Decode | None) -> Iterator[tuple[str, ...]]:
    for special in specials:
        purposes = special.get("purposes")
        words = ", ".join(map(str, purposes)) if isinstance(purposes, list | tuple) else ""
        rates = [f"{finite(special.get(side)):.4g}" for side in charts.SIDES]
        yield str(special.get("id", "")), _text(special, decode), words, *rates


def _text(entry: Mapping[str, Any], decode: Decode | None) -> str:
    """Return the text of an id in quotes, or nothing without a tokenizer."""
    text, number = str(entry.get("text") or ""), entry.get("id")
    if not text and decode is not None and isinstance(number, int) and not isinstance(number, bool):
        text = decode((number,))
    return f'"{text}"' if text else ""
