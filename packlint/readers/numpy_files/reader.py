"""The reader of `.npy` files that begin with numpy's magic, as raw arrays of the same name do not."""

from __future__ import annotations

from collections.abc import Sequence

from packlint.errors import UnreadableError
from packlint.readers.numpy_files.arrays import open_array
from packlint.readers.numpy_files.header import HEAD_BYTES, MAGIC, parse_header
from packlint.readers.numpy_files.nemo import open_pickled
from packlint.readers.shard import Settings, Shard
from packlint.readers.source import Source

__all__ = ["NpyReader"]

_PLAN_FILES = ("boundaries.npy", "samples.npy", "paths.json")


class NpyReader:
    """Recognise and open arrays written by `numpy.save`."""

    format = "npy"
    title = "numpy array: packed rows of NeMo 2 and Megatron-Bridge (pickled, read safely), or token ids"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the magic."""
        return head.startswith(MAGIC)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the one shard; none for the second file of an XTuner plan.

        Raises:
            UnreadableError: the file is damaged, holds no token ids, or is a plan of XTuner's.
        """
        if _is_plan(source, source.name):
            if source.name != _PLAN_FILES[0]:
                return ()
            raise UnreadableError(
                "an XTuner pack plan (boundaries.npy, samples.npy, paths.json): it says which samples form a "
                "pack and holds no tokens; check the packed data, or those files that paths.json names"
            )
        header = parse_header(source.read(0, HEAD_BYTES))
        if header.is_pickled:
            return [open_pickled(source, name, header, settings)]
        return [open_array(source, name, header, settings)]


def _is_plan(source: Source, file_name: str) -> bool:
    return file_name in _PLAN_FILES and all(source.sibling(other).exists() for other in _PLAN_FILES)
