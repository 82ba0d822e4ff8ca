"""What gives a producer away, and how it lays out its rows: the type of one row of `producers.SIGNATURES`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packlint.model.batch import Unit
from packlint.model.contract import LabelAlignment
from packlint.readers.layouts.kinds import ColumnKind, Element
from packlint.readers.layouts.synonyms import ROLE_NAMES
from packlint.readers.shard import PaddingMark, Role

__all__ = ["Signature"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """State what gives a producer away and how it lays out its rows.

    Args:
        producer: who writes such columns.
        trainer: name of the default trainer contract.
        source: where this was read.
        has: columns that are all present, as lists or structs.
        scalars: columns that are all present with one integer per row.
        any_of: columns of which one is present.
        lacks: columns of which none is present.
        only: when given, no other column with a known name is present.
        marks: what the file or its neighbours must say, where columns cannot tell.
        roles: columns whose role their names alone would not give.
        ignored: columns that the producer's trainer does not read.
        unit: as in `Layout`; so are all below.
    """

    producer: str
    trainer: str | None
    source: str
    has: tuple[str, ...] = ()
    scalars: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    only: frozenset[str] | None = None
    marks: frozenset[str] = frozenset()
    roles: Mapping[Role, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    unit: Unit = Unit.PACK
    alignment: LabelAlignment = LabelAlignment.UNSHIFTED
    padding: PaddingMark = PaddingMark.UNKNOWN
    nothing: int = 0
    lengths_cover_padding: bool = True
    offsets_have_end: bool = True
    dense_mask_blocks: bool = False

    def matches(self, columns: Mapping[str, ColumnKind], marks: frozenset[str]) -> bool:
        """Tell whether columns and marks are those of this producer."""
        return (
            self.marks <= marks
            and all(name in columns and _is_nested(columns[name]) for name in self.has)
            and all(columns.get(name) == ColumnKind(Element.INT, 0) for name in self.scalars)
            and (not self.any_of or any(name in columns for name in self.any_of))
            and not any(name in columns for name in self.lacks)
            and (self.only is None or {name for name in columns if name in ROLE_NAMES} <= self.only)
        )


def _is_nested(kind: ColumnKind) -> bool:
    return kind.ndim > 0 or kind.element in (Element.STRUCT, Element.NULL)
