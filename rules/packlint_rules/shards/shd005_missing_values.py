"""SHD005 missing-values: nulls or NaN stand where tokens, labels or masks should."""

from __future__ import annotations

from packlint.finding import Severity
from packlint.rule import ReaderRule, RuleMeta


class MissingValues(ReaderRule):
    """A row holds a null in a column that has one value per token, or in a record of boundaries.

    ## What it checks
    The reader looks for null rows and null values in the columns that it reads. Rows with one are left out of
    all other rules; the counts of the report do not have them.

    ## Why it matters
    What stands under a null is undefined. Trainers crash on it, or read a 0 or whatever the buffer holds as a
    token.

    ## How to fix
    Drop or repair the rows before packing: `dataset.filter` in Hugging Face datasets (TRL, Axolotl,
    LLaMA-Factory). A join that adds a column to some rows only is the usual cause.

    ## Limits
    Columns that packlint does not read, such as LLaMA-Factory's empty `images`, may be null.

    ## Sources
    apache/arrow `docs/source/format/Columnar.rst` (validity bitmaps: the slot of a null may hold anything).
    """

    meta = RuleMeta(code="SHD005", name="missing-values", severity=Severity.ERROR, since="0.1.0")
    why = "What stands under a null is undefined: the trainer crashes or reads it as some token."
    fix = "Drop or repair the rows before packing; look for a join that fills a column for some rows only."
