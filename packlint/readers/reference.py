"""The reference: the unpacked data that packs were made from, one sample per row.

    any format of token ids    ──open_shards──▶ shards ──reference_reading──▶ `Reading`: a row is one sample
    streams                    ──documents───▶ the same, a document is one sample

What a layout says of packs does not count here: rows are not cut, whatever columns stand beside the ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from packlint.chat.tokenizer import load_tokenizer
from packlint.errors import UnreadableError, UsageError
from packlint.model.batch import MaskKind, Unit
from packlint.model.contract import BoundaryToken, TrainerContract
from packlint.model.labels import IGNORE_INDEX
from packlint.model.spec import DatasetSpec, Known, Origin, Policy
from packlint.readers.discover import Candidate, open_candidate, open_shards
from packlint.readers.observe import observe
from packlint.readers.reading import Reading
from packlint.readers.settle import settle
from packlint.readers.shard import Layout, PaddingMark, RawRows, Role, Settings, Shard
from packlint.readers.stream import Marks, StreamShard
from packlint.readers.texts import Table, TextColumns, find_table

__all__ = ["is_rendered", "open_reference", "reference_reading"]

_KEPT = frozenset({Role.INPUT_IDS, Role.LABELS, Role.LOSS_MASK, Role.ATTENTION_MASK})
_RECORDS: Mapping[Unit, frozenset[Role]] = {
    Unit.DOCUMENT: frozenset({Role.DOCUMENT_STARTS}),
    Unit.PAIR: frozenset({Role.SEQ_LENS}),
}
"""What tells the samples of a row, of rows that are not one sample each."""
_LABELS = frozenset({Role.LABELS, Role.LOSS_MASK})
_PARTS_SEEN = 3
_SAMPLE_TOKENS = 1 << 14
_BEGINS = TrainerContract(
    name="reference",
    title="a stream cut where its documents begin",
    boundary_token=BoundaryToken.BEGIN,
)
_NO_DOCUMENTS = (
    "nothing in this stream says where its documents end; give [spec] eos_ids (or bos_id, where a token "
    "begins each document), or the data as they were before they were joined"
)


def open_reference(
    paths: Sequence[str], settings: Settings, tokenizer: str | None = None
) -> tuple[list[Shard], list[tuple[str, UnreadableError]]]:
    """Return the shards of a reference, sorted by name, and the files that are damaged or unknown.

    Args:
        paths: files, folders, globs and URLs, in any format that packlint reads.
        settings: what the user told about the packs; their length does not count here, and names of columns
            only where the reference has them.
        tokenizer: tokenizer file or folder, for rows of text.

    Raises:
        NoInputError: a path matches no file, or none that is a shard.
        UsageError: rows hold text and no tokenizer was given.
    """
    told = replace(settings, max_seq_len=None)

    def open_one(candidate: Candidate, settings: Settings) -> Sequence[Shard]:
        return _open(candidate, settings, tokenizer)

    return open_shards(paths, told, open_one)


def reference_reading(shard: Shard, index: int, declared: DatasetSpec) -> Reading:
    """Return how a shard of the reference is read: each row is one sample.

    Rows of streams are documents; a stream without any record of them is cut at the tokens that the user
    said part them. Labels are aligned as a look at a few rows shows, whatever is declared of the packs.

    Args:
        shard: one shard of the reference.
        index: its place among all shards of the reference.
        declared: conventions from config and tokenizer.

    Raises:
        UsageError: nothing says where the documents of a stream end.
    """
    spec, contract = _cut(shard, replace(declared, max_seq_len=None, label_alignment=None, packed=None))
    layout = _layout(shard.layout)
    spec = spec.or_else(replace(shard.spec, max_seq_len=None))
    ignore_index = spec.ignore_index.value if spec.ignore_index else IGNORE_INDEX
    reading = settle(
        name=shard.name,
        index=index,
        layout=layout,
        declared=spec,
        seen=observe(_sample(shard, layout), ignore_index),
        contract=contract,
        policy=Policy(name="reference"),
    )
    context = replace(reading.context, spec=replace(reading.context.spec, max_seq_len=None))
    # A mask numbers the samples of a pack; here it tells padding and nothing else.
    is_masked = Role.ATTENTION_MASK in layout.columns
    return replace(reading, context=context, mask_kind=MaskKind.BINARY if is_masked else MaskKind.NONE)


def is_rendered(shard: Shard) -> bool:
    """Tell whether the ids are what a chat template writes for the messages of each row."""
    evidence = getattr(shard, "columns", None)
    return isinstance(evidence, TextColumns) and evidence.is_chat


def _cut(shard: Shard, declared: DatasetSpec) -> tuple[DatasetSpec, TrainerContract | None]:
    """Return the conventions by which a stream without record of its documents is cut into them."""
    if shard.layout.unit is not Unit.DOCUMENT or Role.DOCUMENT_STARTS in shard.layout.columns:
        return declared, None
    marks = shard.stream.marks if isinstance(shard, StreamShard) else Marks()
    if marks.ends:
        return replace(declared, eos_ids=declared.eos_ids or Known(marks.ends, Origin.CONFIG)), None
    if marks.begins:
        *eos_ids, bos_id = marks.begins
        known = Known(tuple(eos_ids), Origin.CONFIG) if eos_ids else None
        return replace(declared, eos_ids=known, bos_id=Known(bos_id, Origin.CONFIG)), _BEGINS
    raise UsageError(f"reference {shard.name}: {_NO_DOCUMENTS}")


def _layout(layout: Layout) -> Layout:
    """Return the layout of rows that are samples: without any record of what lies inside them.

    A row of a pair is two samples.
    """
    kept = _KEPT | _RECORDS.get(layout.unit, frozenset())
    columns = {role: name for role, name in layout.columns.items() if role in kept}
    if Role.ATTENTION_MASK in columns:
        padding = PaddingMark.MASK_ZERO
    else:
        is_never_stored = layout.padding is PaddingMark.NEVER_STORED
        padding = PaddingMark.NEVER_STORED if is_never_stored else PaddingMark.UNKNOWN
    unit = layout.unit if layout.unit in _RECORDS else Unit.SAMPLE
    return replace(layout, columns=columns, unit=unit, padding=padding, trainer=None)


def _sample(shard: Shard, layout: Layout) -> Iterator[RawRows]:
    """Yield the first block of the first parts, for what labels are aligned to; nothing without labels."""
    if _LABELS.isdisjoint(layout.columns) and Role.DOCUMENT_STARTS not in layout.columns:
        return
    try:
        for part in shard.parts()[:_PARTS_SEEN]:
            yield from islice(shard.rows(part, frozenset(layout.columns), _SAMPLE_TOKENS), 1)
    except UnreadableError:
        return  # damage is for the reading to report


def _open(candidate: Candidate, settings: Settings, tokenizer: str | None) -> Sequence[Shard]:
    """Return the shards of one file, as tokens if it holds any, else as text."""
    first: UnreadableError | None = None
    # The packs' own names of columns count only where the reference has them too.
    for told in (settings, replace(settings, columns={}))[: 1 + bool(settings.columns)]:
        try:
            if shards := open_candidate(candidate, told):
                return shards
        except UnreadableError as error:
            first = first or error
    try:
        found = find_table(candidate.source, candidate.name)
    except UnreadableError as error:
        # Of a folder, files of unknown formats are left out.
        found, first = None, first and UnreadableError(f"{first}; nor is it text: {error}")
    if first is not None and found is None:
        raise first
    return [] if found is None else [_as_tokens(*found, tokenizer)]


def _as_tokens(table: Table, columns: TextColumns, tokenizer: str | None) -> Shard:
    if tokenizer is None:
        raise UsageError(
            f"reference {table.name} holds text (column {columns.shown}) and no token ids, and no tokenizer "
            "was given: --tokenizer FILE"
        )
    loaded = load_tokenizer(tokenizer)
    try:
        from packlint.readers.texts.shard import text_shard  # jinja2 comes with the extra `tokenizers`
    except ImportError:
        raise UsageError(
            "a reference of text needs the package jinja2: run pip install 'packlint[tokenizers]'"
        ) from None
    return text_shard(table, columns, loaded)
