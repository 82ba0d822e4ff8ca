"""CRC-32C of many byte strings at once, in numpy.

A checksum is linear over the bits: that of a whole is the XOR of those of its parts, each moved by what
follows it. Records are cut from their end into lanes of 256 bytes; all lanes of all records are summed in
step, eight bytes at a time, then moved into place by powers of two and XORed.

    record   ..111|22222222|33333333      lanes from the end; zeros in front change nothing
    lane 1 moved by 16, lane 2 by 8, lane 3 by 0

Source: RFC 3720 appendix B.4 (polynomial 0x1EDC6F41, reflected 0x82F63B78).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import Int64Array

__all__ = ["LANE_BYTES", "crc32c", "crc32c_of_each"]

LANE_BYTES = 256
"""Bytes that must stand before the first record, whatever they are."""
_POLYNOMIAL = 0x82F63B78
_STEP_BYTES = 8
_Crcs = NDArray[np.uint32]


def crc32c(data: bytes) -> int:
    """Return the checksum of one short byte string."""
    table = _byte_table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def crc32c_of_each(buffer: NDArray[np.uint8], starts: Int64Array, lengths: Int64Array) -> _Crcs:
    """Return `uint32[record]`, the checksums of records inside a buffer.

    Args:
        buffer: `uint8[byte]`, with at least `LANE_BYTES` bytes before the first record.
        starts: `int64[record]`, first byte of each.
        lengths: `int64[record]`, bytes of each.
    """
    n_lanes = np.maximum(-(-lengths // LANE_BYTES), 1)
    first_lane = np.cumsum(n_lanes) - n_lanes
    record = np.repeat(np.arange(lengths.size), n_lanes)
    after = n_lanes[record] - 1 - (np.arange(record.size) - first_lane[record])
    lane_starts = starts[record] + lengths[record] - (after + 1) * LANE_BYTES
    lanes = np.lib.stride_tricks.sliding_window_view(buffer, LANE_BYTES)[lane_starts]
    n_before = n_lanes * LANE_BYTES - lengths
    lanes[first_lane] *= np.arange(LANE_BYTES) >= n_before[:, None]
    moved = _moved(_sum_lanes(lanes), after * LANE_BYTES)
    begin = _moved(np.full(lengths.size, 0xFFFFFFFF, np.uint32), lengths)
    sums: _Crcs = np.bitwise_xor.reduceat(moved, first_lane) if lengths.size else begin
    return sums ^ begin ^ np.uint32(0xFFFFFFFF)


def _sum_lanes(lanes: NDArray[np.uint8]) -> _Crcs:
    """Return `uint32[lane]`, the sums of lanes of 256 bytes, begun with zero."""
    tables = _pair_tables()
    words = np.ascontiguousarray(lanes.view("<u2").T)
    crc: _Crcs = np.zeros(lanes.shape[0], np.uint32)
    for at in range(0, LANE_BYTES // 2, _STEP_BYTES // 2):
        first = words[at] ^ (crc & np.uint32(0xFFFF))
        second = words[at + 1] ^ (crc >> np.uint32(16))
        crc = tables[3].take(first)
        crc ^= tables[2].take(second)
        crc ^= tables[1].take(words[at + 2])
        crc ^= tables[0].take(words[at + 3])
    return crc


def _moved(crcs: _Crcs, n_bytes: Int64Array) -> _Crcs:
    """Return the sums as they are after `n_bytes` zero bytes each."""
    crcs = crcs.copy()
    for power in range(int(n_bytes.max(initial=0)).bit_length()):
        which = np.flatnonzero((n_bytes >> power) & 1)
        if which.size:
            crcs[which] = _apply(_shift(power), crcs[which])
    return crcs


def _apply(operator: NDArray[np.uint32], crcs: _Crcs) -> _Crcs:
    """Return the sums moved by an operator, `uint32[4, 256]`: one table per byte of the sum."""
    moved: _Crcs = operator[0].take(crcs & np.uint32(0xFF))
    for byte in range(1, 4):
        moved ^= operator[byte].take((crcs >> np.uint32(8 * byte)) & np.uint32(0xFF))
    return moved


@cache
def _shift(power: int) -> NDArray[np.uint32]:
    """Return the operator that moves a sum by `2 ** power` zero bytes, as `uint32[4, 256]`."""
    values = np.arange(256, dtype=np.uint32)
    words = values[None, :] << (8 * np.arange(4, dtype=np.uint32))[:, None]
    if power == 0:
        moved: NDArray[np.uint32] = _byte_tables()[0][words & np.uint32(0xFF)] ^ (words >> np.uint32(8))
        return moved
    half = _shift(power - 1)
    return _apply(half, _apply(half, words.reshape(-1))).reshape(4, 256)


@cache
def _byte_tables() -> NDArray[np.uint32]:
    """Return `uint32[8, 256]`: the sum of one byte followed by 0 to 7 zero bytes."""
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = (crc >> np.uint32(1)) ^ np.where(crc & np.uint32(1), np.uint32(_POLYNOMIAL), np.uint32(0))
    tables = [crc]
    for _ in range(7):
        tables.append(tables[0][tables[-1] & np.uint32(0xFF)] ^ (tables[-1] >> np.uint32(8)))
    return np.stack(tables)


@cache
def _byte_table() -> list[int]:
    table: list[int] = _byte_tables()[0].tolist()
    return table


@cache
def _pair_tables() -> NDArray[np.uint32]:
    """Return `uint32[4, 65536]`: the sum of two bytes followed by 0, 2, 4 and 6 zero bytes."""
    tables = _byte_tables()
    pairs = np.arange(1 << 16)
    low, high = pairs & 0xFF, pairs >> 8
    return np.stack([tables[2 * k + 1][low] ^ tables[2 * k][high] for k in range(4)])
