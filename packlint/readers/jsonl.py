"""The reader of JSON lines with lists of token ids: one row per line.

    {"input_ids": [1, 5, 2], "labels": [-100, 5, 2]}        row 0
                                                            blank: counted, not read
    {"input_ids": [1, 7, 2], "labels": [-100, 7             row 2: SHD001, the last line is cut off

gzip or zstd around it is taken off while reading, with a limit on what may come out.

Rows are parsed with the standard library: exact for integers of any size, and safe. A line that is no row is
a fault of that line; the others are read all the same. The number of a row is that of its line, from 0.

Written so by torchtune dumps (`packs.jsonl`), InstructLab (`data.jsonl`), ColossalAI, and by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import IO, Any, TypeAlias

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec
from packlint.readers.collecting import RowBuffer, RowCollector, collected
from packlint.readers.inflate import codec_of, open_content, read_content
from packlint.readers.layouts import ChoosesLayout, factors, layout_by_names
from packlint.readers.layouts.preference import ID_NAMES, names_both_sides
from packlint.readers.layouts.synonyms import SYNONYMS
from packlint.readers.metadata.coding import lacks_value, look_up
from packlint.readers.metadata.values import METADATA_ROWS, Column
from packlint.readers.pairs import PairBuffer, columns_of_roles, row_of_pair
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.values import (
    BadRowError,
    listed_row,
    most_common_kinds,
    row_kinds,
)

__all__ = ["JsonlReader", "JsonlShard", "read_lines"]

MAX_LINE_BYTES = 1 << 28
"""Longest line that is parsed; parsing takes several times as much memory."""
_SAMPLE_ROWS, _SAMPLE_LINES = 32, 1000
_SNIFF_BYTES, _MAGIC_BYTES = 1 << 20, 4
_BOM = b"\xef\xbb\xbf"
_LIST = rb'"(?:%s)"\s*:\s*\[\s*-?\d'
_TOKEN_LIST = re.compile(_LIST % "|".join(SYNONYMS[Role.INPUT_IDS]).encode())
_LIST_OF_A_SIDE = re.compile(_LIST % "|".join(ID_NAMES).encode())
_ColumnsOf: TypeAlias = Callable[[Mapping[str, Any]], Mapping[Any, Any]]


@dataclass(frozen=True, slots=True)
class _Line:
    """Hold a line: its number, the byte at which it begins, and its text; none when it is too long."""

    number: int
    offset: int
    text: bytes | None

    @property
    def is_blank(self) -> bool:
        return self.text is not None and not self.text.strip()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JsonlShard:
    """Read one file of JSON lines.

    Args:
        name: path relative to the inputs.
        layout: which key means what.
        source: the file.
        keys: the keys seen, to tell a key from a product of two.
    """

    name: str
    layout: Layout
    source: Source
    keys: frozenset[str]

    @property
    def format(self) -> str:
        """Name of the format."""
        return JsonlReader.format

    @property
    def spec(self) -> DatasetSpec:
        """Nothing: JSON says nothing of conventions."""
        return DatasetSpec()

    @property
    def n_bytes(self) -> int:
        """Bytes on disk."""
        return self.source.size

    def parts(self) -> Sequence[Part]:
        """Return the file as one piece, counting its lines, blank ones too, up to any damage.

        Lines of a remote file are not counted: that would fetch all of it once more.
        """
        if self.source.is_remote:
            return [Part(0, 0, 0)]
        n_lines, last = 0, b"\n"
        with suppress(UnreadableError), _content(self.source) as file:
            while chunk := file.read(1 << 20):
                n_lines += chunk.count(b"\n")
                last = chunk[-1:]
        return [Part(0, 0, n_lines + (last != b"\n"))]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows in order; a line that is no row becomes a fault.

        Raises:
            UnreadableError: compressed data are damaged.
        """
        buffer, columns_of = self._collecting(roles)
        return collected(_numbered(self.source, columns_of), buffer, block_tokens)

    def lacks(self, name: str) -> str | None:
        """Say why there is no such key, going by the first few rows."""
        lacks = lacks_value(name, (look_up(row, name) for row in _sample(self.source)))
        return f"no such key in the first {_SAMPLE_ROWS} rows" if lacks else None

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = METADATA_ROWS
    ) -> Iterator[Mapping[str, Column]]:
        """Yield the values of all lines in order, nulls for lines that are no row.

        Raises:
            UnreadableError: compressed data are damaged.
        """
        with _content(self.source) as file:
            lines = _lines(file)
            while rows := [_parsed(line) for line in islice(lines, most_rows)]:
                yield {name: [look_up(row, name) for row in rows] for name in names}

    def _collecting(self, roles: frozenset[Role]) -> tuple[RowCollector[Any], _ColumnsOf]:
        """Return what rows are collected in, and what makes columns of a parsed one."""
        if pairs := self.layout.pairs:
            return PairBuffer(pairs, roles), partial(row_of_pair, columns=columns_of_roles(pairs, roles))
        stored = {role: name for role, name in self.layout.columns.items() if role in roles}
        columns = {role: factors(name, self.keys) for role, name in stored.items()}
        return RowBuffer(columns), partial(listed_row, columns=columns)


