"""SHD003 empty-shard: a shard holds no packs."""

from __future__ import annotations

from packlint.finding import Severity
from packlint.rule import ReaderRule, RuleMeta


class EmptyShard(ReaderRule):
    """A readable shard holds no packs.

    ## What it checks
    Whether any row came out of the shard. Rows that were left out as unreadable count as rows.

    ## Why it matters
    A worker or rank that is given this shard gets no data: the run hangs, divides by zero or goes on with
    fewer samples than planned. Often the job that should have filled the shard had failed.

    ## How to fix
    Remove the file from the set and from its index, or write it again. datatrove and dolma write one file
    per task, also for tasks that had no documents: give them fewer tasks.

    ## Limits
    A shard of zero-token packs is not empty; see FIL003.

    ## Sources
    huggingface/datasets#8397 (one empty file breaks the whole data set), foundation-model-stack/fms-fsdp#109.
    """

    meta = RuleMeta(code="SHD003", name="empty-shard", severity=Severity.WARNING, since="0.1.0")
    why = (
        "A worker that is given this shard gets no data; the job that should have filled it may have failed."
    )
    fix = "Remove the file from the set and its index, or write it again."
