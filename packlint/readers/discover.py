"""Paths, URLs, globs and directories → the shards to read, each with a name that no machine changes."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from urllib.parse import unquote

from packlint.errors import NoInputError, UnreadableError
from packlint.readers import READERS, remote
from packlint.readers.naming import display_name, unique_names
from packlint.readers.shard import Reader, Settings, Shard
from packlint.readers.sidecars import datasets_files, index_of, is_sidecar, is_stale, promises_data
from packlint.readers.source import Source

__all__ = ["Candidate", "discover", "load_readers", "open_candidate", "open_shards"]

_HEAD_BYTES = 4096
_MAX_DEPTH = 64
_REMOTE_THREADS = 16
"""Opening a remote shard is waiting for a few answers."""

_Opened = Sequence[Shard] | UnreadableError
_Opener = Callable[["Candidate", Settings], Sequence[Shard]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Name a file that may be a shard.

    Args:
        source: the file.
        name: path relative to the inputs, unique among all candidates.
        given: the input that it was found by.
        is_explicit: it was named or matched by a glob, not found in a directory.
    """

    source: Source
    name: str
    given: str
    is_explicit: bool


def discover(inputs: Sequence[str]) -> list[Candidate]:
    """Return the files that the inputs name, sorted by name, each once.

    Args:
        inputs: paths and URLs of files and directories, prefixes of `.idx` files, globs (`**` crosses
            directories). Only URLs cause any network traffic.

    Raises:
        NoInputError: an input matches no file, or is remote and cannot be reached.
        UsageError: the package for a kind of URL is missing.
    """
    found: dict[str, Candidate] = {}
    for given in inputs:
        candidates = list(_expand(given))
        if not candidates:
            raise NoInputError(f"{_as_shown(given)}: no file here that could be a shard")
        for candidate in candidates:
            # Links stay apart: the same content under two names is a finding, not ours to hide.
            source = candidate.source
            key = source.location if source.is_remote else os.path.abspath(source.location)
            if key not in found or candidate.is_explicit:
                found[key] = candidate
    names = unique_names({c.source: c.name for c in found.values()})
    return sorted((replace(c, name=names[c.source]) for c in found.values()), key=lambda c: c.name)


def open_shards(
    inputs: Sequence[str], settings: Settings, open_one: _Opener | None = None
) -> tuple[list[Shard], list[tuple[str, UnreadableError]]]:
    """Return the shards that the inputs name, sorted by name, and the files that are damaged or unknown.

    Args:
        inputs: as `discover` takes them.
        settings: what the user told about them.
        open_one: opens one file; none for `open_candidate`.

    Raises:
        NoInputError: an input matches no file, or none that is a shard.
    """
    shards: list[Shard] = []
    errors: list[tuple[str, UnreadableError]] = []
    candidates = discover(inputs)
    barren = {candidate.given for candidate in candidates}
    all_opened = _open_all(
        candidates, partial(_try_open, settings=settings, open_one=open_one or open_candidate)
    )
    for candidate, opened in zip(candidates, all_opened, strict=True):
        if isinstance(opened, UnreadableError):
            errors.append((candidate.name, opened))
        elif not opened:
            continue
        else:
            shards.extend(opened)
        barren.discard(candidate.given)
    if barren:
        raise NoInputError(f"{_as_shown(min(barren))}: no file here is of a format that packlint reads")
    # The shards of an MDS directory come with its index, with a merged one above it, and as files.
    unique = {shard.name: shard for shard in reversed(shards)}
    return [unique[name] for name in sorted(unique)], errors


@cache
def load_readers() -> tuple[Reader, ...]:
    """Return one reader of every format, the surest first."""
    return tuple(getattr(import_module(module), name)() for module, name in READERS)


def _open_all(candidates: Sequence[Candidate], open_it: Callable[[Candidate], _Opened]) -> Iterator[_Opened]:
    if not any(candidate.source.is_remote for candidate in candidates):
        yield from map(open_it, candidates)
        return
    load_readers()
    with ThreadPoolExecutor(_REMOTE_THREADS) as pool:
        yield from pool.map(open_it, candidates)


def _try_open(candidate: Candidate, settings: Settings, open_one: _Opener) -> _Opened:
    try:
        return open_one(candidate, settings)
    except UnreadableError as error:
        return error


