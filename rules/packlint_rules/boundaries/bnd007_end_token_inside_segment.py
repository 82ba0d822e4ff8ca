"""BND007 end-token-inside-segment: the trainer's scan for the end token would cut one sample in two."""

from __future__ import annotations

from dataclasses import dataclass

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, PaddingEvidence, ShardContext
from packlint.model.contract import BoundarySource
from packlint.model.false_cuts import false_scan_cuts
from packlint.model.needs import Need
from packlint.rule import PackRule, RuleMeta, Totals

_SCAN = BoundarySource.BOUNDARY_TOKENS
_PACK = {
    "seq_lens": [[5]],
    "config": {
        "profile": "sft",
        "trainer_contract": {"isolates_by": ["boundary_tokens"], "scans_for_end_token": True},
        "spec": {"bos_id": 1, "eos_ids": [2]},
    },
}


class EndTokenInsideSegment(PackRule):
    """The end token stands inside a recorded sample, and the trainer cuts wherever it finds one.

    ## What it checks
    Places where a scan for `eos_ids` begins a new document although the explicit record does not. Only for
    trainers that make such a scan; a warning where it does not decide who sees whom.

    ## Why it matters
    Chats whose turns end in the end token fall apart: later turns are trained without the earlier ones.

    ## How to fix
    End turns in a token of their own and samples in the end token, or let the trainer read the record:
    OLMo-core from its metadata file, Megatron-LM with `inter_document_masking`, torchtitan by positions.

    ## Limits
    A template's separators between the last end token and the recorded boundary are tolerated, and a second
    end token right behind the first is SPC004's.

    ## Sources
    pytorch/torchtitan#3130, pytorch/torchtitan#2757, allenai/OLMo-core#653, NVIDIA/NeMo#14437.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Tolerate what templates write after an end token.

        Args:
            max_separator_tokens: tokens by which the scan may come before the recorded boundary.
        """

        max_separator_tokens: int = 2

    meta = RuleMeta(
        code="BND007",
        name="end-token-inside-segment",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TRAINER, Need.EXPLICIT_BOUNDARIES, Need.EOS_IDS),
    )
    why = "Chats whose turns end in the end token fall apart: later turns are trained without earlier ones."
    fix = "End turns in a token of their own, or let the trainer read the record (OLMo-core: its metadata)."
    good = ({"input_ids": [[1, 31, 7, 41, 2]], **_PACK},)
    bad = ({"input_ids": [[1, 31, 2, 41, 2]], **_PACK},)

    def severity(self, shard: ShardContext) -> Severity:
        """Return a warning where the scan does not make the mask."""
        masks = shard.contract is not None and _SCAN in shard.contract.isolates_by
        return Severity.ERROR if masks else Severity.WARNING

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per false boundary, at the token that would begin a document."""
        places = false_scan_cuts(batch, self.options.max_separator_tokens)
        known = batch.padding_evidence is PaddingEvidence.STRUCTURE
        confidence = Confidence.CERTAIN if known else Confidence.LIKELY
        return Hits.of_tokens(batch, places, confidence=confidence)

    def message(self, totals: Totals) -> str:
        """Count false boundaries and the samples that they cut."""
        n, n_segments = totals.n_hits, totals.n_segments
        places = "1 false boundary" if n == 1 else f"{n:,} false boundaries"
        samples = "1 sample" if n_segments == 1 else f"{n_segments:,} samples"
        trainer, worst = totals.shard.contract, totals.worst
        return (
            f"{places}: {trainer.name if trainer else 'the trainer'} scans for the end token and would cut"
            f" {samples} in two or more, in pack {worst.pack} before token {worst.start}; allowed: 0"
        )
