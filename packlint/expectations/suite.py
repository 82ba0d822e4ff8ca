"""A suite of Great Expectations 1.x in JSON: read, checked, and each expectation led to its table.

    {"name": "team", "expectations": [
      {"type": "expect_column_values_to_be_in_set", "kwargs": {"column": "domain", "value_set": ["web"]},
       "severity": "critical", "meta": {"table": "samples"}}]}

All that can be known without the package is told before a scan begins, all faults at once.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packlint.errors import ConfigError
from packlint.expectations.gx import known_types
from packlint.finding import Severity
from packlint.summaries.columns import COLUMNS, RENAMED

__all__ = ["Expectation", "Suite", "columns_of", "load_suite", "parse_suite"]

SEVERITIES = {"critical": Severity.ERROR, "warning": Severity.WARNING, "info": Severity.INFO}
TAIL_WEIGHT_HOLDOUT = 1e-3
"""Weight that categories and values outside a partition get together, where the suite says nothing of it."""

_SUITE_KEYS = ("name", "expectations", "meta", "notes", "id", "suite_parameters")
_KEYS = ("type", "kwargs", "severity", "meta", "notes", "description", "id", "rendered_content")
_OLD_KEYS = frozenset({"expectation_suite_name", "expectation_type"})
_COLUMN_KEYS = ("column", "column_A", "column_B")
_KL = "expect_column_kl_divergence_to_be_less_than"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Hold one expectation.

    Args:
        number: place in the suite, from 0.
        table: `packs` or `samples`.
        type: what is expected, as Great Expectations names it.
        kwargs: its arguments.
        severity: how bad it is when it fails.
        meta: what the suite notes of it.
        texts: its `notes` and `description`, where given.
        supplied: arguments that packlint put in, in words; empty for none.
    """

    number: int
    table: str
    type: str
    kwargs: Mapping[str, Any]
    severity: Severity = Severity.ERROR
    meta: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, Any] = field(default_factory=dict)
    supplied: str = ""

    @property
    def label(self) -> str:
        """Its place and type, for messages."""
        return f"expectation {self.number} ({self.type})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Hold a suite.

    Args:
        name: its name.
        source: name of the file, without its folder.
        expectations: in the order of the file.
        parameters: values for arguments of the form `{"$PARAMETER": name}`.
    """

    name: str
    source: str
    expectations: tuple[Expectation, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def of(self, table: str) -> tuple[Expectation, ...]:
        """Return the expectations of one table."""
        return tuple(e for e in self.expectations if e.table == table)

    @property
    def metadata(self) -> tuple[str, ...]:
        """Columns that are none of ours, by the names that shards have for them."""
        ours = {name for columns in COLUMNS.values() for name in columns}
        asked = (name for e in self.expectations for name in columns_of(e.kwargs) if name not in ours)
        stored = (n.removeprefix(RENAMED) if n.removeprefix(RENAMED) in ours else n for n in asked)
        return tuple(dict.fromkeys(stored))


def load_suite(path: Path) -> Suite:
    """Return the suite of a file.

    Raises:
        ConfigError: it cannot be read, is no suite, or holds what cannot be validated; all faults at once.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: cannot be read: {error}") from None
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path.name}: not valid JSON: {error}") from None
    return parse_suite(table, path.name)


def parse_suite(table: object, source: str) -> Suite:
    """Return the suite that a parsed file holds.

    Raises:
        ConfigError: it is none; see `load_suite`.
    """
    if not isinstance(table, dict) or not isinstance(table.get("expectations"), list):
        raise ConfigError(f'{source}: no suite: "name" and a list of "expectations" must be there')
    if _OLD_KEYS & {
        *table,
        *(key for entry in table["expectations"] if isinstance(entry, dict) for key in entry),
    }:
        raise ConfigError(f'{source}: a suite of Great Expectations 0.x; 1.x has "name" and "type"')
    faults = [f"unknown key {key}{_hint(key, _SUITE_KEYS)}" for key in table if key not in _SUITE_KEYS]
    name = table.get("name")
    if not isinstance(name, str) or not name.strip():
        faults.append('"name" must be a text')
    if not table["expectations"]:
        faults.append("no expectation in it: it would pass on any data")
    found: list[Expectation] = []
    for number, entry in enumerate(table["expectations"]):
        wrong = list(_faults(entry))
        faults += [f"expectation {number}: {fault}" for fault in wrong]
        if not wrong:
            found.append(_expectation(number, entry))
    if faults:
        raise ConfigError(f"{source}: " + "; ".join(faults))
    return Suite(
        name=str(name),
        source=source,
        expectations=tuple(found),
        parameters=table.get("suite_parameters") or {},
    )