class JsonlReader:
    """Recognise and open JSON lines that hold token ids."""

    format = "jsonl"
    title = "JSON lines with lists of token ids: torchtune dumps, InstructLab, ColossalAI, plain"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the first object: it holds a list of integers under a known name of the token ids."""
        codec = codec_of(head)
        if codec is None and not head.removeprefix(_BOM).lstrip().startswith(b"{"):
            return False
        line, newline, _ = head.removeprefix(_BOM).lstrip().partition(b"\n")
        if codec is not None or not newline:
            # A pack's first line is longer than the head; the token ids may come after a long column.
            try:
                content = read_content(source, codec, _SNIFF_BYTES)
            except UnreadableError:
                return False
            line = content.removeprefix(_BOM).lstrip().partition(b"\n")[0]
        is_pair = names_both_sides(line) and _LIST_OF_A_SIDE.search(line) is not None
        return line.startswith(b"{") and (is_pair or _TOKEN_LIST.search(line) is not None)

    def holds_objects(self, source: Source, head: bytes) -> bool:
        """Tell whether the first line is an object, of whatever kind."""
        codec = codec_of(head)
        try:
            content = head if codec is None else read_content(source, codec, len(_BOM) + 1)
        except UnreadableError:
            return False
        return content.removeprefix(_BOM).lstrip().startswith(b"{")

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the one shard; reads the first few rows.

        Raises:
            UnreadableError: no line can be parsed, or no key holds token ids.
        """
        return [self.open_as(source, name, layout_by_names(settings.columns))]

    def open_as(self, source: Source, name: str, choose: ChoosesLayout) -> JsonlShard:
        """Return the shard with the layout that is chosen by what its keys hold.

        Raises:
            UnreadableError: no line can be parsed.
        """
        kinds = most_common_kinds(map(row_kinds, _sample(source)))
        return JsonlShard(name=name, layout=choose(kinds, ()), source=source, keys=frozenset(kinds))


def read_lines(source: Source) -> Iterator[tuple[int, Mapping[str, Any] | BadRowError]]:
    """Yield the rows of a file by the numbers of their lines, or why a line is none; blank lines left out.

    Raises:
        UnreadableError: compressed data are damaged.
    """
    return _numbered(source, lambda row: row)


def _numbered(source: Source, made_of: _ColumnsOf) -> Iterator[tuple[int, Mapping[Any, Any] | BadRowError]]:
    """Yield what is made of each row by the number of its line, or why it is none; blank lines left out."""
    with _content(source) as file:
        for line in _lines(file):
            if line.is_blank:
                continue
            try:
                yield line.number, made_of(_parse(line))
            except BadRowError as bad:
                yield line.number, BadRowError(bad.code, f"byte {line.offset}: {bad.message}")


def _sample(source: Source) -> list[dict[str, Any]]:
    """Return the first few rows that can be parsed."""
    rows: list[dict[str, Any]] = []
    first_fault = "there are no lines"
    with _content(source) as file:
        try:
            for line in _lines(file):
                if line.is_blank:
                    continue
                try:
                    rows.append(_parse(line))
                except BadRowError as bad:
                    first_fault = bad.message if first_fault == "there are no lines" else first_fault
                if len(rows) >= _SAMPLE_ROWS or line.number >= _SAMPLE_LINES:
                    break
        except UnreadableError as damage:
            first_fault = str(damage)
    if not rows:
        raise UnreadableError(f"no JSON object in the first {_SAMPLE_LINES} lines: {first_fault}")
    return rows


def _content(source: Source) -> IO[bytes]:
    return open_content(source, codec_of(source.read(0, _MAGIC_BYTES)))


def _lines(file: IO[bytes]) -> Iterator[_Line]:
    """Yield the lines of a file, holding one at a time and never more than the longest allowed."""
    number = offset = 0
    while text := file.readline(MAX_LINE_BYTES + 1):
        n_bytes, is_too_long = len(text), len(text) > MAX_LINE_BYTES
        rest = text
        while is_too_long and rest and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE_BYTES)
            n_bytes += len(rest)
        stored = text.removeprefix(_BOM) if number == 0 else text
        yield _Line(number, offset, None if is_too_long else stored)
        number += 1
        offset += n_bytes


def _parse(line: _Line) -> dict[str, Any]:
    if line.text is None:
        raise BadRowError("SHD001", f"the line is longer than {MAX_LINE_BYTES} bytes")
    try:
        row = json.loads(line.text)
    except RecursionError:
        raise BadRowError("SHD001", "lists or objects are nested too deeply") from None
    except ValueError as error:
        cut = "" if line.text.endswith(b"\n") else "the last line is cut off: "
        raise BadRowError("SHD001", f"{cut}{error}") from None
    if not isinstance(row, dict):
        raise BadRowError("SHD001", f"the line holds a {type(row).__name__}, expected an object")
    return row


def _parsed(line: _Line) -> Mapping[str, Any]:
    """Return the row of a line; nothing for a line that is none, which the reading of its tokens reports."""
    try:
        return {} if line.is_blank else _parse(line)
    except BadRowError:
        return {}
