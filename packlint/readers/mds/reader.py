"""The reader of MDS directories: an `index.json` stands for all its shards, a lone shard for itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.layouts.synonyms import SYNONYMS
from packlint.readers.mds.encodings import Encoding, parse_encoding
from packlint.readers.mds.files import read_shard_file
from packlint.readers.mds.index import INDEX_NAME, Entry, FileClaim, is_index, read_index
from packlint.readers.mds.layout import mds_layout
from packlint.readers.mds.raw_bytes import infer_dtype
from packlint.readers.mds.shard import MdsShard, open_table
from packlint.readers.shard import Role, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.values import BadRowError

__all__ = ["MdsReader"]

_CONFIG_HEAD = b'{"column_encodings"'
_MAX_CONFIG_BYTES = 1 << 20
_SAMPLED_VALUES = 8
_BYTES_DTYPES = ("int64", "int32", "uint32", "uint16", "uint64", "int16", "uint8")


class MdsReader:
    """Recognise and open MDS directories."""

    format = "mds"
    title = "MosaicML Streaming directory (index.json + .mds, plain or compressed): LLM Foundry, ProLong"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell an index by its keys, a shard by its configuration or by the index beside it."""
        if is_index(head):
            return True
        if len(head) >= 8:
            begin = 8 + 4 * int.from_bytes(head[:4], "little")
            is_within = begin + len(_CONFIG_HEAD) <= source.size
            if is_within and source.read(begin, len(_CONFIG_HEAD)) == _CONFIG_HEAD:
                return True
        return _listed(source.sibling(INDEX_NAME), source.name) is not None

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shards that an index lists, or the one shard.

        Raises:
            UnreadableError: the index or the shard is damaged, or no column holds token ids.
        """
        folder = name.rpartition("/")[0]
        prefix = f"{folder}/" if folder else ""
        if is_index(source.read(0, 4096)):
            entries = read_index(source)
            if not entries:
                raise UnreadableError("the index lists no shards")
            types: dict[str, tuple[str, str]] = {}
            return [_open(source, entry, prefix + entry.raw.basename, settings, types) for entry in entries]
        index = source.sibling(INDEX_NAME)
        listed = _listed(index, source.name)
        if listed is not None:
            return [_open(index, listed, prefix + listed.raw.basename, settings, {})]
        shard = _open(source, _own_entry(source, source.name), name, settings, {})
        return [replace(shard, is_listed=not index.exists())]


def _open(
    index: Source, entry: Entry, name: str, settings: Settings, types: dict[str, tuple[str, str]]
) -> MdsShard:
    """Return the shard of an entry; `types` remembers what columns of bytes of the same index hold."""
    pairs = zip(entry.names, entry.encodings, entry.sizes, strict=True)
    encodings = {column: parse_encoding(text, size) for column, text, size in pairs}
    ids = _bytes_ids(encodings, settings)
    why: str | None = None
    dtype: str | None = None
    if ids is not None:
        if ids not in types:
            types[ids] = _bytes_dtype(index, entry, ids, settings)
        dtype, why = types[ids]
        encodings[ids] = Encoding("bytes", dtype)
    layout = mds_layout(encodings, settings, dtype)
    if why is not None:
        layout = replace(layout, evidence=(*layout.evidence, why))
    return MdsShard(
        name=name,
        layout=layout,
        spec=_spec(encodings[layout.columns[Role.INPUT_IDS]], why),
        index=index,
        entry=entry,
        encodings=encodings,
    )


def _spec(encoding: Encoding, why: str | None) -> DatasetSpec:
    if encoding.dtype is None:
        return DatasetSpec()
    origin = Origin.FORMAT if why is None else Origin.DETECTED
    return DatasetSpec(token_dtype=Known(encoding.dtype, origin, why or f"stored as {encoding.text}"))


def _bytes_ids(encodings: dict[str, Encoding], settings: Settings) -> str | None:
    """Return the column of token ids if it is stored as bytes without a type."""
    wanted = settings.columns.get(Role.INPUT_IDS.value)
    names = (wanted,) if wanted else SYNONYMS[Role.INPUT_IDS]
    found = next((name for name in names if name in encodings), None)
    return found if found is not None and encodings[found].text == "bytes" else None


def _bytes_dtype(index: Source, entry: Entry, column: str, settings: Settings) -> tuple[str, str]:
    """Return the type of token ids stored as bytes, and how it is known."""
    given = settings.token_dtype
    if given is not None:
        if given not in _BYTES_DTYPES:
            raise UnreadableError(
                f"[spec] token_dtype = {given!r}; here it can be {', '.join(_BYTES_DTYPES)}"
            )
        return given, f"column {column} is stored as bytes; [spec] says that they are {given}"
    dtype = infer_dtype(_first_values(index, entry, column))
    if dtype is None:
        raise UnreadableError(
            f"column {column} is stored as bytes and nothing says of what type; "
            'give [spec] token_dtype, for instance "int64"'
        )
    return dtype, f"column {column} is stored as bytes; inferred: only as {dtype} are they plausible ids"


def _first_values(index: Source, entry: Entry, column: str) -> list[bytes]:
    content = read_shard_file(index, entry)
    if content.data is None:
        return []
    table = open_table(content.data, entry)
    found: list[bytes] = []
    for sample in range(min(table.n_samples, _SAMPLED_VALUES)):
        try:
            start, stop = table.places(sample)[column]
        except BadRowError:
            continue
        found.append(table.data[start:stop].tobytes())
    return found


def _listed(index: Source, file_name: str) -> Entry | None:
    """Return what the index beside a file says of it, if it lists it as a shard, plain or compressed."""
    try:
        if not is_index(index.read(0, 4096)):
            return None
        entries = read_index(index)
    except UnreadableError:
        return None
    for entry in entries:
        if entry.raw.basename == file_name or (entry.packed and entry.packed.basename == file_name):
            return entry
    return None


def _own_entry(source: Source, file_name: str) -> Entry:
    """Return what a shard says of itself."""
    head = source.read(0, 8)
    n_samples, first = int.from_bytes(head[:4], "little"), int.from_bytes(head[4:], "little")
    begin = 8 + 4 * n_samples
    n_bytes = first - begin
    if not 0 < n_bytes <= _MAX_CONFIG_BYTES:
        raise UnreadableError(f"the configuration in the shard has {n_bytes} bytes")
    try:
        config = json.loads(source.read(begin, n_bytes))
        names, encodings = tuple(config["column_names"]), tuple(config["column_encodings"])
        sizes = tuple(config["column_sizes"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableError("the configuration in the shard is damaged") from None
    is_text = all(isinstance(text, str) for text in (*names, *encodings))
    is_size = all(size is None or (type(size) is int and 0 <= size < 1 << 32) for size in sizes)
    if not (is_text and is_size and len(names) == len(encodings) == len(sizes)):
        raise UnreadableError("the configuration in the shard is damaged")
    return Entry(FileClaim(file_name, source.size), None, None, n_samples, names, encodings, sizes)
