"""Which manifests stand beside or above which shards, and what each says of them.

data/packlint-manifest.json      lists  a.parquet, sub/b.parquet
data/a.parquet                   listed
data/sub/b.parquet               listed: the nearest manifest at or above a shard counts
data/sub/c.parquet               not listed: MAN003
                                 a listed shard that is not there: SHD006
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from packlint.errors import UnreadableError, UsageError
from packlint.manifest.declarations import Declarations
from packlint.manifest.table import FILE_NAME, ManifestTable, read_manifest
from packlint.model.manifest import Manifest
from packlint.model.spec import DatasetSpec
from packlint.readers.discover import Candidate, discover
from packlint.readers.source import Source

__all__ = ["Manifests", "find_places", "load_manifests"]

_Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _File:
    """Hold one manifest file.

    Args:
        name: as the report shows it.
        folder: its folder.
        table: what it says.
        is_given: it was named, not found.
    """

    name: str
    folder: Source
    table: ManifestTable
    is_given: bool


@dataclass(frozen=True, slots=True)
class Manifests:
    """Hold the manifests for some files.

    Args:
        candidates: the files of the run.
        by_candidate: the manifest that stands for each, by its name.
    """

    candidates: Sequence[Candidate]
    by_candidate: Mapping[str, _File]

    @property
    def common_spec(self) -> DatasetSpec:
        """Conventions that all manifests of the run declare alike."""
        specs = [file.table.spec for file in self.by_candidate.values()]
        if not specs or len(specs) < len(self.candidates):
            return DatasetSpec()
        agreed = {
            f.name: known
            for f in fields(DatasetSpec)
            if (known := getattr(specs[0], f.name)) is not None
            and all((other := getattr(spec, f.name)) and other.value == known.value for spec in specs)
        }
        return DatasetSpec(**agreed)

    def declare(self, names: Iterable[str], tokenizer: str = "") -> Declarations:
        """Return what the manifests say of the shards of these names.

        Args:
            names: of all shards that were opened.
            tokenizer: version of the tokenizer of the run, or empty.
        """
        ordered = sorted(names)
        places = find_places(ordered, self.candidates)
        groups: dict[int, tuple[_File, dict[int, _Parts]]] = {}
        specs: dict[str, DatasetSpec] = {}
        for index, name in enumerate(ordered):
            candidate, parts = places[name]
            file = self.by_candidate.get(candidate.name) if candidate else None
            if file is not None:
                groups.setdefault(id(file), (file, {}))[1][index] = parts
                specs[name] = file.table.spec
        found, missing = [], {}
        for file, shards in groups.values():
            manifest, lost = _stand_for(file, shards, self.candidates, tokenizer)
            found.append(manifest)
            if lost:
                missing[file.name] = _lost(lost)
        return Declarations(
            manifests=tuple(sorted(found, key=lambda m: m.name)), specs=specs, missing=missing
        )


def find_places(
    names: Iterable[str], candidates: Sequence[Candidate]
) -> dict[str, tuple[Candidate | None, tuple[str, ...]]]:
    """Return the file that each shard came with, and the folders and name of the shard itself.

    Args:
        names: of the shards; those of a set with an index bear the names of the files that it lists.
        candidates: the files of the run.
    """
    by_name = {candidate.name: candidate for candidate in candidates}
    by_folder: dict[str, Candidate] = {}
    for candidate in candidates:
        by_folder.setdefault(posixpath.dirname(candidate.name), candidate)
    return {name: _place(name, by_name, by_folder) for name in names}


def _place(
    name: str, by_name: Mapping[str, Candidate], by_folder: Mapping[str, Candidate]
) -> tuple[Candidate | None, _Parts]:
    if name in by_name:
        return by_name[name], by_name[name].source.parts
    folder = posixpath.dirname(name)
    while folder not in by_folder:
        if not folder:
            return None, ()
        folder = posixpath.dirname(folder)
    candidate = by_folder[folder]
    rest = posixpath.relpath(name, folder or ".")
    return candidate, (*candidate.source.parent.parts, *rest.split("/"))


def load_manifests(inputs: Sequence[str], given: str | None = None) -> Manifests:
    """Return the manifests beside or above the files that the inputs name; the nearest counts.

    Args:
        inputs: as `discover` takes them.
        given: a manifest for all of them, instead.

    Raises:
        ConfigError: a manifest says what packlint does not understand.
        UsageError: `given` is not there.
    """
    candidates = discover(inputs)
    if given is not None:
        source = Source(given)
        if not source.exists():
            raise UsageError(f"--manifest {source.shown}: no such file")
        file = _File(source.name, source.parent, read_manifest(source), is_given=True)
        return Manifests(candidates, {candidate.name: file for candidate in candidates})
    known: dict[str, _File | None] = {}
    nearest = {c.name: _nearest(c.source.parent, posixpath.dirname(c.name), known) for c in candidates}
    return Manifests(candidates, {name: file for name, file in nearest.items() if file is not None})


def _nearest(folder: Source, shown: str, known: dict[str, _File | None]) -> _File | None:
    """Return the manifest in a folder, or in the nearest one above it; of remote ones only the folder."""
    folder = folder if folder.is_remote else Source(os.path.abspath(folder.location))
    key = folder.location
    if key not in known:
        source = folder.child(FILE_NAME)
        if _is_there(source):
            known[key] = _File(posixpath.join(shown, FILE_NAME), folder, read_manifest(source), False)
        else:
            is_top = folder.is_remote or folder.parent.location == key
            known[key] = None if is_top else _nearest(folder.parent, posixpath.dirname(shown), known)
    return known[key]


def _is_there(source: Source) -> bool:
    try:
        return source.is_file()
    except UnreadableError:
        return False


def _stand_for(
    file: _File, shards: Mapping[int, _Parts], candidates: Sequence[Candidate], tokenizer: str
) -> tuple[Manifest, list[str]]:
    """Return the manifest with its shards, and what it lists that is not there."""
    listed = {index: path for index, parts in shards.items() if (path := _listed_as(file, parts))}
    unmatched = sorted(set(file.table.shards) - set(listed.values()))
    is_near = any(_below(file.folder.parts, parts) is not None for parts in shards.values())
    lost = [path for path in unmatched if is_near and not _is_there(file.folder.child(path))]
    manifest = Manifest(
        name=file.name,
        fields=file.table.fields,
        counts=file.table.counts,
        listed={index: file.table.shards[path] for index, path in listed.items()},
        shards=frozenset(shards),
        lists_shards=bool(file.table.shards),
        is_whole=not unmatched if file.table.shards else _is_whole(file, candidates),
        tokenizer=tokenizer,
    )
    return manifest, lost


def _listed_as(file: _File, parts: _Parts) -> str | None:
    """Return the path under which the manifest lists a shard, or none."""
    below = _below(file.folder.parts, parts)
    if below is not None:
        return below if below in file.table.shards else None
    ends = ("/".join(parts[i:]) for i in range(len(parts)))
    return next((end for end in ends if end in file.table.shards), None)


def _below(folder: _Parts, parts: _Parts) -> str | None:
    return "/".join(parts[len(folder) :]) if parts[: len(folder)] == folder else None


def _is_whole(file: _File, candidates: Sequence[Candidate]) -> bool:
    """Tell whether the run has every file below the manifest; one that was named stands for the run."""
    if file.is_given or file.folder.is_remote:
        return True
    here = {candidate.source.parts for candidate in candidates}
    return {found.source.parts for found in discover([file.folder.location])} <= here


def _lost(paths: Sequence[str]) -> str:
    shards = "1 listed shard is" if len(paths) == 1 else f"{len(paths):,} listed shards are"
    more = ", …" if len(paths) > 3 else ""
    return f"{shards} missing: {', '.join(paths[:3])}{more}"
