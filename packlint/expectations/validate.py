"""A suite held against both tables: every expectation is answered, in the suite's order, or the run fails."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from packlint.errors import UsageError
from packlint.expectations.data_docs import write_data_docs
from packlint.expectations.gx import load, quiet_context
from packlint.expectations.suite import SEVERITIES, Expectation, Suite, columns_of
from packlint.expectations.tables import to_frame
from packlint.summaries.columns import ABSENT, COLUMNS, Table

__all__ = ["MAX_UNEXPECTED", "FailedExpectation", "Row", "validate"]

MAX_UNEXPECTED = 20
"""Unexpected values and rows that are kept of one expectation; its count is exact."""

_EXISTS = "expect_column_to_exist"
_GX_SEVERITIES = {severity: name for name, severity in SEVERITIES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Point at a row whose values are unexpected.

    Args:
        shard: name of the shard.
        pack: number of the pack.
        segment: number of the segment, -1 in the pack table.
        start: first token, from the pack's start.
        n_tokens: its tokens.
        values: what the columns of the expectation hold.
    """

    shard: str
    pack: int
    segment: int
    start: int
    n_tokens: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedExpectation:
    """Hold what was observed where an expectation failed, as plain data.

    Args:
        expectation: what was expected.
        observed: the observed value, or none where rows are judged one by one.
        n_rows: rows that were judged, or none where the column is judged as a whole.
        n_missing: rows that were not, for want of a value.
        n_unexpected: rows with an unexpected value, all of them; or distinct values; or none.
        unexpected: the first unexpected values.
        rows: the first rows with one.
        details: whatever else Great Expectations says.
    """

    expectation: Expectation
    observed: Any = None
    n_rows: int | None = None
    n_missing: int = 0
    n_unexpected: int | None = None
    unexpected: tuple[Any, ...] = ()
    rows: tuple[Row, ...] = ()
    details: Mapping[str, Any]


def validate(
    tables: Mapping[str, Table], suite: Suite, data_docs: Path | None = None
) -> tuple[FailedExpectation, ...]:
    """Return the expectations that fail, in the order of the suite.

    Args:
        tables: both tables by name.
        suite: what is expected of them.
        data_docs: folder for the Data Docs, or none.

    Raises:
        UsageError: an expectation cannot be judged: its type or an argument is unknown, a column is missing
            or has no value, or it raised. All such faults at once.
    """
    _refuse(suite, _unready(tables, suite))
    gx = load()
    answers: dict[int, Any] = {}
    frames: dict[str, Any] = {}
    results: dict[str, Any] = {}
    with quiet_context() as context:
        made = _make(suite)
        source = context.data_sources.add_pandas("packlint")
        for name, table in tables.items():
            if not (wanted := suite.of(name)):
                continue
            frames[name] = to_frame(table)
            definition = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("all")
            batch = definition.get_batch(batch_parameters={"dataframe": frames[name]})
            gx_suite = gx.ExpectationSuite(f"{suite.name} {name}", [made[e.number] for e in wanted])
            results[name] = _run(batch, gx_suite, suite)
            answers |= {_number(answer): answer for answer in results[name].results}
        _refuse(suite, _unanswered(suite, answers))
        wrong = [e for e in suite.expectations if not answers[e.number].success]
        failed = tuple(_failed(e, answers[e.number], frames[e.table]) for e in wrong)
        if data_docs is not None:
            write_data_docs(context, results, data_docs)
    return failed


