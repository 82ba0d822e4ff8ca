"""Composition of batches: what all rules of the family share."""

from __future__ import annotations

from typing import Any

from packlint.model.batch import PackBatch
from packlint.rule import DatasetRule
from packlint.summaries.pack_order import PackOrder

__all__ = ["OrderRule", "packs_of"]


class OrderRule(DatasetRule[PackOrder]):
    """Judge the packs of all shards in the order in which they are stored."""

    def zero(self) -> PackOrder:
        """Return no packs."""
        return PackOrder()

    def observe(self, summary: PackOrder, batch: PackBatch) -> PackOrder:
        """Add the packs of a batch."""
        return summary.add(batch)


def packs_of(*lengths: int, **columns: Any) -> dict[str, Any]:
    """Return packs of 8 slots for an example, each filled with samples of one length."""
    rows = [[n] * (8 // n) for n in lengths]
    profile = {"extends": "pretrain", "wants_boundary_token": False}
    config = {"trainer": "grain", "profile": profile, "spec": {"max_seq_len": 8}}
    return {"input_ids": [list(range(1, 9))] * len(rows), "seq_lens": rows, **columns, "config": config}
