"""A pickle machine that builds lists, dicts, numbers, strings and arrays, and can do nothing else.

`numpy.save` of an object array writes a pickle. Python's own unpickler would import and call what the file
says, and allocate what it claims. This one knows 40 opcodes, imports nothing, and calls nothing: the five
names that numpy writes become marks on the stack, and what they would have built is put together here.

    opcodes    EMPTY_LIST ( 1 2 3 … APPENDS        one regular expression takes a run of numbers whole
    stack      List(chunks=[array([1, 2, 3, …])])   and turns it into one array: 8 bytes per token

A list of a million tokens costs a thousand steps (numpy and CPython write batches of 1,000), not a million.

Source: `Lib/pickletools.py` (CPython 3.11) for the opcodes; `numpy/lib/_format_impl.py`, `write_array`.
"""

from __future__ import annotations

import pickle
import re
import struct
from collections.abc import Callable
from typing import Any

from packlint.errors import UnreadableError
from packlint.readers.numpy_files.pickled_values import (
    Array,
    Dtype,
    Items,
    Named,
    Pickled,
    as_items,
    compact,
    numbers,
)

__all__ = ["load_object_array"]

_RUN = re.compile(rb"(?:K.|M..|J....|G.{8}|[\x88\x89]){1,4096}+", re.DOTALL)
"""Integers, floats and booleans: what the unpickler of CPython can be trusted with."""
_FRAME, _FRAME_BYTES, _APPENDS = 0x95, 9, ord("e")
_GLOBALS = {
    ("numpy.core.multiarray", "_reconstruct"): "reconstruct",
    ("numpy._core.multiarray", "_reconstruct"): "reconstruct",
    ("numpy.core.multiarray", "scalar"): "scalar",
    ("numpy._core.multiarray", "scalar"): "scalar",
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): "dtype",
}
_MAX_LINE_BYTES = 64


class _Stop(Exception):
    """End of the pickle."""


def load_object_array(data: bytes) -> list[Pickled]:
    """Return the objects of a pickled one-dimensional object array.

    Args:
        data: the pickle, without the header before it.

    Raises:
        UnreadableError: it is damaged, or asks for anything but plain data.
    """
    machine = _Machine(data)
    try:
        machine.run()
    except (IndexError, struct.error, TypeError, ValueError, OverflowError, KeyError) as error:
        place = f"the pickle is damaged at byte {machine.at}"
        raise UnreadableError(f"{place}: {type(error).__name__}") from None
    result = machine.result
    if isinstance(result, Array):
        result = result.values
    if not isinstance(result, Items):
        raise UnreadableError("the pickle holds no array of objects")
    return [value for chunk in result.chunks for value in (chunk if isinstance(chunk, list) else [chunk])]


