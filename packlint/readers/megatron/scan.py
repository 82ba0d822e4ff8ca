"""Check the lengths and pointers of an index against each other and against the size of the `.bin`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array
from packlint.readers.shard import Fault

__all__ = ["SECTION_TOKENS", "Scan"]

SECTION_TOKENS = 1 << 24
"""Tokens per section: what one worker reads at a time."""


@dataclass(slots=True)
class Scan:
    """Check lengths and pointers in one pass and note where sections begin.

    Args:
        itemsize: bytes of a token.
        n_bin_bytes: size of the `.bin`.
        bin_name: its name, for messages.
        n_tokens: tokens of all sequences seen so far.
        section_sequences: first sequence of each section.
        section_tokens: tokens before each section.
    """

    itemsize: int
    n_bin_bytes: int
    bin_name: str
    n_tokens: int = 0
    section_sequences: list[int] = field(default_factory=list)
    section_tokens: list[int] = field(default_factory=list)
    _expected: int = 0
    _end: int = 0
    _n_jumps: int = 0
    _first_jump: str = ""

    def add(self, first: int, lengths: Int64Array, pointers: Int64Array) -> None:
        """Check the next sequences, of which the first has the number `first`."""
        if (lengths < 0).any():
            at = int((lengths < 0).argmax())
            raise UnreadableError(f"sequence {first + at} has the length {lengths[at]}")
        n_bytes = lengths * self.itemsize
        # A pointer near 2**63 must not overflow the sum, so compare with what is left of the file.
        outside = (pointers < 0) | (pointers > self.n_bin_bytes - n_bytes)
        misplaced = outside | (pointers % self.itemsize != 0)
        if misplaced.any():
            self._raise_misplaced(first, int(misplaced.argmax()), n_bytes, pointers)
        self._note_jumps(first, pointers, pointers + n_bytes)
        offsets = self.n_tokens + np.append(0, np.cumsum(lengths))
        self._note_sections(first, offsets)
        self.n_tokens = int(offsets[-1])
        # Sequences that overlap could ask for any amount of work: the tokens must fit into the file.
        if self.n_tokens * self.itemsize > self.n_bin_bytes:
            raise UnreadableError(
                f"{self.bin_name} has {self.n_bin_bytes} bytes, the first {first + lengths.size} sequences "
                f"alone have {self.n_tokens * self.itemsize}"
            )

    def _raise_misplaced(self, first: int, at: int, n_bytes: Int64Array, pointers: Int64Array) -> None:
        place = f"sequence {first + at} takes {n_bytes[at]} bytes from byte {pointers[at]}"
        if pointers[at] >= 0 and pointers[at] % self.itemsize:
            raise UnreadableError(f"{place}, which is no multiple of the {self.itemsize} bytes of a token")
        raise UnreadableError(f"{place}, but {self.bin_name} has {self.n_bin_bytes} bytes")

    def _note_jumps(self, first: int, begins: Int64Array, ends: Int64Array) -> None:
        expected = np.append(self._expected, ends[:-1])
        jumps = np.flatnonzero(begins != expected)
        if jumps.size and not self._n_jumps:
            at = jumps[0]
            self._first_jump = (
                f"sequence {first + at} begins at byte {begins[at]}, expected byte {expected[at]}"
            )
        self._n_jumps += int(jumps.size)
        self._expected = int(ends[-1])
        self._end = max(self._end, int(ends.max()))

    def _note_sections(self, first: int, offsets: Int64Array) -> None:
        edges = np.append(0, np.flatnonzero(np.diff(offsets[:-1] // SECTION_TOKENS)) + 1)
        self.section_sequences.extend((first + edges).tolist())
        self.section_tokens.extend(offsets[edges].tolist())

    def faults(self) -> tuple[Fault, ...]:
        """Return what is wrong with the set as a whole."""
        found = []
        if self._n_jumps:
            found.append(
                Fault(
                    code="SHD001",
                    message=f"sequences leave gaps or overlap in {self.bin_name}: {self._first_jump}",
                    n_hits=self._n_jumps,
                )
            )
        if self._end < self.n_bin_bytes:
            message = f"{self.bin_name} has {self.n_bin_bytes} bytes, the index ends at byte {self._end}"
            found.append(Fault(code="SHD006", message=message))
        return tuple(found)
