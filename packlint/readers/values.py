"""Python values → columns, one row at a time, for formats that are parsed and not decoded.

Nothing is converted silently: an integer column takes integers, whatever numpy could make of the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.readers.layouts import ColumnKind, Element
from packlint.readers.shard import Role

__all__ = [
    "BadRowError",
    "kind_of",
    "listed_row",
    "most_common_kinds",
    "product",
    "row_kinds",
    "row_values",
]

_WEIGHTS = frozenset({Role.LOSS_MASK})
_FLAGS = frozenset({Role.LOSS_MASK, Role.ATTENTION_MASK, Role.DENSE_MASK})
_ELEMENT_OF_KIND = {"i": Element.INT, "u": Element.INT, "b": Element.BOOL, "f": Element.FLOAT}
_ELEMENT_OF_TYPE: Mapping[type, Element] = {
    int: Element.INT,
    bool: Element.BOOL,
    float: Element.FLOAT,
    str: Element.STRING,
    dict: Element.STRUCT,
    type(None): Element.NULL,
}


class BadRowError(Exception):
    """Tell why a row is left out; becomes a `Fault` and never leaves the readers."""

    def __init__(self, code: str, message: str) -> None:
        """Name the rule by its code and what is wrong in one line."""
        super().__init__(message)
        self.code = code
        self.message = message


def kind_of(value: object) -> ColumnKind:
    """Return what one row's value is; lists are judged by their first value that is not null."""
    if isinstance(value, np.ndarray):
        return ColumnKind(_ELEMENT_OF_KIND.get(value.dtype.kind, Element.OTHER), value.ndim)
    ndim = 0
    while isinstance(value, (list, tuple)):
        ndim += 1
        value = next((v for v in value if v is not None), None)
        if isinstance(value, np.ndarray):
            inner = kind_of(value)
            return ColumnKind(inner.element, inner.ndim + ndim)
    if isinstance(value, np.generic):
        value = value.item()
    return ColumnKind(_ELEMENT_OF_TYPE.get(type(value), Element.OTHER), ndim)


def row_kinds(row: Mapping[str, object]) -> dict[str, ColumnKind]:
    """Return what each column holds in one row."""
    return {name: kind_of(value) for name, value in row.items()}


def most_common_kinds(rows: Iterable[Mapping[str, ColumnKind]]) -> dict[str, ColumnKind]:
    """Return what each column holds in most rows, nulls and empty lists not counted where others are.

    One odd row must not decide over the shard: it is a fault of that row.
    """
    kinds: dict[str, Counter[ColumnKind]] = {}
    for row in rows:
        for name, kind in row.items():
            kinds.setdefault(name, Counter())[kind] += 1
    return {name: _most_common(seen) for name, seen in kinds.items()}


def _most_common(seen: Counter[ColumnKind]) -> ColumnKind:
    known = Counter({kind: n for kind, n in seen.items() if kind.element is not Element.NULL})
    return (known or seen).most_common(1)[0][0]


def row_values(role: Role, name: str, value: object) -> NDArray[Any]:
    """Return one row of a column as `any[value]`.

    Args:
        role: what the column means, which decides what it may hold.
        name: the column's stored name, for the message.
        value: list or array of one axis, or a single value (one entry).

    Raises:
        BadRowError: SHD005 for a null, SHD001 for values of another kind or beyond int64.
    """
    if value is None:
        raise BadRowError("SHD005", f"{name} is null")
    if isinstance(value, np.ndarray) and value.dtype != object:
        return _checked_array(role, name, value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        value = list(value)
    return _from_list(role, name, value if isinstance(value, list) else [value])


def product(names: Sequence[str], parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return a row of one column, or the product of two masks, as the trainer multiplies them.

    Raises:
        BadRowError: SHD002 for masks of unlike length.
    """
    if len({part.size for part in parts}) > 1:
        sizes = " and ".join(f"{name} has {part.size}" for name, part in zip(names, parts, strict=True))
        raise BadRowError("SHD002", f"{sizes} values")
    values = parts[0]
    for part in parts[1:]:
        values = values * part
    return values


def _from_list(role: Role, name: str, values: list[Any]) -> NDArray[Any]:
    types = set(map(type, values))
    if types <= {int}:
        try:
            return np.array(values, np.int64)
        except OverflowError:
            place = next(i for i, v in enumerate(values) if not -(2**63) <= v < 2**63)
            raise BadRowError("SHD001", f"{name}[{place}] is an integer beyond int64") from None
    if type(None) in types:
        raise BadRowError("SHD005", f"{name}[{values.index(None)}] is null")
    if any(issubclass(t, np.generic) for t in types):
        return _from_list(role, name, [v.item() if isinstance(v, np.generic) else v for v in values])
    odd = next((i for i, v in enumerate(values) if not _is_allowed(role, type(v))), None)
    if odd is not None:
        raise BadRowError("SHD001", f"{name}[{odd}] is {_say(values[odd])}, expected {_expected(role)}")
    if float in types:
        return _checked_array(role, name, np.array(values, np.float64))
    return np.array(values, np.bool_ if types == {bool} else np.int64)


def _checked_array(role: Role, name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.ndim == 0:
        values = values.reshape(1)
    if values.ndim != 1:
        raise BadRowError("SHD001", f"{name} has {values.ndim} axes in a row, expected one")
    kind = values.dtype.kind
    is_allowed = kind in "iu" or (kind == "b" and role in _FLAGS) or (kind == "f" and role in _WEIGHTS)
    if not is_allowed:
        raise BadRowError("SHD001", f"{name} holds {values.dtype}, expected {_expected(role)}")
    return values  # NaN weights are left in: the rule on odd loss weights names them


def _is_allowed(role: Role, of: type) -> bool:
    return of is int or (of is bool and role in _FLAGS) or (of is float and role in _WEIGHTS)


def _expected(role: Role) -> str:
    if role in _WEIGHTS:
        return "numbers"
    return "integers or booleans" if role in _FLAGS else "integers"


def _say(value: object) -> str:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"the float {value}"
    return {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}.get(
        type(value), f"a {type(value).__name__}"
    )


def listed_row(row: Mapping[str, Any], columns: Mapping[Role, tuple[str, ...]]) -> dict[Role, NDArray[Any]]:
    """Return the columns of one parsed row, each a list.

    Args:
        row: Python values by column.
        columns: stored columns by role, of two their product.

    Raises:
        BadRowError: a column is missing, is no list, or its items are not what the role takes.
    """
    return {
        role: product(names, [_listed(row, role, name) for name in names]) for role, names in columns.items()
    }


def _listed(row: Mapping[str, Any], role: Role, name: str) -> NDArray[Any]:
    if name not in row:
        raise BadRowError("SHD001", f"there is no {name}")
    if role is not Role.SAMPLE_IDS and not isinstance(row[name], list) and row[name] is not None:
        raise BadRowError("SHD001", f"{name} is a single value, expected a list")
    return row_values(role, name, row[name])
