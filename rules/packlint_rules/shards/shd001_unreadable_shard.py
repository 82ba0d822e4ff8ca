"""SHD001 unreadable-shard: a file or a row of it cannot be decoded."""

from __future__ import annotations

from packlint.finding import Severity
from packlint.rule import ReaderRule, RuleMeta


class UnreadableShard(ReaderRule):
    """A shard, or some of its rows, cannot be decoded.

    ## What it checks
    Readers report what they cannot decode: a wrong magic number, a file that ends early, sizes that do not
    fit the file, a corrupt block, a line that is no JSON object, a pickle that would run code. What was read
    before stays checked, and so do all other shards.

    ## Why it matters
    The trainer stops at this place, hours into the run, or skips the rest of the shard in silence.

    ## How to fix
    Write or copy the shard again and compare checksums: `hashes` in the MDS writer of streaming, or
    `md5sum` beside Megatron-LM's `.bin` and `.idx`. Store arrays, not pickles (NeMo `.npy`: use Parquet).

    ## Limits
    Bytes that decode to wrong values are not seen here; TOK001 and BND002 often show them.

    ## Sources
    mosaicml/streaming#399 (a truncated shard against its index).
    """

    meta = RuleMeta(code="SHD001", name="unreadable-shard", severity=Severity.ERROR, since="0.1.0")
    why = "The trainer stops at this place, hours into the run, or skips the rest of the shard in silence."
    fix = "Write or copy the shard again and compare checksums."
