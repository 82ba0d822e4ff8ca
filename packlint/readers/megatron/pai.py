"""Packed fine-tuning sets of Pai-Megatron-Patch inside a Megatron container.

    sequence    tokens 0 … L - 1                       labels 0 … L - 1
                5  9  7 -3   8  6 -3   0  0            -100  7  2 -100   6  2 -100  -100 -100
                └ a sample ┘ └ one ┘   └ padding

Each sequence of the index has 2 * L entries: the tokens of a pack and its labels, which are about the next
token. The last token of a sample is stored as `-1 - id`. The trainer starts a new sample after each; a tail
of padding makes one sample more. Nothing in the header says so: sequences of one even length, negative ids in
first halves and the ignored label in second halves do.

Source: `toolkits/sft_data_preprocessing/build_idxmap_sft_dataset.py`, `megatron_patch/data/utils.py`
(alibaba/Pai-Megatron-Patch, a098ca5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import Int64Array, IntArray
from packlint.model.contract import LabelAlignment
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.megatron.index import Index
from packlint.readers.megatron.stretches import take
from packlint.readers.reading import IGNORE_INDEX
from packlint.readers.shard import Layout, PaddingMark, Part, Ragged, RawRows, Role
from packlint.readers.source import ArrayView

__all__ = ["PaiShard", "is_pai", "open_pai"]

_SEEN_SEQUENCES = 64
_PART_TOKENS = 1 << 24


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PaiShard:
    """Read one set of packs of tokens and labels.

    Args:
        name: path of the `.idx` relative to the inputs.
        layout: how its rows are laid out.
        spec: the storage type and the length of the packs.
        index: the checked index.
        row_tokens: tokens of a pack, half of a sequence.
    """

    name: str
    layout: Layout
    spec: DatasetSpec
    index: Index
    row_tokens: int

    @property
    def format(self) -> str:
        """Name of the format."""
        return "megatron"

    @property
    def n_bytes(self) -> int:
        """Bytes of the `.idx` and `.bin`."""
        return self.index.n_bytes

    def parts(self) -> Sequence[Part]:
        """Return ranges of rows of about 16 Mi tokens."""
        n_rows, step = self.index.n_sequences, max(_PART_TOKENS // self.row_tokens, 1)
        return [Part(i, a, min(step, n_rows - a)) for i, a in enumerate(range(0, n_rows, step))]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the packs of a part, about `block_tokens` tokens at a time.

        Raises:
            UnreadableError: the file shrank since it was opened.
        """
        stored = self.index.tokens()
        stop = part.first_row + part.n_rows
        step = max(block_tokens // self.row_tokens, 1)
        faults = self.index.faults if part.index == 0 else ()
        for first in range(part.first_row, stop, step):
            end = min(first + step, stop)
            halves = _halves(stored, self.index.starts(first, end), self.row_tokens)
            columns = _columns(halves[:, 0], halves[:, 1])
            wanted = {role: column for role, column in columns.items() if role in roles}
            yield RawRows(row_numbers=np.arange(first, end), columns=wanted, faults=faults)
            faults = ()


def is_pai(index: Index) -> bool:
    """Tell whether a set holds packs of tokens and labels, by its lengths and its first sequences."""
    if index.header.dtype.kind != "i" or index.n_sequences == 0:
        return False
    length, rest = divmod(index.n_tokens, index.n_sequences)
    if rest or length % 2 or length == 0:
        return False
    for first in range(0, index.n_sequences, 1 << 18):
        if (index.lengths(first, min(first + (1 << 18), index.n_sequences)) != length).any():
            return False
    starts = index.starts(0, min(index.n_sequences, _SEEN_SEQUENCES))
    halves = _halves(index.tokens(), starts, length // 2)
    tokens, labels = halves[:, 0], halves[:, 1]
    has_marks = bool((tokens < 0).any()) and not bool((tokens == IGNORE_INDEX).all())
    return has_marks and bool((labels == IGNORE_INDEX).any()) and not bool((labels < IGNORE_INDEX).any())


def open_pai(index: Index, name: str) -> PaiShard:
    """Return the shard over a set of which `is_pai` is true."""
    row_tokens = index.n_tokens // index.n_sequences // 2
    dtype, bin_name = index.header.dtype.name, index.bin.name
    layout = Layout(
        producer="Pai-Megatron-Patch, packed fine-tuning set",
        trainer="pai-megatron",
        columns={
            Role.INPUT_IDS: f"{bin_name}, first halves",
            Role.LABELS: f"{bin_name}, second halves",
            # The marks make the trainer's offsets; as lengths they also cover the tail of padding.
            Role.CU_SEQLENS: "negative ids",
            Role.SEQ_LENS: "negative ids",
        },
        evidence=(
            "magic MMIDIDX, version 1",
            f"dtype code {index.header.dtype_code}: tokens are {dtype}",
            f"{index.n_sequences} sequences, all of {2 * row_tokens} entries: {row_tokens} tokens and as "
            "many labels; negative ids end the samples (build_idxmap_sft_dataset.py)",
        ),
        alignment=LabelAlignment.PRESHIFTED,
        padding=PaddingMark.LAST_LENGTH,
    )
    why = f"dtype code {index.header.dtype_code} in the .idx"
    spec = DatasetSpec(
        token_dtype=Known(dtype, Origin.FORMAT, why),
        max_seq_len=Known(row_tokens, Origin.FORMAT, "half the length of every sequence"),
    )
    return PaiShard(name=name, layout=layout, spec=spec, index=index, row_tokens=row_tokens)


def _halves(stored: ArrayView, starts: Int64Array, row_tokens: int) -> IntArray:
    """Return `int[row, half, token]`: a view of the file where the sequences adjoin."""
    return take(stored, starts, np.full(starts.size, 2 * row_tokens)).reshape(-1, 2, row_tokens)


def _columns(tokens: IntArray, labels: IntArray) -> dict[Role, Ragged]:
    n_rows, length = tokens.shape
    is_last = tokens < 0
    ids = np.where(is_last, -1 - tokens, tokens).reshape(-1)
    offsets = np.arange(n_rows + 1) * length
    ends = is_last.copy()
    ends[:, -1] = True  # what follows the last mark is one sample more
    row, place = np.nonzero(ends)
    per_row = np.bincount(row, minlength=n_rows)
    stops = place + 1
    first = np.append(True, row[1:] != row[:-1])
    lengths = np.where(first, stops, stops - np.append(0, stops[:-1]))
    len_offsets = np.append(0, np.cumsum(per_row))
    cu = np.insert(stops, len_offsets[:-1], 0)
    return {
        Role.INPUT_IDS: Ragged(ids, offsets),
        Role.LABELS: Ragged(np.ascontiguousarray(labels).reshape(-1), offsets),
        Role.SEQ_LENS: Ragged(lengths, len_offsets),
        Role.CU_SEQLENS: Ragged(cu, len_offsets + np.arange(n_rows + 1)),
    }
