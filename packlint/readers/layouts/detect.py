"""Columns → `Layout`: the first producer whose signature matches, then known names for the roles left."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import TypeAlias

from packlint.errors import ConfigError, UnreadableError
from packlint.model.batch import Unit
from packlint.readers.layouts.kinds import ColumnKind, Element
from packlint.readers.layouts.preference import pair_layout, pair_names, why_no_pair
from packlint.readers.layouts.producers import GENERIC, SIGNATURES
from packlint.readers.layouts.signature import Signature
from packlint.readers.layouts.synonyms import (
    LOOSE_NAMES,
    MINUS_ONE_NAMES,
    ROLE_NAMES,
    SYNONYMS,
    TRL_MASKS,
    fits,
)
from packlint.readers.shard import Layout, PaddingMark, Role

__all__ = ["ChoosesLayout", "detect_layout", "factors", "layout_by_names"]

ChoosesLayout: TypeAlias = Callable[[Mapping[str, ColumnKind], Sequence[str]], Layout]
"""Tell how rows are laid out by what each column holds, and by what the file says of its producer."""

_PRODUCT = " * "
_MASKS = frozenset({Role.ATTENTION_MASK, Role.DENSE_MASK})
_NAMED_OF_PAIRS = frozenset({Role.SAMPLE_IDS.value})
"""What [columns] may name of preference pairs, whose other columns are known by their own names only."""


def detect_layout(
    columns: Mapping[str, ColumnKind],
    *,
    renamed: Mapping[str, str],
    format_marks: Sequence[str] = (),
    reads_pairs: bool = False,
) -> Layout:
    """Return who wrote the columns, as far as they tell, and what each means.

    Args:
        columns: what each stored column holds.
        renamed: stored name by canonical name, from the configuration; wins over detection.
        format_marks: what the file or its neighbours say of the producer, e.g. `datasets`, `axolotl`.
        reads_pairs: the reader joins preference pairs that stand side by side in columns.

    Raises:
        ConfigError: `renamed` uses a name that packlint does not know.
        UnreadableError: a renamed column is not stored, a known column holds something else, or there are no
            token ids.
    """
    names = _visible(columns, renamed)
    kinds = {name: columns[stored] for name, stored in names.items()}
    signature = _first_match(kinds, frozenset(format_marks))
    roles = _assign(kinds, signature, frozenset(renamed))
    if Role.INPUT_IDS not in roles and reads_pairs and renamed.keys() <= _NAMED_OF_PAIRS:
        sample_ids = roles.get(Role.SAMPLE_IDS)
        if pairs := pair_layout(kinds, sample_ids and names[sample_ids]):
            return pairs
    _demand(kinds, roles, signature, frozenset(renamed))
    return Layout(
        producer=signature.producer,
        trainer=signature.trainer,
        columns={role: _stored(name, names) for role, name in roles.items()},
        unit=signature.unit,
        evidence=_evidence(kinds, roles, signature, renamed, format_marks),
        alignment=signature.alignment,
        padding=_padding(roles, signature),
        nothing=_nothing(roles, signature),
        lengths_cover_padding=signature.lengths_cover_padding,
        offsets_have_end=signature.offsets_have_end,
        dense_mask_blocks=signature.dense_mask_blocks,
    )


def layout_by_names(renamed: Mapping[str, str]) -> ChoosesLayout:
    """Return what chooses a layout by the names of columns, for readers of tables; see `detect_layout`."""

    def choose(kinds: Mapping[str, ColumnKind], marks: Sequence[str]) -> Layout:
        return detect_layout(kinds, renamed=renamed, format_marks=marks, reads_pairs=True)

    return choose


def factors(column: str, stored: Container[str]) -> tuple[str, ...]:
    """Return the stored columns whose product a column of a `Layout` is: itself, or two loss masks.

    Args:
        column: a value of `Layout.columns`.
        stored: names of the stored columns.
    """
    return (column,) if column in stored else tuple(column.split(_PRODUCT))


def _visible(columns: Mapping[str, ColumnKind], renamed: Mapping[str, str]) -> dict[str, str]:
    """Return the stored name by the name that detection is to see."""
    names = {name: name for name in columns}
    for canonical, stored in renamed.items():
        if canonical not in {role.value for role in Role}:
            raise ConfigError(
                f"[columns] does not know {canonical!r}; it takes {', '.join(role.value for role in Role)}"
            )
        if stored not in columns:
            raise UnreadableError(
                f"no column {stored!r}, which [columns] names for {canonical}; columns: {_listed(columns)}"
            )
        names.pop(stored, None)
        for synonym in SYNONYMS[Role(canonical)]:
            names.pop(synonym, None)
    return names | dict(renamed)


def _first_match(kinds: Mapping[str, ColumnKind], marks: frozenset[str]) -> Signature:
    return next((s for s in SIGNATURES if s.matches(kinds, marks)), GENERIC)


def _assign(kinds: Mapping[str, ColumnKind], signature: Signature, forced: frozenset[str]) -> dict[Role, str]:
    roles = {
        role: name
        for role, name in signature.roles.items()
        if role.value not in forced and name in kinds and fits(role, kinds[name])
    }
    ignored = _ignored(kinds, signature, forced)
    for role, synonyms in SYNONYMS.items():
        free = [n for n in synonyms if n in kinds and n not in ignored and n not in roles.values()]
        chosen = next((name for name in free if fits(role, kinds[name])), None)
        if role not in roles and chosen is not None:
            roles[role] = chosen
    if roles.get(Role.LOSS_MASK) in TRL_MASKS and all(
        name in kinds and fits(Role.LOSS_MASK, kinds[name]) for name in TRL_MASKS
    ):
        roles[Role.LOSS_MASK] = _PRODUCT.join(TRL_MASKS)
    return roles


def _ignored(kinds: Mapping[str, ColumnKind], signature: Signature, forced: frozenset[str]) -> frozenset[str]:
    # Beside labels these masks say nothing: they are folded into the labels, and TRL reads only those.
    beside_labels = TRL_MASKS if "labels" in kinds else ()
    return frozenset({*signature.ignored, *beside_labels}) - forced


def _demand(
    kinds: Mapping[str, ColumnKind], roles: Mapping[Role, str], signature: Signature, forced: frozenset[str]
) -> None:
    """Refuse columns of a known name that hold something else, and shards without token ids."""
    ignored = _ignored(kinds, signature, forced)
    for role, synonyms in SYNONYMS.items():
        if role in roles or (role in _MASKS and _MASKS & roles.keys()):
            continue
        for name in synonyms:
            if name not in kinds or name in ignored or name in roles.values():
                continue
            kind = kinds[name]
            is_absent = kind.element is Element.NULL and name not in forced
            if (name in forced or name not in LOOSE_NAMES) and not is_absent:
                raise UnreadableError(f"column {name} holds {kind}, which cannot be {role.value}")
    if Role.INPUT_IDS not in roles:
        raise UnreadableError(_without_ids(kinds))


def _without_ids(kinds: Mapping[str, ColumnKind]) -> str:
    pair = pair_names(kinds)
    if pair is None:
        return f"no column of token ids; columns: {_listed(kinds)}{why_no_pair(kinds)}"
    return (
        f"{pair[0]} and {pair[1]} hold a preference pair in one row, which is read from Parquet, Arrow, JSON"
        f' lines and memory, under these names; [columns] input_ids = "{pair[0]}" reads one side'
    )


def _stored(name: str, names: Mapping[str, str]) -> str:
    return _PRODUCT.join(names[part] for part in factors(name, names))


def _nothing(roles: Mapping[Role, str], signature: Signature) -> int:
    return -1 if roles.get(Role.SEGMENT_IDS) in MINUS_ONE_NAMES else signature.nothing


def _padding(roles: Mapping[Role, str], signature: Signature) -> PaddingMark:
    mark = signature.padding
    if signature is GENERIC:
        if Role.ATTENTION_MASK in roles:
            return PaddingMark.MASK_ZERO
        return PaddingMark.SEGMENT_ID if Role.SEGMENT_IDS in roles else mark
    if mark is PaddingMark.MASK_ZERO and Role.ATTENTION_MASK not in roles:
        # Samples in rows of their own length have nothing to fill.
        return PaddingMark.NEVER_STORED if signature.unit is Unit.SAMPLE else PaddingMark.UNKNOWN
    return mark


def _evidence(
    kinds: Mapping[str, ColumnKind],
    roles: Mapping[Role, str],
    signature: Signature,
    renamed: Mapping[str, str],
    marks: Sequence[str],
) -> tuple[str, ...]:
    given_away_by = (*signature.has, *signature.scalars, *(n for n in signature.any_of if n in kinds))
    lines = [f"columns {_listed(given_away_by or list(kinds))}: {signature.producer} ({signature.source})"]
    lines += [f"says so itself: {mark}" for mark in marks if mark in signature.marks]
    lines += [f"[columns] says that {stored} is {name}" for name, stored in renamed.items()]
    used = {part for name in roles.values() for part in factors(name, kinds)}
    unread = [n for n in kinds if n in ROLE_NAMES and n not in used and kinds[n].element is not Element.NULL]
    if unread:
        lines.append(f"not read: {_listed(unread)}")
    return tuple(lines)


def _listed(names: Mapping[str, ColumnKind] | Sequence[str]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (f" and {len(names) - 12} more" if len(names) > 12 else "") or "none"
