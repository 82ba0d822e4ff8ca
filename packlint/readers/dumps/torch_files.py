"""The reader of PyTorch `.pt` files, by torch's own safe loader: the extra `torch`.

    archive/data.pkl      a pickle of tensors, lists and dicts: read by `torch.load(weights_only=True)` only
    archive/data/0        the numbers of a tensor
    archive/version

The loader refuses everything that is not plain data. Tensors that claim more numbers than the file holds, by
strides of zero, are refused here.

Source: `torch/serialization.py` (pytorch 2.13), `torch.save` with the zip format, the default since 1.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from packlint.errors import UnreadableError
from packlint.readers.dumps.members import MAX_EMPTY_ROWS
from packlint.readers.dumps.shard import loaded_shard
from packlint.readers.dumps.zip_files import MAGIC, list_members, opened_zip
from packlint.readers.memory.items import Items
from packlint.readers.memory.shard import open_items
from packlint.readers.shard import Settings, Shard
from packlint.readers.source import Source

__all__ = ["TorchReader"]

_MAX_SHARED = 4
"""Bytes of all tensors per byte of the file: tensors may share numbers, but not without bound."""


class TorchReader:
    """Recognise and open `.pt` files in torch's zip format."""

    format = "torch"
    title = "PyTorch .pt with a batch or a list of rows, read by torch's safe loader (extra `torch`)"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the zip magic and a member `data.pkl` one folder down."""
        if not head.startswith(MAGIC):
            return False
        try:
            with opened_zip(source) as archive:
                names = archive.namelist()
        except UnreadableError:
            return b"/data.pkl" in head[:256]
        return any(name.endswith("/data.pkl") and name.count("/") == 1 for name in names)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return one shard, or one per prefix of the keys.

        Raises:
            UnreadableError: torch is missing or refuses the file, or it holds no token ids.
        """
        with opened_zip(source) as archive:
            list_members(archive, source.size)
        shards: list[Shard] = []
        failure = UnreadableError("it holds no tensors")
        for suffix in _suffixes(_load(source)):
            try:
                memory = open_items(Items(_Loaded(source, suffix)), name + suffix, settings)
            except UnreadableError as error:
                failure = error
            except RecursionError:
                raise UnreadableError("lists are nested too deeply") from None
            else:
                shards.append(loaded_shard(memory, format_name=self.format, n_bytes=source.size))
        if not shards:
            raise failure
        return shards


class _Loaded:
    """Give the rows or batches of a file anew each time they are iterated over."""

    def __init__(self, source: Source, suffix: str) -> None:
        self._source = source
        self._prefix = suffix.removeprefix(":") + "." if suffix else ""

    def __iter__(self) -> Iterator[object]:
        data = _load(self._source)
        if isinstance(data, Mapping):
            found = {key.removeprefix(self._prefix): v for key, v in data.items() if isinstance(key, str)}
            yield {k: v for k, v in found.items() if not self._prefix or self._prefix + k in data}
        elif isinstance(data, (list, tuple)):
            yield from data
        else:
            yield {"input_ids": data}


def _suffixes(data: object) -> list[str]:
    """Return the ends of the shards' names: one per prefix of the keys, if all have one."""
    if not isinstance(data, Mapping):
        return [""]
    prefixes = [key.rpartition(".")[0] if isinstance(key, str) else "" for key in data]
    return [f":{p}" for p in dict.fromkeys(prefixes)] if prefixes and all(prefixes) else [""]


def _load(source: Source) -> Any:
    try:
        import torch
    except ImportError:
        raise UnreadableError("PyTorch files need a package: pip install 'packlint[torch]'") from None
    with source.open() as file:
        try:
            data = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # whatever torch raises over damage or a forbidden global
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UnreadableError(f"torch.load(weights_only=True) refuses it: {reason[:200]}") from None
    n_bytes = sum(_sizes(data))
    if n_bytes > _MAX_SHARED * source.size:
        raise UnreadableError(f"its tensors claim {n_bytes} bytes, the file has {source.size}")
    return data


def _tensor_bytes(tensor: Any) -> int:
    shape = tuple(tensor.shape)
    if 0 in shape and max(shape) > MAX_EMPTY_ROWS:
        raise UnreadableError(f"a tensor claims the shape {shape} and has no values")
    return int(tensor.numel()) * int(tensor.element_size())


def _sizes(data: object) -> Iterator[int]:
    """Yield the bytes that each tensor would take by itself; every reference counts."""
    waiting, n_left = [data], 1 << 24
    while waiting and n_left:
        n_left -= 1
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple)):
            if value and isinstance(value[0], (int, float, bool)):
                yield 8 * len(value)
            else:
                waiting.extend(value)
        elif hasattr(value, "numel") and hasattr(value, "element_size"):
            yield _tensor_bytes(value)
    if waiting:
        raise UnreadableError("it holds more than 16 Mi values outside tensors")
