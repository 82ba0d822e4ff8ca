"""Items of a loader: a look at the first few must not use them up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from threading import Lock

from packlint.errors import UnreadableError

__all__ = ["Items"]

MAX_KEPT_BYTES = 1 << 28
"""What is kept of an iterator for reading it again, about; enough for a look, too little for the whole."""


class Items:
    """Give the items of a source from the first on, each time they are asked for.

    A source that makes a new iterator each time (a list, a `DataLoader`) is simply iterated over. Of one
    that is an iterator itself, what was pulled is kept up to a limit: enough for a look at the beginning
    and then one reading of the whole. A reading that goes past the limit lets go of what was kept, and is
    the last one.
    """

    def __init__(self, source: Iterable[object]) -> None:
        """Begin with nothing pulled."""
        self._source = source
        self._kept: list[object] | None = []
        self._n_bytes = 0
        self._n_pulled = 0
        self._lock = Lock()

    @property
    def is_repeatable(self) -> bool:
        """Whether every reading gives the same items in the same order: true of lists only."""
        return isinstance(self._source, (list, tuple))

    def first(self, n_items: int) -> list[object]:
        """Return up to `n_items` items from the beginning."""
        return list(islice(iter(self), n_items))

    def __iter__(self) -> Iterator[object]:
        """Yield the items from the beginning.

        Raises:
            UnreadableError: the source raised, or is an iterator of which the beginning is gone.
        """
        if isinstance(self._source, Iterator):
            return self._replayed(self._source)
        return _guarded(self._source)

    def _replayed(self, source: Iterator[object]) -> Iterator[object]:
        at = 0
        while True:
            with self._lock:
                if at < self._n_pulled and self._kept is None:
                    raise UnreadableError("the iterator can be read only once; pass a list or a loader")
                if at == self._n_pulled:
                    try:
                        self._keep(next(source))
                    except StopIteration:
                        return
                    except Exception as error:
                        raise _failure(at, error) from error
                item = self._last if self._kept is None else self._kept[at]
            at += 1
            yield item

    def _keep(self, item: object) -> None:
        self._last = item
        self._n_pulled += 1
        if self._kept is not None:
            self._kept.append(item)
            self._n_bytes += _n_bytes(item)
            if self._n_bytes > MAX_KEPT_BYTES:
                self._kept = None


def _guarded(source: Iterable[object]) -> Iterator[object]:
    at = 0
    items = iter(source)
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except Exception as error:
            raise _failure(at, error) from error
        at += 1
        yield item


def _failure(at: int, error: Exception) -> UnreadableError:
    return UnreadableError(f"item {at} could not be had: {type(error).__name__}: {error}")


def _n_bytes(value: object) -> int:
    """Return about how much memory an item holds on to."""
    if isinstance(value, Mapping):
        return sum(map(_n_bytes, value.values()))
    if isinstance(value, (list, tuple)):
        first = value[0] if value else None
        return sum(map(_n_bytes, value)) if isinstance(first, (list, tuple)) else 8 * len(value)
    known = getattr(value, "nbytes", 8)
    return known if isinstance(known, int) else 8
