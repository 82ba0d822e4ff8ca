"""Values computed once per batch, on first use, and shared by all rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["derived"]

T = TypeVar("T")


class derived(Generic[T]):
    """Compute a property once and keep it in the owner's `_cache`.

    `functools.cached_property` needs a `__dict__`, which slotted classes do not have.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__
        self._name = compute.__name__

    @overload
    def __get__(self, owner: None, kind: type) -> derived[T]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: Any, kind: type) -> derived[T] | T:
        if owner is None:
            return self
        cache: dict[str, Any] = owner._cache
        if self._name not in cache:
            cache[self._name] = self._compute(owner)
        value: T = cache[self._name]
        return value
