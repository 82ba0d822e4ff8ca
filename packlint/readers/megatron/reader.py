"""The reader of Megatron indexed datasets, and of GPT-NeoX pairs of them.

    <p>_text_document.idx  + .bin     one shard; beside it, if GPT-NeoX wrote them,
    <p>_label_document.idx + .bin     its labels, one per token: no shard of its own

Without `max_seq_len` a row is one sequence of the index (what GPTDataset draws from) and stands for a
document; one of more than 4 Mi tokens comes as several rows that all bear its number. With it, row *w* is
the tokens `[w * max_seq_len, (w + 1) * max_seq_len)` of all sequences in file order: the inputs of
Megatron's window *w*, whose labels reach one token further. Megatron shuffles the sequences first, so that
these windows show the same mixture and not the same rows.

Source: `megatron/core/datasets/{indexed_dataset,gpt_dataset}.py` (NVIDIA/Megatron-LM, d98e8a64dd);
`megatron/data/gpt2_dataset.py` (EleutherAI/gpt-neox, ea7aefd8).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from packlint.errors import UnreadableError, UsageError
from packlint.model.arrays import empty_int64
from packlint.model.batch import Unit
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.megatron.index import MAGIC, Index, open_index
from packlint.readers.megatron.pai import is_pai, open_pai
from packlint.readers.megatron.rows import Pair, document_rows, window_rows
from packlint.readers.megatron.scan import SECTION_TOKENS
from packlint.readers.shard import Fault, Layout, PaddingMark, Part, Ragged, RawRows, Role, Settings, Shard
from packlint.readers.source import Source

__all__ = ["MegatronReader", "MegatronShard"]

_BLOCK_FACTOR = 4
"""Mapped tokens of two bytes cost less than decoded ones, so blocks may be larger."""
_TEXT, _LABELS, _REWARDS = "_text_document", "_label_document", "_reward_document"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MegatronShard:
    """Read one indexed dataset.

    Args:
        name: path of the `.idx` relative to the inputs.
        layout: how its rows are laid out.
        spec: what the index says: the storage type.
        pair: the index, and that of the labels, if any.
        window: tokens per row, or none for one row per sequence.
    """

    name: str
    layout: Layout
    spec: DatasetSpec
    pair: Pair
    window: int | None = None

    @property
    def format(self) -> str:
        """Name of the format."""
        return MegatronReader.format

    @property
    def n_bytes(self) -> int:
        """Bytes of the `.idx` and `.bin`, and of the labels'."""
        indices = [index for index in (self.pair.text, self.pair.labels) if index is not None]
        return sum(index.n_bytes for index in indices)

    def parts(self) -> Sequence[Part]:
        """Return ranges of rows of about 16 Mi tokens; one empty range for an empty set."""
        if self.window is None:
            edges = self.pair.text.section_sequences.tolist()
        else:
            n_rows = -(-self.pair.text.n_tokens // self.window)
            edges = [*range(0, n_rows, max(SECTION_TOKENS // self.window, 1)), n_rows]
        if len(edges) < 2:
            return [Part(0, 0, 0)]
        return [Part(i, a, b - a) for i, (a, b) in enumerate(pairwise(edges))]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a part, about `4 * block_tokens` tokens at a time.

        Tokens are views of the mapped file, read-only and in the stored type, where sequences adjoin.

        Raises:
            UnreadableError: the file shrank since it was opened.
        """
        n_tokens = block_tokens * _BLOCK_FACTOR
        faults = self._shard_faults() if part.index == 0 else ()
        if part.n_rows == 0:
            if faults:
                columns = {role: Ragged(empty_int64(), np.zeros(1, np.int64)) for role in self.layout.columns}
                yield RawRows(row_numbers=empty_int64(), columns=columns, faults=faults)
            return
        if self.window is None:
            rows = document_rows(self.pair, part, roles, n_tokens)
        else:
            rows = window_rows(self.pair, part, roles, n_tokens, self.window)
        for raw in rows:
            yield replace(raw, faults=faults + raw.faults)
            faults = ()

    def _shard_faults(self) -> tuple[Fault, ...]:
        text, labels = self.pair.text, self.pair.labels
        if labels is None:
            return text.faults
        faults = list(text.faults)
        faults += [replace(f, message=f"label set: {f.message}") for f in labels.faults]
        extra = labels.n_sequences - text.n_sequences
        if extra > 0:
            message = f"the label set has {extra} more sequences than the {text.n_sequences} of the text"
            faults.append(Fault(code="SHD002", message=message, n_hits=extra))
        return tuple(faults)


class MegatronReader:
    """Recognise and open `.idx` files of Megatron indexed datasets."""

    format = "megatron"
    title = "Megatron indexed dataset (.idx + .bin): Megatron-LM, datatrove, DeepSpeed, GPT-NeoX"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the magic; true for fairseq's look-alike too, which `open` refuses by name."""
        return head.startswith(MAGIC)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the one shard; none for the label or reward set of a text set beside it.

        Raises:
            UnreadableError: the index (or that of the labels) is damaged, or a `.bin` is missing.
            UsageError: `max_seq_len` is not positive.
        """
        window = settings.max_seq_len
        if window is not None and window < 1:
            raise UsageError(f"max_seq_len must be positive, not {window}")
        if any(_sibling(source, suffix, _TEXT) for suffix in (_LABELS, _REWARDS)):
            return ()
        text = open_index(source)
        if is_pai(text):
            return [open_pai(text, name)]
        labels = _sibling(source, _TEXT, _LABELS)
        pair = Pair(text, None if labels is None else _open_labels(labels))
        why = f"dtype code {text.header.dtype_code} in the .idx"
        return [
            MegatronShard(
                name=name,
                layout=_layout(pair, window),
                spec=DatasetSpec(token_dtype=Known(text.header.dtype.name, Origin.FORMAT, why)),
                pair=pair,
                window=window,
            )
        ]


def _sibling(source: Source, suffix: str, other: str) -> Source | None:
    """Return the index of the same prefix that ends in `other`, if there is one."""
    if not source.stem.endswith(suffix):
        return None
    found = source.sibling(source.stem.removesuffix(suffix) + other + source.suffix)
    return found if found.is_file() else None


def _open_labels(source: Source) -> Index:
    """Open the label set; without its labels the text would seem to be trained on throughout."""
    try:
        return open_index(source)
    except UnreadableError as error:
        raise UnreadableError(f"label set {source.name}: {error}") from error


def _layout(pair: Pair, window: int | None) -> Layout:
    columns = {Role.INPUT_IDS: pair.text.bin.name, Role.DOCUMENT_STARTS: "sequence_lengths"}
    if pair.labels is not None:
        columns[Role.LABELS] = pair.labels.bin.name
    return Layout(
        producer="megatron" if pair.labels is None else "neox",
        trainer="megatron" if pair.labels is None else "neox",
        columns=columns,
        unit=Unit.DOCUMENT if window is None else Unit.PACK,
        evidence=_evidence(pair, window),
        padding=PaddingMark.NEVER_STORED,
        offsets_have_end=False,
    )


def _evidence(pair: Pair, window: int | None) -> tuple[str, ...]:
    text = pair.text
    header = text.header
    lines = [
        "magic MMIDIDX, version 1",
        f"dtype code {header.dtype_code}: tokens are {header.dtype.name}",
        f"{text.n_sequences} sequences in {header.n_documents} documents, {text.n_tokens} tokens",
    ]
    if header.has_modes:
        lines.append(f"one mode per sequence at the end of the index (multimodal): int8[{text.n_sequences}]")
    if pair.labels is not None:
        lines.append(f"labels in {pair.labels.source.name}, as GPT-NeoX writes them")
    if window is None:
        lines.append("one row per sequence, as GPTDataset draws them")
    else:
        lines.append(_window_evidence(text.n_tokens, window))
    return tuple(lines)


def _window_evidence(n_tokens: int, window: int) -> str:
    """Say what Megatron drops: a window needs one token more, for its last label."""
    n_windows = max(n_tokens - 1, 0) // window
    dropped = n_tokens - n_windows * window
    return (
        f"windows of max_seq_len = {window} tokens in file order; Megatron draws {n_windows} of {window} + 1 "
        f"tokens and drops the last {dropped} tokens, which stay here as the last row"
    )
