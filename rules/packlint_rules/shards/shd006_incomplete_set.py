"""SHD006 incomplete-set: a shard or sidecar that belongs to the set is missing, or sizes disagree."""

from __future__ import annotations

from packlint.finding import Severity
from packlint.rule import ReaderRule, RuleMeta


class IncompleteSet(ReaderRule):
    """Files that belong together are not all there, or do not fit one another.

    ## What it checks
    What the index of a set names: shards of MDS and litdata, the `.bin` beside a Megatron `.idx`, the end
    markers of datatrove and fairseq, the `.csv.gz` of OLMo, the metadata beside NeMo rows, the shards that a
    `packlint-manifest.json` lists. Missing files, files that no index lists, and sizes that disagree are
    reported; what can be read is checked all the same.

    ## Why it matters
    The loader stops when it comes to the missing file, or trains on what is left with a mixture that nobody
    chose; a sidecar of another build shifts every boundary.

    ## How to fix
    Copy the set again as a whole, with its index; write the index anew with the writer's own tool:
    `merge_index` in streaming, `preprocess_data.py` of Megatron-LM for `.bin` and `.idx` together.

    ## Limits
    Sets without an index cannot be seen to be incomplete: a manifest makes up for it (MAN001).

    ## Sources
    mosaicml/streaming#399 (shard and index disagree), NVIDIA/Megatron-LM
    `megatron/core/datasets/indexed_dataset.py`.
    """

    meta = RuleMeta(code="SHD006", name="incomplete-set", severity=Severity.ERROR, since="0.1.0")
    why = "The loader stops at the missing file, or trains on a mixture that nobody chose."
    fix = "Copy the set again as a whole, or write its index anew."