def open_candidate(candidate: Candidate, settings: Settings) -> Sequence[Shard]:
    """Return the shards of a file; none if it was found in a directory and is no data file.

    Raises:
        UnreadableError: it is damaged, or of no format that packlint reads.
    """
    source = candidate.source
    head = source.read(0, _HEAD_BYTES)
    for reader in load_readers():
        if reader.sniff(source, head):
            return reader.open(source, candidate.name, settings)
    if not (candidate.is_explicit or promises_data(source)):
        return ()
    what = "an unknown format; `packlint formats` lists those it reads" if head else "empty"
    raise UnreadableError(f"the file is {what}")


def _expand(given: str) -> Iterator[Candidate]:
    if given.lower().startswith("file://"):
        yield from _expand_as(given, Source(unquote(given[len("file://") :])))
    elif remote.is_remote(given):
        yield from _expand_url(given)
    else:
        yield from _expand_as(given, Source(given))


def _expand_as(given: str, source: Source) -> Iterator[Candidate]:
    if source.is_folder():
        yield from _in_folder(source, given)
    elif source.exists() or index_of(source) is not None:
        yield _explicit(source, given)
    elif glob.has_magic(source.location):
        found = map(Source, sorted(glob.glob(source.location, recursive=True)))
        yield from _matches([(match, match.is_folder()) for match in found], given)
    else:
        raise NoInputError(f"{given}: no such file or directory")


def _expand_url(given: str) -> Iterator[Candidate]:
    """Yield the files of a URL; whatever goes wrong on the way is no finding about the data."""
    source = Source(given)
    try:
        remote.forget(given)
        if glob.has_magic(source.shown) and not source.exists():
            found = [(Source(url), is_folder) for url, is_folder in remote.matches(given)]
            yield from _matches(found, given)
        elif _is_there(source) and source.is_folder():
            yield from _in_folder(source, given)
        else:
            yield _explicit(source, given)
    except UnreadableError as error:
        raise NoInputError(f"{source.shown}: {error}") from None


def _is_there(source: Source) -> bool:
    """Tell whether something is at a URL; a prefix of an `.idx` is not, and will do.

    Raises:
        UnreadableError: neither is there, or nobody can tell.
    """
    try:
        return source.is_folder() or source.size >= 0
    except remote.MissingError:
        if index_of(source) is None:
            raise
        return False


def _matches(found: Sequence[tuple[Source, bool]], pattern: str) -> Iterator[Candidate]:
    listed = cache(datasets_files)
    for match, is_folder in found:
        if not is_folder:
            if index_of(match) is not None or not (is_sidecar(match) or _is_stale(match, listed)):
                yield _explicit(match, pattern)
        elif "**" not in pattern:
            yield from _in_folder(match, pattern)


def _is_stale(source: Source, listed: Callable[[Source], frozenset[str] | None]) -> bool:
    return source.suffix == ".arrow" and is_stale(source, listed(source.parent))


def _explicit(source: Source, given: str) -> Candidate:
    source = index_of(source) or source
    return Candidate(source, display_name(source), given, is_explicit=True)


def _in_folder(folder: Source, given: str) -> Iterator[Candidate]:
    base = folder if folder.is_remote else Source(os.path.abspath(folder.location))
    for source, name in _walk(base, base.name, frozenset()):
        yield Candidate(source, name, given, is_explicit=False)


def _walk(folder: Source, name: str, above: frozenset[str]) -> Iterator[tuple[Source, str]]:
    """Yield the files below a folder that could be shards; links that lead back up are not followed."""
    real = folder.location if folder.is_remote else os.path.realpath(folder.location)
    if real in above:
        return
    try:
        entries = folder.children()
    except UnreadableError as error:
        raise NoInputError(f"{folder.shown if folder.is_remote else folder.name}: {error}") from error
    if folder.is_remote and len(above) > _MAX_DEPTH:
        raise NoInputError(f"{folder.shown}: folders are nested more than {_MAX_DEPTH} deep")
    prefix = f"{name}/" if name else ""
    names = {entry.name for entry, _ in entries}
    listed = datasets_files(folder) if "state.json" in names else None
    for entry, is_folder in entries:
        if entry.name.startswith("."):
            continue
        if is_folder:
            yield from _walk(entry, prefix + entry.name, above | {real})
        elif not is_sidecar(entry) and not is_stale(entry, listed):
            yield entry, prefix + entry.name
    # Named by the data set but missing: opening them will say so.
    yield from (
        (folder.child(missing), prefix + missing) for missing in sorted((listed or frozenset()) - names)
    )


def _as_shown(given: str) -> str:
    return Source(given).shown
