"""What failed expectations say in a report: a finding each, with the observed value, in words and numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from packlint.expectations.suite import columns_of
from packlint.expectations.validate import FailedExpectation, Row
from packlint.finding import Confidence, Finding, Location
from packlint.summaries.places import MAX_PLACES

__all__ = ["CODE", "NAME", "to_finding"]

CODE, NAME = "EXP001", "failed-expectation"

_MAX_VALUES = 3
_MAX_WORDS = 120
_MAX_STORED = 2_000
_SHOWN_ELSEWHERE = frozenset({"column", "column_A", "column_B", "column_list"})
_KL = "expect_column_kl_divergence_to_be_less_than"
_QUANTILES = "expect_column_quantile_values_to_be_between"


def to_finding(failed: FailedExpectation) -> Finding:
    """Return the finding of one failed expectation."""
    expectation, rows = failed.expectation, failed.rows
    n_hits = max(failed.n_unexpected or 0, 1)
    n_rows = n_hits if failed.n_rows is not None else 0
    return Finding(
        code=CODE,
        name=NAME,
        severity=expectation.severity,
        confidence=Confidence.CERTAIN,
        shard="",
        message=_message(failed),
        n_hits=n_hits,
        n_packs=n_rows if expectation.table == "packs" else 0,
        n_segments=n_rows if expectation.table == "samples" else 0,
        measured=_measured(failed),
        locations=tuple(_location(row) for row in rows[:MAX_PLACES]),
    )


def _message(failed: FailedExpectation) -> str:
    expectation = failed.expectation
    of = ", ".join(columns_of(expectation.kwargs))
    where = f"{expectation.table}.{of}" if of else expectation.table
    supplied = f" ({expectation.supplied})" if expectation.supplied else ""
    return _one_line(f"{where}: {expectation.type}: {_observed(failed)}{_allowed(failed)}{supplied}")


def _observed(failed: FailedExpectation) -> str:
    if failed.n_rows is not None:
        return _of_rows(failed)
    if words := _WORDS.get(failed.expectation.type):
        return words(failed)
    missing = failed.details.get("missing_values") or []
    if failed.n_unexpected is not None:
        sets = (("unexpected", failed.unexpected), ("missing", missing))
        return " and ".join(f"{name}: {_values(values)}" for name, values in sets if values)
    mismatched = failed.details.get("mismatched") or {}
    if isinstance(mismatched, Mapping) and mismatched:
        return "; ".join(f"{name}: {_values(values)}" for name, values in mismatched.items() if values)
    return f"observed {_short(failed.observed)}" if failed.observed is not None else "nothing was observed"


def _of_rows(failed: FailedExpectation) -> str:
    n_unexpected, n_rows = failed.n_unexpected or 0, failed.n_rows or 0
    share = f" ({_percent(n_unexpected / n_rows)})" if n_rows else ""
    words = f"{n_unexpected:,} of {n_rows:,} rows are unexpected{share}"
    if failed.n_missing:
        words += f", {failed.n_missing:,} more have no value"
    if any(value is not None for value in failed.unexpected):
        words += f", for instance {_values(failed.unexpected)}"
    return words


def _of_column(failed: FailedExpectation) -> str:
    return f"the table has no column {failed.expectation.kwargs.get('column')}"


def _of_quantiles(failed: FailedExpectation) -> str:
    passed: Sequence[Any] = failed.details.get("success_details") or []
    observed = failed.observed or {"quantiles": [], "values": []}
    ranges = failed.expectation.kwargs.get("quantile_ranges", {}).get("value_ranges") or []
    parts = [
        f"quantile {q:g} is {_short(value)}, allowed: {_range(allowed)}"
        for q, value, allowed, is_in in zip(*observed.values(), ranges, passed, strict=False)
        if not is_in
    ]
    return ", ".join(parts) or "quantiles are out of range"


def _of_divergence(failed: FailedExpectation) -> str:
    value = "infinite" if failed.observed is None else _short(failed.observed)
    movers = [f"{name} {_percent(now)} (expected {_percent(then)})" for name, now, then in _movers(failed)]
    return f"divergence is {value}" + (f": {', '.join(movers)}" if movers else "")


def _movers(failed: FailedExpectation) -> Iterator[tuple[str, float, float]]:
    """Yield the categories whose shares differ most, with both shares."""
    now, then = (failed.details.get(f"{of}_partition") or {} for of in ("observed", "expected"))
    if "values" not in now:
        return
    shares = zip(now["values"], now["weights"], then.get("weights", ()), strict=False)
    moved = [(str(name), a or 0.0, b or 0.0) for name, a, b in shares]
    yield from sorted(moved, key=lambda share: (-abs(share[1] - share[2]), share[0]))[:_MAX_VALUES]


_WORDS: Mapping[str, Callable[[FailedExpectation], str]] = {
    "expect_column_to_exist": _of_column,
    _QUANTILES: _of_quantiles,
    _KL: _of_divergence,
}


def _allowed(failed: FailedExpectation) -> str:
    kwargs = failed.expectation.kwargs
    if failed.expectation.type == _QUANTILES:
        return ""
    if failed.expectation.type == _KL:
        return f"; allowed: {_short(kwargs.get('threshold'))}"
    asked = {key: value for key, value in kwargs.items() if key not in _SHOWN_ELSEWHERE and value is not None}
    words = ", ".join(f"{key} = {_short(value)}" for key, value in asked.items())
    return f"; asked for: {words}" if words else ""


def _measured(failed: FailedExpectation) -> dict[str, int | float | str]:
    expectation = failed.expectation
    measured: dict[str, int | float | str] = {
        "expectation": expectation.type,
        "expectation_number": expectation.number,
        "table": expectation.table,
        "kwargs": _stored(expectation.kwargs),
    }
    if columns := columns_of(expectation.kwargs):
        measured["column"] = ", ".join(columns)
    if failed.observed is not None:
        is_plain = isinstance(failed.observed, int | float | str) and not isinstance(failed.observed, bool)
        measured["observed"] = failed.observed if is_plain else _stored(failed.observed)
    if failed.n_rows is not None:
        measured |= {"n_rows": failed.n_rows, "n_missing": failed.n_missing}
    if failed.n_unexpected is not None:
        measured["n_unexpected"] = failed.n_unexpected
        measured["unexpected_values"] = _stored(list(dict.fromkeys(map(_hashable, failed.unexpected))))
    if failed.n_rows and failed.n_unexpected is not None:
        measured["unexpected_fraction"] = failed.n_unexpected / failed.n_rows
    if details := {key: value for key, value in failed.details.items() if value}:
        measured["details"] = _stored(details)
    return measured


def _location(row: Row) -> Location:
    return Location(
        shard=row.shard,
        pack=row.pack,
        segment=row.segment,
        start=row.start,
        stop=row.start + row.n_tokens,
        note=", ".join(f"{name} = {_short(value)}" for name, value in row.values.items()),
    )


def _range(allowed: Any) -> str:
    low, high = allowed
    if low is None or high is None:
        return f"at most {_short(high)}" if low is None else f"at least {_short(low)}"
    return f"{_short(low)} to {_short(high)}"


def _values(values: Sequence[Any]) -> str:
    distinct = list(dict.fromkeys(map(_hashable, values)))
    more = ", …" if len(distinct) > _MAX_VALUES else ""
    return ", ".join(_short(value) for value in distinct[:_MAX_VALUES]) + more


def _hashable(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else _stored(value)


def _short(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_WORDS else f"{text[: _MAX_WORDS - 1]}…"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _stored(value: Any) -> str:
    """Return plain data as text, cut where it is too long for a report."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_STORED else f"{text[: _MAX_STORED - 1]}…"


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".")
