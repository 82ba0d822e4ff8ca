"""Turn whatever a decoder raises over damaged bytes into one line that says where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from packlint.errors import UnreadableError
from packlint.readers.source import Source

__all__ = ["decoding"]

_DAMAGE = (
    OSError,
    pa.ArrowException,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    OverflowError,
    MemoryError,
    RuntimeError,
)
"""What pyarrow is seen to raise on damaged files; thrift errors arrive as `OSError`."""


@contextmanager
def decoding(source: Source, place: str) -> Iterator[None]:
    """Raise `UnreadableError` for an error in the block.

    Args:
        source: the file; its directory is left out of the message, which must not depend on the machine.
        place: what was being decoded, e.g. `row group 3`.

    Raises:
        UnreadableError: the block raised what a decoder raises over damaged bytes.
    """
    try:
        yield
    except _DAMAGE as error:
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise UnreadableError(
            f"{place}: {reason.replace(source.location, source.name).rstrip('.')}"
        ) from error
