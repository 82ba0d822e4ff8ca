"""BND008 merged-segments: a recorded segment holds the join of two samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.recorded import sound_segments
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
    "config": {"profile": "sft", "trainer": "trl", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


class MergedSegments(PackRule):
    """An end token and a begin token stand side by side inside one recorded segment.

    ## What it checks
    End tokens directly followed by `bos_id` in segments that an explicit record gives.

    ## Why it matters
    The boundary between two samples was lost when the record was made: they see each other, and share
    positions and loss.

    ## How to fix
    Record one length per sample, not per row or per chunk: TRL takes one sample per row before packing,
    Megatron-LM one `add_document` per document.

    ## Limits
    Templates that write the begin token before each turn (Llama 2) have this join inside a sample: not
    checked where the chat format, or `turns_repeat_begin_token`, says so. Samples without begin token are not
    seen, nor is anything where begin and end token are the same id.

    ## Sources
    NVIDIA/NeMo#14437, allenai/OLMo-core#653; NVIDIA/Megatron-LM megatron/training/datasets/sft_dataset.py.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Say what the chat template does.

        Args:
            turns_repeat_begin_token: every turn begins with the begin token, so that the join is no fault.
        """

        turns_repeat_begin_token: bool = False

    meta = RuleMeta(
        code="BND008",
        name="merged-segments",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.EXPLICIT_BOUNDARIES, Need.BOS_ID, Need.EOS_IDS),
    )
    why = "Two samples are recorded as one: they see each other and share positions and loss."
    fix = "Record one length per sample (TRL: one sample per row before packing; Megatron-LM: one document)."
    good = ({**_PACK, "seq_lens": [[4, 4]]},)
    bad = ({**_PACK, "seq_lens": [[8]]},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Ask for two tokens that differ, and that stand side by side between samples only."""
        bos, eos, chat = batch.spec.bos_id, batch.spec.eos_ids, batch.shard.chat
        if bos is not None and eos is not None and bos.value in eos.value:
            return "begin and end token are the same id"
        if self.options.turns_repeat_begin_token or (chat is not None and chat.repeats_begin):
            return "turns begin with the begin token, so that two turns look like two samples"
        return None

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per join."""
        bos, ends = batch.spec.bos_id, batch.eos_places
        if bos is None or ends.size == 0:
            return Hits.none()
        ends = ends[ends + 1 < batch.n_tokens]
        ends = ends[batch.tokens[ends + 1] == bos.value]
        segments = batch.segments_of(ends)
        joined = (segments >= 0) & (segments == batch.segments_of(ends + 1))
        ends, segments = ends[joined], segments[joined]
        sound = sound_segments(batch)[segments]
        hits = Hits.of_tokens(batch, ends[sound], confidence=Confidence.LIKELY)
        return replace(hits, stops=hits.starts + 2)

    def message(self, totals: Totals) -> str:
        """Count joins and the segments that hold them."""
        n, n_segments = totals.n_hits, totals.n_segments
        begins = "1 begin token follows" if n == 1 else f"{n:,} begin tokens follow"
        segments = "1 recorded segment" if n_segments == 1 else f"{n_segments:,} recorded segments"
        return f"{begins} an end token inside {segments}, as if samples were recorded as one; allowed: 0"
