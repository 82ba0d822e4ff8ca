"""The shard over rows of text: its rows are those of a tokenized shard."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from packlint.chat.render import DEFAULT_DAY, ChatTemplate
from packlint.chat.tokenizer import Tokenizer
from packlint.model.batch import Unit
from packlint.model.spec import DatasetSpec
from packlint.readers.collecting import RowBuffer, collected
from packlint.readers.metadata.values import METADATA_ROWS, Column
from packlint.readers.shard import Layout, PaddingMark, Part, RawRows, Role
from packlint.readers.texts.columns import TextColumns, TextKind
from packlint.readers.texts.encode import Encoded, Encoder, Prepared, batches
from packlint.readers.texts.tables import Table, numbered_rows

__all__ = ["TextShard", "text_shard"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TextShard:
    """Read rows of text as token ids; each reading tokenizes them anew.

    Args:
        table: the rows as stored.
        layout: how the rows are laid out once they are ids.
        columns: where the text stands.
        encoder: what makes ids of it.
    """

    table: Table
    layout: Layout
    columns: TextColumns
    encoder: Encoder

    @property
    def name(self) -> str:
        """Path relative to the inputs."""
        return self.table.name

    @property
    def format(self) -> str:
        """Name of the format in which the text is stored."""
        return self.table.format

    @property
    def spec(self) -> DatasetSpec:
        """Nothing: the conventions are the tokenizer's."""
        return DatasetSpec()

    @property
    def n_bytes(self) -> int:
        """Bytes on disk."""
        return self.table.n_bytes

    def parts(self) -> Sequence[Part]:
        """Return the pieces of the file in order."""
        return self.table.parts()

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a piece in order; one that cannot be tokenized becomes a fault.

        Raises:
            UnreadableError: the piece is damaged, or the chat template runs away.
        """
        kept = [role for role in self.layout.columns if role in roles]
        names = (*self.columns.names, *self.columns.extras)
        prepared = self.encoder.prepared(numbered_rows(self.table, part, names))
        rows = chain.from_iterable(self._encoded(batch, kept) for batch in batches(prepared))
        return collected(rows, RowBuffer(kept), block_tokens)

    def _encoded(
        self, batch: Sequence[tuple[int, Prepared]], kept: Sequence[Role]
    ) -> Iterator[tuple[int, Encoded]]:
        rows = self.encoder.encode([text for _, text in batch], with_labels=Role.LABELS in kept)
        return zip((number for number, _ in batch), rows, strict=True)

    def lacks(self, name: str) -> str | None:
        """Say why there is no such column."""
        return self.table.lacks(name)

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = METADATA_ROWS
    ) -> Iterator[Mapping[str, Column]]:
        """Yield the values of a piece in order.

        Raises:
            UnreadableError: the piece is damaged.
        """
        return self.table.read_columns(part, names, most_rows)


def text_shard(
    table: Table, columns: TextColumns, tokenizer: Tokenizer, day: datetime.date = DEFAULT_DAY
) -> TextShard:
    """Return the shard over a table of text.

    Args:
        table: the rows as stored.
        columns: where the text stands.
        tokenizer: what makes ids of it.
        day: what chat templates are told that ask for the day.

    Raises:
        UsageError: there are messages, and no chat template that can be read.
    """
    template = ChatTemplate(tokenizer, day) if columns.is_chat else None
    encoder = Encoder(tokenizer, columns, template)
    stored = {Role.INPUT_IDS: columns.shown}
    if encoder.has_labels:
        stored[Role.LABELS] = columns.shown
    layout = Layout(
        producer="text",
        trainer=None,
        columns=stored,
        unit=Unit.SAMPLE,
        evidence=tuple(_evidence(columns, tokenizer, template, day)),
        padding=PaddingMark.NEVER_STORED,
    )
    return TextShard(table=table, layout=layout, columns=columns, encoder=encoder)


def _evidence(
    columns: TextColumns, tokenizer: Tokenizer, template: ChatTemplate | None, day: datetime.date
) -> Iterator[str]:
    by = f"written by {tokenizer.template_source} and " if template else ""
    yield f"text, not tokens: {columns.shown}, {by}tokenized when it is read"
    if template is not None and template.tells_the_day:
        yield f"the chat template asks for the day, and is told {day.isoformat()}"
    if columns.kind is TextKind.PROMPT:
        yield "labels are on the completion"
    elif template is not None and template.marks_generation:
        yield "labels are on what the template marks as generated"
