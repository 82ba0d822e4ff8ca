"""SHD002 ragged-columns: columns with one value per token differ in length."""

from __future__ import annotations

from packlint.finding import Severity
from packlint.rule import ReaderRule, RuleMeta


class RaggedColumns(ReaderRule):
    """Columns of a pack that have one value per token differ in length.

    ## What it checks
    The reader compares the length of `labels`, masks, positions and segment ids with that of `input_ids`, row
    by row. Rows that differ are left out of all other rules; the counts of the report do not have them.

    ## Why it matters
    Nobody can say which label belongs to which token. Trainers crash when they stack the row, or pad the
    shorter column and train on shifted labels.

    ## How to fix
    Pack all columns with the same offsets: give every token-parallel column to TRL's `pack_dataset`; pad
    positions as far as ids in LLaMA-Factory (`pad_to_multiple_of`). Then pack again.

    ## Limits
    Columns of equal length that are out of step are not seen here; see TGT010 and TGT011.

    ## Sources
    hiyouga/LLaMA-Factory#10736 (ids 4,656 long, positions 4,396), huggingface/trl#3728.
    """

    meta = RuleMeta(code="SHD002", name="ragged-columns", severity=Severity.ERROR, since="0.1.0")
    why = (
        "Nobody can say which label belongs to which token; the trainer crashes or trains on shifted labels."
    )
    fix = "Pack all token-parallel columns with the same offsets, and pad them to the same length."