def plain(value: Any) -> Any:
    """Return a value of numpy or pandas as plain data; what is not a number becomes none."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _refuse(suite: Suite, faults: Iterable[str]) -> None:
    if listed := list(faults):
        raise UsageError(f"{suite.source}: " + "; ".join(listed))


def _unready(tables: Mapping[str, Table], suite: Suite) -> Iterator[str]:
    """Yield what the tables lack; an expectation must not pass because there is nothing to look at."""
    for name, table in tables.items():
        wanted = suite.of(name)
        if wanted and table.n_rows == 0:
            why = "; rows of the inputs are samples, not packs" if tables["samples"].n_rows else ""
            yield f"the table {name} has no rows, and {wanted[0].label} asks for some{why}"
            continue
        absent: dict[str, list[str]] = {}
        for expectation in (e for e in wanted if e.type != _EXISTS):
            for column in columns_of(expectation.kwargs):
                if column not in table.names:
                    absent.setdefault(column, []).append(expectation.label)
        for column, labels in absent.items():
            why = _why_absent(column, table, tables)
            yield f"{_listed(labels)}: the table {name} has no column {column}: {why}"


def _listed(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} and {len(labels) - 1} more"


def _why_absent(column: str, table: Table, tables: Mapping[str, Table]) -> str:
    if column in ABSENT:
        return ABSENT[column]
    if table.name == "packs" and column in tables["samples"].names and column not in COLUMNS["samples"]:
        return "the segments of no pack share one value"
    return f"no input has it, and --by names no such metadata; it has {', '.join(table.names)}"


def _make(suite: Suite) -> dict[int, Any]:
    """Return the expectations by number, as objects of Great Expectations; it would drop unknown types."""
    registry = import_module("great_expectations.expectations.registry")
    made, faults = {}, []
    for e in suite.expectations:
        try:
            kind = registry.get_expectation_impl(e.type)
            meta = {**e.meta, "packlint": {"number": e.number}}
            made[e.number] = kind(**e.kwargs, **e.texts, severity=_GX_SEVERITIES[e.severity], meta=meta)
        except Exception as error:  # whatever it raises: the expectation cannot be judged
            faults.append(f"{e.label}: {_words(error)}")
    _refuse(suite, faults)
    return made


def _words(error: Exception) -> str:
    """Return all faults that pydantic lists, or the first line of what was raised."""
    if hasattr(error, "errors"):
        told = dict.fromkeys(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        return ", ".join(line.removeprefix("__root__: ") for line in told)
    return _first_line(str(error)) or type(error).__name__


def _run(batch: Any, gx_suite: Any, suite: Suite) -> Any:
    form = {"result_format": "SUMMARY", "partial_unexpected_count": MAX_UNEXPECTED}
    parameters = dict(suite.parameters) or None
    try:
        result = batch.validate(gx_suite, result_format=form, expectation_parameters=parameters)
    except Exception as error:  # a parameter without a value, for instance
        raise UsageError(f"{suite.source}: it cannot be validated: {_words(error)}") from None
    for answer in result.results:  # some are numpy's own truth values, which have no JSON form
        answer.success = bool(answer.success)
    result.success = bool(result.success)
    return result


def _unanswered(suite: Suite, answers: Mapping[int, Any]) -> Iterator[str]:
    for expectation in suite.expectations:
        answer = answers.get(expectation.number)
        if answer is None:
            yield f"{expectation.label}: Great Expectations gave no answer"
        elif raised := _raised(answer.exception_info or {}):
            yield f"{expectation.label}: {raised}"
        elif _is_void(answer.result):
            of = ", ".join(columns_of(expectation.kwargs)) or "the column"
            yield f"{expectation.label}: {of} has no value in the table {expectation.table}"


def _number(answer: Any) -> int:
    return int(answer.expectation_config.meta["packlint"]["number"])


def _raised(info: Mapping[str, Any]) -> str:
    """Return what was raised; the form is a table of exceptions by metric where metrics failed."""
    entries = [info] if "raised_exception" in info else list(info.values())
    raised = (e for e in entries if e["raised_exception"])
    return "; ".join(dict.fromkeys(_first_line(str(e["exception_message"])) for e in raised))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _is_void(result: Mapping[str, Any]) -> bool:
    return bool(result.get("element_count")) and result.get("missing_count") == result["element_count"]


def _failed(expectation: Expectation, answer: Any, frame: Any) -> FailedExpectation:
    result = plain(dict(answer.result))
    n_rows, n_missing = result.get("element_count"), result.get("missing_count") or 0
    return FailedExpectation(
        expectation=expectation,
        observed=result.get("observed_value"),
        n_rows=None if n_rows is None else n_rows - n_missing,
        n_missing=0 if n_rows is None else n_missing,
        n_unexpected=result.get("unexpected_count"),
        unexpected=tuple(result.get("partial_unexpected_list") or ())[:MAX_UNEXPECTED],
        rows=_rows(frame, result.get("partial_unexpected_index_list") or (), expectation),
        details={**(result.get("details") or {}), "missing_values": result.get("partial_missing_list") or []},
    )


def _rows(frame: Any, places: Sequence[int], expectation: Expectation) -> tuple[Row, ...]:
    columns = [name for name in columns_of(expectation.kwargs) if name in frame.columns]
    rows = []
    for place in places[:MAX_UNEXPECTED]:
        row = frame.iloc[place]
        rows.append(
            Row(
                shard=str(row["shard"]),
                pack=int(row["pack"]),
                segment=int(row.get("segment", -1)),
                start=int(row.get("start", 0)),
                n_tokens=int(row["n_tokens"]),
                values={name: plain(row[name]) for name in columns},
            )
        )
    return tuple(rows)