def columns_of(kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that an expectation looks at."""
    single = [kwargs[key] for key in _COLUMN_KEYS if isinstance(kwargs.get(key), str)]
    listed = kwargs.get("column_list")
    return (*single, *(name for name in listed if isinstance(name, str))) if listed else tuple(single)


def _faults(entry: object) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield "must be an object"
        return
    yield from (f"unknown key {key}{_hint(key, _KEYS)}" for key in entry if key not in _KEYS)
    kind = entry.get("type")
    if not isinstance(kind, str):
        yield '"type" must be a text'
    elif known_types() and kind not in known_types():
        yield f"unknown type {kind}{_hint(kind, known_types())}"
    if not isinstance(entry.get("kwargs", {}), dict):
        yield '"kwargs" must be an object'
        return
    severity = entry.get("severity", "critical")
    if severity not in SEVERITIES:
        yield f"severity = {severity!r}; allowed are {', '.join(SEVERITIES)}"
    meta = entry.get("meta") or {}
    if not isinstance(meta, dict):
        yield '"meta" must be an object'
    else:
        yield from _table_faults(meta, entry.get("kwargs", {}))


def _table_faults(meta: Mapping[str, Any], kwargs: Mapping[str, Any]) -> Iterator[str]:
    told = meta.get("table")
    if told is not None and told not in COLUMNS:
        yield f"meta table = {told!r}; allowed are {', '.join(COLUMNS)}"
    elif told is None and len(tables := _tables(kwargs)) != 1:
        names = ", ".join(columns_of(kwargs))
        about = f"{names or 'it'} may be of either table" if tables else f"no table has all of {names}"
        yield f'{about}; say which: "meta": {{"table": "packs"}} or {{"table": "samples"}}'


def _tables(kwargs: Mapping[str, Any]) -> list[str]:
    """Return the tables that may have all its columns; metadata may be in either."""
    ours = {name for columns in COLUMNS.values() for name in columns}
    names = [name for name in columns_of(kwargs) if name in ours]
    return [table for table, columns in COLUMNS.items() if all(name in columns for name in names)]


def _expectation(number: int, entry: Mapping[str, Any]) -> Expectation:
    meta, kwargs = entry.get("meta") or {}, dict(entry.get("kwargs", {}))
    supplied = ""
    if entry["type"] == _KL and _lacks_holdout(kwargs):
        kwargs["tail_weight_holdout"] = TAIL_WEIGHT_HOLDOUT
        supplied = f"tail_weight_holdout = {TAIL_WEIGHT_HOLDOUT:g} was supplied"
    return Expectation(
        number=number,
        table=meta.get("table") or _tables(kwargs)[0],
        type=entry["type"],
        kwargs=kwargs,
        severity=SEVERITIES[entry.get("severity", "critical")],
        meta=meta,
        texts={key: entry[key] for key in ("notes", "description") if entry.get(key) is not None},
        supplied=supplied,
    )


def _lacks_holdout(kwargs: Mapping[str, Any]) -> bool:
    """Tell whether a divergence would be infinite as soon as one value lies outside the partition."""
    partition = kwargs.get("partition_object")
    if "tail_weight_holdout" in kwargs or not isinstance(partition, dict) or "tail_weights" in partition:
        return False
    bins = partition.get("bins") or [0]
    return not any(isinstance(edge, float) and abs(edge) == float("inf") for edge in (bins[0], bins[-1]))


def _hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""
