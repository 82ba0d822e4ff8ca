"""How one shard is read: layout, conventions and what a look at a few rows told."""

from __future__ import annotations

from dataclasses import dataclass

from packlint.model.batch import MaskKind, ShardContext, Unit
from packlint.model.contract import BoundarySource, BoundaryToken, LabelAlignment
from packlint.model.labels import IGNORE_INDEX
from packlint.readers.shard import Layout, Role

__all__ = ["IGNORE_INDEX", "Reading"]


_BOUNDARY_ROLES = frozenset(
    {Role.SEQ_LENS, Role.CU_SEQLENS, Role.SEGMENT_STARTS, Role.SEGMENT_IDS, Role.DOCUMENT_STARTS}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Fix everything that `canonical.build` must know, the same for every batch of the shard.

    Args:
        layout: which column means what.
        context: what rules are told of the shard.
        mask_kind: what `attention_mask` holds.
        positions_restart: `position_ids` restart inside packs, so they are a record of boundaries.
    """

    layout: Layout
    context: ShardContext
    mask_kind: MaskKind = MaskKind.NONE
    positions_restart: bool = False

    @property
    def ignore_index(self) -> int:
        """Label that asks for nothing."""
        known = self.context.spec.ignore_index
        return IGNORE_INDEX if known is None else known.value

    @property
    def alignment(self) -> LabelAlignment:
        """On which token stored labels and loss masks sit."""
        known = self.context.spec.label_alignment
        return self.layout.alignment if known is None else known.value

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """End ids, empty when unknown."""
        known = self.context.spec.eos_ids
        return () if known is None else known.value

    @property
    def scans_for_end_token(self) -> bool:
        """Whether end tokens are a record of boundaries: the trainer scans for them, or nothing else is."""
        contract = self.context.contract
        if not self.eos_ids or self._token_begins:
            return False
        return (contract is not None and contract.scans_for_end_token) or not self._has_other_record

    @property
    def begin_ids(self) -> tuple[int, ...]:
        """Ids with which a document begins, where they are a record of boundaries; else empty.

        Producers that put a token before each document (llm.c) call it end-of-text as often as begin.
        """
        contract, bos = self.context.contract, self.context.spec.bos_id
        if contract is None or not self._token_begins:
            return ()
        if self._has_other_record and BoundarySource.BOUNDARY_TOKENS not in contract.isolates_by:
            return ()
        return tuple(dict.fromkeys(self.eos_ids + (() if bos is None else (bos.value,))))

    @property
    def _token_begins(self) -> bool:
        contract = self.context.contract
        return contract is not None and contract.boundary_token is BoundaryToken.BEGIN

    @property
    def _has_other_record(self) -> bool:
        return (
            self.context.unit is Unit.SAMPLE
            or self.positions_restart
            or self.mask_kind is MaskKind.NUMBERED
            or not _BOUNDARY_ROLES.isdisjoint(self.layout.columns)
        )
