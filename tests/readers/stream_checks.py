"""What the tests of all stream formats share, beside `file_checks`."""

from __future__ import annotations

from pathlib import Path

from packlint.readers.shard import Reader, Role, Settings, Shard
from packlint.readers.source import Source
from tests.readers.file_checks import SAMPLES, Lists, read, reference, survives_damage

__all__ = [
    "SAMPLES",
    "Lists",
    "chained",
    "open_one",
    "read",
    "reference",
    "survives_damage",
    "tokens_of",
    "windows",
]


def open_one(reader: Reader, path: Path, settings: Settings | None = None) -> Shard:
    """Return the one shard of a file that the reader recognises."""
    assert reader.sniff(Source(str(path)), path.read_bytes()[:4096])
    [shard] = reader.open(Source(str(path)), path.name, settings or Settings())
    return shard


def tokens_of(shard: Shard) -> Lists:
    """Return the rows of a shard without faults."""
    _, columns, faults = read(shard)
    assert faults == []
    return columns.get(Role.INPUT_IDS, [])


def chained(rows: Lists) -> list[int]:
    """Return all rows end to end."""
    return [token for row in rows for token in row]


def windows(documents: Lists, length: int) -> tuple[Lists, Lists]:
    """Return the windows of the stream and the document starts in each, by brute force."""
    stream = [(token, i == 0) for document in documents for i, token in enumerate(document)]
    cut = [stream[a : a + length] for a in range(0, len(stream), length)]
    starts = [[i for i, (_, is_start) in enumerate(row) if is_start or i == 0] for row in cut]
    return [[token for token, _ in row] for row in cut], starts
