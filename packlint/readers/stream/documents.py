"""Where the documents of a stream end: checked once in bounded pieces, read by sections afterwards.

    tokens      a a a b b c c c c d             10 tokens
    ends        3 5 9 10                        as stored: `.ds.index`, item offsets, positions
    edges       0 3 5 9 10                      first token of each document, and the end of the last
    sections    0     2     4                   documents that are read together, about 16 Mi tokens each

Ends that rise but stop short of the stream, or go beyond it, still say where documents begin: what is left
is one more document, what is too much is cut off, and the difference is a fault. Ends that fall say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.readers.shard import Fault
from packlint.readers.stream.stored import Opens, piece

__all__ = ["SECTION_TOKENS", "Documents", "check_documents"]

SECTION_TOKENS = 1 << 24
"""Tokens per section: what one worker reads at a time."""
_SCAN_DOCUMENTS = 1 << 18
"""Documents looked at together while checking; also the most that a section holds."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Documents:
    """Give access to checked ends of documents; holds one entry per section, not per document.

    Args:
        ends: `int[document]`, rising, where each document ends, in `unit`s from `base`.
        base: what is stored for the first token.
        unit: what is added for each token (bytes per token, where ends are bytes).
        n_tokens: tokens of the stream.
        n_recorded: documents whose end is recorded and lies in the stream.
        has_rest: tokens follow after the last of these ends; they are one more document.
        section_documents: `int64[section + 1]`, first document of each section, and `n_documents`.
    """

    ends: Opens
    base: int = 0
    unit: int = 1
    n_tokens: int
    n_recorded: int
    has_rest: bool
    section_documents: Int64Array
    section_tokens: Int64Array

    @property
    def n_documents(self) -> int:
        """Documents, the rest at the end included."""
        return self.n_recorded + self.has_rest

    def edges(self, first: int, stop: int) -> Int64Array:
        """Return `int64[stop - first + 1]`, starts of the documents `first` to `stop`, and the last end."""
        low, high = max(first - 1, 0), min(stop, self.n_recorded)
        found = self._tokens(piece(self.ends.view(), low, high))
        begin = [0] if first == 0 else []
        rest = [self.n_tokens] if stop > self.n_recorded else []
        return np.concatenate([np.array(begin, np.int64), found, np.array(rest, np.int64)])

    def starts_between(self, begin: int, end: int) -> Int64Array:
        """Return `int64[start]`, rising, the document starts strictly between two places."""
        low = max(int(np.searchsorted(self.section_tokens, begin, side="right")) - 1, 0)
        high = max(int(np.searchsorted(self.section_tokens, end, side="left")), low)
        edges = self.edges(int(self.section_documents[low]), int(self.section_documents[high]))
        inner = edges[np.searchsorted(edges, begin, "right") : np.searchsorted(edges, end, "left")]
        distinct: Int64Array = inner[np.append(True, inner[1:] != inner[:-1])[: inner.size]]
        return distinct

    def _tokens(self, stored: Int64Array) -> Int64Array:
        return (stored.astype(np.int64) - self.base) // self.unit


@dataclass(slots=True)
class _Scan:
    """Check ends in one pass and note where sections begin."""

    n_tokens: int
    n_seen: int = 0
    n_recorded: int = 0
    last: int = 0
    last_recorded: int = 0
    section_documents: list[int] = field(default_factory=list)
    section_tokens: list[int] = field(default_factory=list)

    def add(self, ends: Int64Array) -> None:
        inside = ends[: np.searchsorted(ends, self.n_tokens, side="right")]
        if self.n_recorded == self.n_seen and inside.size:
            starts = np.append(self.last_recorded, inside[:-1])
            changes = np.flatnonzero(np.diff(starts // SECTION_TOKENS)) + 1
            edges = np.append(0, changes)
            self.section_documents.extend((self.n_recorded + edges).tolist())
            self.section_tokens.extend(starts[edges].tolist())
            self.n_recorded += int(inside.size)
            self.last_recorded = int(inside[-1])
        self.n_seen += int(ends.size)
        self.last = int(ends[-1])


def check_documents(
    ends: Opens, n_tokens: int, where: str, *, base: int = 0, unit: int = 1
) -> tuple[Documents | None, tuple[Fault, ...]]:
    """Return the documents that the ends record, none if they fall, and what is wrong with them.

    Reads the ends once, 2 MiB at a time.

    Args:
        ends: `int[document]`, as stored.
        n_tokens: tokens of the stream.
        where: name of the record, for messages.
        base: what is stored for the first token.
        unit: what is added for each token.
    """
    scan, wrong = _scanned(ends, n_tokens, base, unit)
    if wrong:
        return None, (Fault(code="SHD001", message=f"{where}: {wrong}"),)
    has_rest = scan.last_recorded < n_tokens
    n_documents = scan.n_recorded + has_rest
    documents = Documents(
        ends=ends,
        base=base,
        unit=unit,
        n_tokens=n_tokens,
        n_recorded=scan.n_recorded,
        has_rest=has_rest,
        section_documents=np.array([*(scan.section_documents or [0]), n_documents], np.int64),
        section_tokens=np.array([*(scan.section_tokens or [0]), n_tokens], np.int64),
    )
    if scan.last == n_tokens:
        return documents, ()
    message = f"{where} ends at token {scan.last}, but there are {n_tokens} tokens"
    return documents, (Fault(code="SHD006", message=message),)


def _scanned(ends: Opens, n_tokens: int, base: int, unit: int) -> tuple[_Scan, str]:
    """Return what one pass over the ends shows, and what is wrong with the first that cannot be, or ""."""
    view, scan, before = ends.view(), _Scan(n_tokens), base
    for first in range(0, ends.size, _SCAN_DOCUMENTS):
        stored = piece(view, first, min(first + _SCAN_DOCUMENTS, ends.size))
        values = stored.astype(np.int64)  # beyond int64 it becomes negative, and falls
        if wrong := _first_wrong(values, before, base, unit):
            at, what = wrong
            return scan, f"entry {first + at} is {stored[at]}, {what}"
        scan.add((values - base) // unit)
        before = int(values[-1])
    return scan, ""


def _first_wrong(values: Int64Array, before: int, base: int, unit: int) -> tuple[int, str] | None:
    previous = np.append(before, values[:-1])
    falls = values < previous
    if falls.any():
        at = int(falls.argmax())
        return at, f"less than the {previous[at]} before it"
    broken = (values - base) % unit != 0
    if broken.any():
        return int(broken.argmax()), f"which is no multiple of {unit} after {base}"
    return None
