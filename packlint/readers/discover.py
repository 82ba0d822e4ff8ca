"""Paths, globs and directories → the shards to read, each with a name that does not depend on the machine."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path

from packlint.errors import NoInputError, UnreadableError
from packlint.readers import READERS
from packlint.readers.naming import display_name, unique_names
from packlint.readers.shard import Reader, Settings, Shard
from packlint.readers.sidecars import datasets_files, index_of, is_sidecar, is_stale, promises_data

__all__ = ["Candidate", "discover", "load_readers", "open_shards"]

_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Candidate:
    """Name a file that may be a shard.

    Args:
        path: the file.
        name: path relative to the inputs, unique among all candidates.
        source: the input that it was found by.
        is_explicit: it was named or matched by a glob, not found in a directory.
    """

    path: Path
    name: str
    source: str
    is_explicit: bool


def discover(inputs: Sequence[str]) -> list[Candidate]:
    """Return the files that the inputs name, sorted by name, each once.

    Args:
        inputs: paths of files and directories, prefixes of `.idx` files, globs (`**` crosses directories).

    Raises:
        NoInputError: an input matches no file.
    """
    found: dict[str, Candidate] = {}
    for source in inputs:
        candidates = list(_expand(source))
        if not candidates:
            raise NoInputError(f"{source}: no file here that could be a shard")
        for candidate in candidates:
            # Links stay apart: the same content under two names is a finding, not ours to hide.
            key = os.path.abspath(candidate.path)
            if key not in found or candidate.is_explicit:
                found[key] = candidate
    names = unique_names({c.path: c.name for c in found.values()})
    return sorted((replace(c, name=names[c.path]) for c in found.values()), key=lambda c: c.name)


def open_shards(
    inputs: Sequence[str], settings: Settings
) -> tuple[list[Shard], list[tuple[str, UnreadableError]]]:
    """Return the shards that the inputs name, sorted by name, and the files that are damaged or unknown.

    Args:
        inputs: as `discover` takes them.
        settings: what the user told about them.

    Raises:
        NoInputError: an input matches no file, or none that is a shard.
    """
    shards: list[Shard] = []
    errors: list[tuple[str, UnreadableError]] = []
    candidates = discover(inputs)
    barren = {candidate.source for candidate in candidates}
    for candidate in candidates:
        try:
            opened = _open(candidate, settings)
        except UnreadableError as error:
            errors.append((candidate.name, error))
        else:
            if not opened:
                continue
            shards.extend(opened)
        barren.discard(candidate.source)
    if barren:
        raise NoInputError(f"{min(barren)}: no file here is of a format that packlint reads")
    # The shards of an MDS directory come with its index, with a merged one above it, and as files.
    unique = {shard.name: shard for shard in reversed(shards)}
    return [unique[name] for name in sorted(unique)], errors


@cache
def load_readers() -> tuple[Reader, ...]:
    """Return one reader of every format, the surest first."""
    return tuple(getattr(import_module(module), name)() for module, name in READERS)


def _open(candidate: Candidate, settings: Settings) -> Sequence[Shard]:
    """Return the shards of a file; none if it was found in a directory and is no data file."""
    try:
        with candidate.path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}") from error
    for reader in load_readers():
        if reader.sniff(candidate.path, head):
            return reader.open(candidate.path, candidate.name, settings)
    if not (candidate.is_explicit or promises_data(candidate.path)):
        return ()
    what = "an unknown format; `packlint formats` lists those it reads" if head else "empty"
    raise UnreadableError(f"the file is {what}")


def _expand(source: str) -> Iterator[Candidate]:
    path = Path(source)
    if path.is_dir():
        yield from _in_directory(path, source)
    elif path.exists() or index_of(path) is not None:
        yield _explicit(path, source)
    elif glob.has_magic(source):
        yield from _matches(source)
    else:
        raise NoInputError(f"{source}: no such file or directory")


def _matches(pattern: str) -> Iterator[Candidate]:
    for match in map(Path, sorted(glob.glob(pattern, recursive=True))):
        if not match.is_dir():
            if index_of(match) is not None or not (is_sidecar(match) or is_stale(match)):
                yield _explicit(match, pattern)
        elif "**" not in pattern:
            yield from _in_directory(match, pattern)


def _explicit(path: Path, source: str) -> Candidate:
    path = index_of(path) or path
    return Candidate(path, display_name(path), source, is_explicit=True)


def _in_directory(directory: Path, source: str) -> Iterator[Candidate]:
    base = Path(os.path.abspath(directory))
    for path in _walk(base, frozenset()):
        yield Candidate(path, path.relative_to(base.parent).as_posix(), source, is_explicit=False)


def _walk(directory: Path, above: frozenset[str]) -> Iterator[Path]:
    """Yield the files below a directory that could be shards; links that lead back up are not followed."""
    real = os.path.realpath(directory)
    if real in above:
        return
    try:
        entries = sorted(directory.iterdir())
    except OSError as error:
        raise NoInputError(f"{directory.name}: cannot be listed: {error.strerror}") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _walk(entry, above | {real})
        elif entry.is_file() and not is_sidecar(entry) and not is_stale(entry):
            yield entry
    # Named by the data set but missing: opening them will say so.
    missing = (datasets_files(directory) or frozenset()) - {entry.name for entry in entries}
    yield from (directory / name for name in sorted(missing))
