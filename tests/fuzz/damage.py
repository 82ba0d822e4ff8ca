"""Ways to damage a folder of files."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["damage"]

_LARGE = (0, 1, 0x7F, 0xFF, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**60, 2**63 - 1, 2**64 - 1)


def damage(folder: Path, rng: np.random.Generator) -> None:
    """Change one to three files of a folder in place.

    Args:
        folder: files of one input; its README is left alone.
        rng: decides everything.
    """
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "README.md")
    for _ in range(rng.integers(1, 4)):
        path = files[rng.integers(len(files))]
        if not path.exists():
            continue
        if rng.random() < 0.03:
            path.unlink()
            continue
        content = bytearray(path.read_bytes())
        for _ in range(rng.integers(1, 4)):
            content = _WAYS[rng.integers(len(_WAYS))](content, rng)
        path.write_bytes(content)


def _truncate(content: bytearray, rng: np.random.Generator) -> bytearray:
    return content[: rng.integers(len(content) + 1)]


def _flip(content: bytearray, rng: np.random.Generator) -> bytearray:
    for _ in range(rng.integers(1, 9)):
        if content:
            content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return content


def _write_number(content: bytearray, rng: np.random.Generator) -> bytearray:
    """Write a hostile number where a count or an offset may stand; most stand near an end."""
    width = int(rng.choice([1, 2, 4, 8]))
    if len(content) < width:
        return content
    room = len(content) - width + 1
    near = int(min(room, 64))
    place = int([rng.integers(near), room - 1 - rng.integers(near), rng.integers(room)][rng.integers(3)])
    number = int(rng.choice(np.array(_LARGE, np.uint64))) % (1 << 8 * width)
    content[place : place + width] = struct.pack("<Q", number)[:width]
    return content


def _write_noise(content: bytearray, rng: np.random.Generator) -> bytearray:
    if not content:
        return bytearray(rng.bytes(16))
    place = int(rng.integers(len(content)))
    noise = rng.bytes(int(rng.integers(1, 33)))
    content[place : place + len(noise)] = noise
    return content


def _cut_out(content: bytearray, rng: np.random.Generator) -> bytearray:
    begin, end = sorted(rng.integers(0, len(content) + 1, 2).tolist())
    return content[:begin] + content[end:]


def _repeat(content: bytearray, rng: np.random.Generator) -> bytearray:
    begin, end = sorted(rng.integers(0, len(content) + 1, 2).tolist())
    return content[:end] + content[begin:]


_WAYS: tuple[Callable[[bytearray, np.random.Generator], bytearray], ...] = (
    _truncate,
    _flip,
    _flip,
    _write_number,
    _write_number,
    _write_noise,
    _cut_out,
    _repeat,
)
