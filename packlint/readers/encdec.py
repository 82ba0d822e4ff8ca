"""Packed rows of encoder-decoder models: two packs side by side, cut into samples each in its own way.

    inputs               a a a b b ·      targets               A B B · · ·
    inputs_segment_ids   1 1 1 2 2 0      targets_segment_ids   1 2 2 0 0 0

The encoder sees `inputs` and the decoder `targets`, neither of which is the other's labels: they are read
as two shards. Decoder-only packers write the same names with equal segment ids: one shard.

Source: `seqio/feature_converters.py`, `EncDecFeatureConverter` (google/seqio, b898b9f).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.readers.shard import Layout, PaddingMark, Role

__all__ = ["SEGMENT_NAMES", "encoder_decoder_layouts", "is_encoder_decoder"]

SEGMENT_NAMES = ("inputs_segment_ids", "targets_segment_ids")
"""Columns whose difference gives encoder-decoder rows away."""
_SIDES = {"inputs": "encoder inputs", "targets": "decoder targets"}
_SOURCE = "seqio/feature_converters.py, EncDecFeatureConverter"


def is_encoder_decoder(rows: Iterable[Mapping[str, NDArray[Any]]]) -> bool:
    """Tell whether inputs and targets of some rows are cut into samples differently."""
    for row in rows:
        if any(name not in row for name in (*_SIDES, *SEGMENT_NAMES)):
            return False
        inputs, targets = (row[name] for name in SEGMENT_NAMES)
        if not np.array_equal(inputs, targets):
            return True
    return False


def encoder_decoder_layouts(names: Iterable[str]) -> dict[str, Layout]:
    """Return the layout of each side by its name, for rows with these columns."""
    stored = frozenset(names)
    return {side: _layout(side, what, stored) for side, what in _SIDES.items()}


def _layout(side: str, what: str, stored: frozenset[str]) -> Layout:
    columns = {Role.INPUT_IDS: side, Role.SEGMENT_IDS: f"{side}_segment_ids"}
    if f"{side}_positions" in stored:
        columns[Role.POSITION_IDS] = f"{side}_positions"
    return Layout(
        producer=f"seqio, {what}",
        trainer="seqio-inputs" if side == "inputs" else "seqio",
        columns=columns,
        evidence=(
            f"columns {', '.join(columns.values())}: {what} ({_SOURCE})",
            "inputs_segment_ids and targets_segment_ids differ: encoder and decoder are two shards",
        ),
        padding=PaddingMark.SEGMENT_ID,
    )