class _Machine:
    """Run the opcodes of one pickle."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.result: Pickled = None
        self._stack: list[Pickled] = []
        self._marks: list[int] = []
        self._memo: dict[int, Pickled] = {}

    def run(self) -> None:
        """Run to the end of the pickle."""
        try:
            while True:
                op = self.data[self.at]
                self.at += 1
                step = _STEPS.get(op)
                if step is None:
                    raise UnreadableError(
                        f"the pickle uses opcode {op:#04x} at byte {self.at - 1}, which plain rows never need"
                    )
                step(self)
        except _Stop:
            return

    def take(self, n_bytes: int) -> bytes:
        taken = self.data[self.at : self.at + n_bytes]
        if len(taken) != n_bytes:
            raise IndexError
        self.at += n_bytes
        return taken

    def number(self, fmt: str) -> Any:
        value = struct.unpack_from(fmt, self.data, self.at)[0]
        self.at += struct.calcsize(fmt)
        return value

    def _line(self) -> str:
        stop = self.data.index(b"\n", self.at, self.at + _MAX_LINE_BYTES)
        line = self.data[self.at : stop].decode("ascii")
        self.at = stop + 1
        return line

    def push(self, value: Pickled) -> None:
        self._stack.append(value)

    def _pop(self) -> Pickled:
        if self._marks and len(self._stack) <= self._marks[-1]:
            raise IndexError
        return self._stack.pop()

    def pop_to_mark(self) -> list[Pickled]:
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def mark(self) -> None:
        values, at = self._run()
        if values is None:
            self._marks.append(len(self._stack))
            return
        as_items(self._stack[-1]).extend(compact(values))
        self.at = at

    def _run(self) -> tuple[list[Any] | None, int]:
        """Return the numbers from here to APPENDS and where they end; none if anything else is among them."""
        pieces: list[bytes] = []
        at, n_bytes = self.at, len(self.data)
        while at < n_bytes and len(pieces) < 4:
            if self.data[at] == _FRAME:  # frames of 64 KiB fall where they will
                at += _FRAME_BYTES
            run = _RUN.match(self.data, at)
            if run is None:
                break
            pieces.append(run.group())
            at = run.end()
        if not pieces or at >= n_bytes or self.data[at] != _APPENDS:
            return None, self.at
        # These bytes are numbers and nothing else, so that nothing can be imported or called.
        return pickle.loads(b"](" + b"".join(pieces) + b"e."), at + 1

    def protocol(self) -> None:
        self.take(1)

    def frame(self) -> None:
        self.take(8)

    def stop(self) -> None:
        self.result = self._pop()
        raise _Stop

    def mark_tuple(self) -> None:
        self.push(tuple(self.pop_to_mark()))

    def tuple_of(self, n_values: int) -> None:
        values = [self._pop() for _ in range(n_values)]
        self.push(tuple(reversed(values)))

    def append(self) -> None:
        value = self._pop()
        as_items(self._stack[-1]).extend([value])

    def appends(self) -> None:
        values = self.pop_to_mark()
        as_items(self._stack[-1]).extend(values)

    def set_items(self, values: list[Pickled]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict) or len(values) % 2:
            raise TypeError
        for key, value in zip(values[::2], values[1::2], strict=True):
            if not isinstance(key, str):
                raise UnreadableError("a row has a key that is no string")
            target[key] = value

    def set_item(self) -> None:
        value = self._pop()
        self.set_items([self._pop(), value])

    def remember(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def memoize(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def recall(self, index: int) -> None:
        self.push(self._memo[index])

    def text(self, n_bytes: int) -> None:
        self.push(self.take(n_bytes).decode("utf-8", "surrogatepass"))

    def big_integer(self, n_bytes: int) -> None:
        self.push(int.from_bytes(self.take(n_bytes), "little", signed=True))

    def name(self, module: Pickled, attribute: Pickled) -> None:
        # Anything but text is refused before it is hashed or shown: tuples can be nested without end.
        if not isinstance(module, str) or not isinstance(attribute, str):
            raise TypeError
        known = _GLOBALS.get((module, attribute))
        if known is None:
            wanted = f"{module}.{attribute}"[:80]
            raise UnreadableError(f"the pickle asks for {wanted!r}, which plain rows never need: not run")
        self.push(Named(known))

    def global_name(self) -> None:
        module = self._line()
        self.name(module, self._line())

    def stack_name(self) -> None:
        attribute = self._pop()
        self.name(self._pop(), attribute)

    def reduce(self) -> None:
        arguments, called = self._pop(), self._pop()
        if not isinstance(called, Named) or not isinstance(arguments, tuple):
            raise UnreadableError("the pickle calls something that is no part of an array: not run")
        if called.name == "reconstruct":
            self.push(Array())
        elif called.name == "dtype":
            self.push(Dtype(arguments[0]))
        elif called.name == "scalar":
            self.push(numbers(arguments[0], arguments[1]).item())
        else:
            raise UnreadableError(f"the pickle calls numpy.{called.name}: not run")

    def build(self) -> None:
        state = self._pop()
        target = self._stack[-1]
        if isinstance(target, Dtype) and isinstance(state, tuple):
            target.order = state[1]
        elif isinstance(target, Array) and isinstance(state, tuple):
            _, shape, dtype, _, values = state
            target.values = values if isinstance(values, Items) else numbers(dtype, values)
            if len(shape) != 1 or target.values is None:
                raise UnreadableError(f"an array in the pickle has {len(shape)} axes, expected one")
        else:
            raise UnreadableError("the pickle sets the state of something that is no array: not run")


_STEPS: dict[int, Callable[[_Machine], None]] = {
    0x80: _Machine.protocol,
    0x95: _Machine.frame,
    ord("."): _Machine.stop,
    ord("("): _Machine.mark,
    ord("]"): lambda m: m.push(Items()),
    ord("}"): lambda m: m.push({}),
    ord(")"): lambda m: m.push(()),
    ord("t"): _Machine.mark_tuple,
    0x85: lambda m: m.tuple_of(1),
    0x86: lambda m: m.tuple_of(2),
    0x87: lambda m: m.tuple_of(3),
    ord("a"): _Machine.append,
    ord("e"): _Machine.appends,
    ord("s"): _Machine.set_item,
    ord("u"): lambda m: m.set_items(m.pop_to_mark()),
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("K"): lambda m: m.push(m.number("<B")),
    ord("M"): lambda m: m.push(m.number("<H")),
    ord("J"): lambda m: m.push(m.number("<i")),
    0x8A: lambda m: m.big_integer(m.number("<B")),
    ord("G"): lambda m: m.push(m.number(">d")),
    0x8C: lambda m: m.text(m.number("<B")),
    ord("X"): lambda m: m.text(m.number("<I")),
    ord("C"): lambda m: m.push(m.take(m.number("<B"))),
    ord("B"): lambda m: m.push(m.take(m.number("<I"))),
    0x8E: lambda m: m.push(m.take(m.number("<Q"))),
    ord("q"): lambda m: m.remember(m.number("<B")),
    ord("r"): lambda m: m.remember(m.number("<I")),
    0x94: _Machine.memoize,
    ord("h"): lambda m: m.recall(m.number("<B")),
    ord("j"): lambda m: m.recall(m.number("<I")),
    ord("c"): _Machine.global_name,
    0x93: _Machine.stack_name,
    ord("R"): _Machine.reduce,
    ord("b"): _Machine.build,
}
"""What the machine can do. Not among it: INST, OBJ, NEWOBJ, EXT, PERSID, sets, text opcodes of protocol 0."""
