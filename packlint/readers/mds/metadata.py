"""Columns of an MDS shard that have no role: text, numbers, and fields of JSON.

str, str_int      text                  domain, source
int, uint8 …      one number            an id of a domain
ndarray:int32     a list of numbers     one per segment
json              any                   meta.domain
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.readers.layouts import Element
from packlint.readers.mds.encodings import Encoding
from packlint.readers.metadata.coding import look_up, refuse
from packlint.readers.values import BadRowError

__all__ = ["lacks_value", "read_value"]

_TEXTS = frozenset({"str", "str_int"})
_MAX_BYTES = 1 << 20
"""Longest text or JSON that is looked at; a longer one is no category and counts as null."""


def lacks_value(name: str, encodings: Mapping[str, Encoding]) -> str | None:
    """Say why there is no such column, none when it can be read.

    Raises:
        UsageError: it holds floats.
    """
    column = _column(name, encodings)
    if column is None:
        return "no such column"
    encoding = encodings[column]
    if encoding.text in _TEXTS or encoding.text == "json":
        return None
    if encoding.kind.element is Element.FLOAT:
        raise refuse(name, "floats")
    is_number = encoding.kind.element is Element.INT
    return None if is_number else f"is stored as {encoding.text[:20]}, which is never decoded"


def read_value(
    name: str,
    encodings: Mapping[str, Encoding],
    data: NDArray[np.uint8],
    places: Mapping[str, tuple[int, int]],
) -> Any:
    """Return the value of one sample; none where it is damaged, or its sample is."""
    column = _column(name, encodings)
    if column is None or column not in places:
        return None
    encoding, (start, stop) = encodings[column], places[column]
    if encoding.text not in _TEXTS and encoding.text != "json":
        try:
            numbers = encoding.decode(data, start, stop)
        except BadRowError:
            return None
        return numbers.tolist() if encoding.kind.ndim else numbers[0].item()
    if stop - start > _MAX_BYTES:
        return None
    text = data[start:stop].tobytes().decode("utf-8", "replace")
    return text if encoding.text in _TEXTS else _field(name, column, text)


def _column(name: str, encodings: Mapping[str, Encoding]) -> str | None:
    """Return the stored column that holds a name: its own, or one of JSON above it."""
    if name in encodings:
        return name
    above = (name.rsplit(".", n)[0] for n in range(1, name.count(".") + 1))
    return next((top for top in above if top in encodings and encodings[top].text == "json"), None)


def _field(name: str, column: str, text: str) -> object:
    try:
        return look_up({column: json.loads(text)}, name)
    except (ValueError, RecursionError):
        return None
