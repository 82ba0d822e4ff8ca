"""SHD002: raised when rows are laid side by side; here, that the rule explains just that."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import ShardContext, Unit
from packlint.model.spec import DatasetSpec, Policy
from packlint.readers.canonical import build
from packlint.readers.reading import Reading
from packlint.readers.shard import BLOCK_TOKENS, Fault
from packlint.testing import shard_of
from packlint_rules.shards.shd002_ragged_columns import RaggedColumns
from tests.packs import Packs, sft_packs


def faults_of(packs: Packs) -> tuple[list[int], tuple[Fault, ...]]:
    """Return the rows that were kept, and the faults."""
    shard = shard_of(packs)
    context = ShardContext(
        name="a", index=0, unit=Unit.PACK, spec=DatasetSpec(), contract=None, policy=Policy()
    )
    reading = Reading(layout=shard.layout, context=context)
    kept: list[int] = []
    faults: tuple[Fault, ...] = ()
    for raw in shard.rows(shard.parts()[0], frozenset(shard.columns), BLOCK_TOKENS):
        batch, more = build(raw, reading)
        kept += [] if batch is None else batch.pack_numbers.tolist()
        faults += more
    return kept, faults


@given(sft_packs(), st.data())
@settings(max_examples=30)
def test_exactly_the_ragged_rows_are_left_out(packs: Packs, data: st.DataObject) -> None:
    n_packs = len(packs["input_ids"])
    columns = ["labels", "position_ids", "segment_ids", "attention_mask"]
    planted = data.draw(st.dictionaries(st.integers(0, n_packs - 1), st.sampled_from(columns)))
    for pack, column in planted.items():
        packs[column][pack] = packs[column][pack][:-1]

    kept, faults = faults_of(packs)

    assert kept == [pack for pack in range(n_packs) if pack not in planted]
    assert sorted(fault.row for fault in faults) == sorted(planted)
    assert {fault.code for fault in faults} <= {RaggedColumns.meta.code}


def test_message_names_the_column_and_both_lengths() -> None:
    _, faults = faults_of({"input_ids": [[1, 2, 3]], "labels": [[1, 2]]})

    assert [fault.message for fault in faults] == ["labels has 2 values for 3 input_ids"]
    assert np.array([fault.n_hits for fault in faults]).sum() == 1
