"""TGT012 clipped-answer: the mask of an answer is off by one at its beginning or end."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.role_faults import MAX_SHIFT_TOKENS, unknown_samples, untrained, unwanted
from packlint.model.spec import TargetPolicy
from packlint.rule import PackRule, RuleMeta, Totals
from packlint.summaries.role_shares import places_line, role_hits

_CONFIG = {
    "profile": {"extends": "sft", "targets": "assistant"},
    "trainer": "trl",
    "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [7]},
    "chat": {"markers": {"user": [4], "assistant": [5], "end": [7], "separator": [8]}},
}
_PACK = {
    "input_ids": [[1, 4, 8, 41, 7, 8, 5, 8, 51, 52, 53, 7, 8]],
    "seq_lens": [[13]],
    "config": _CONFIG,
}


class ClippedAnswer(PackRule):
    """The mask of an answer begins too late, too early, or ends too late.

    ## What it checks
    Answers whose first token is no target though a token or two on it is (begins late); targets on the last
    token or two of the header of an answer (begins early) or right behind its end (ends late). A header that
    is trained as a whole is template (TGT006); a mask that ends early leaves the end untrained (TGT009).

    ## Why it matters
    The first token decides what kind of answer comes, and the model never learns it. A mask that is off by
    one was computed from text or lengths that are not those of the ids: elsewhere it may be off by more.

    ## How to fix
    Take spans from the ids that are trained on. TRL: `{% generation %}` marks; LLaMA-Factory and Axolotl
    build ids and labels message by message. Mind added begin tokens and labels that are shifted twice.

    ## Limits
    Where the marks of thinking are written into the prompt, their being masked is no fault. Runs of more than
    2 tokens are TGT013's, TGT006's or TGT002's.

    ## Sources
    NVIDIA-NeMo/Automodel#3739, axolotl-ai-cloud/axolotl#2089, huggingface/transformers#47325,
    QwenLM/Qwen3-ASR#212, huggingface/nanoVLM#152 (no fault: masked, then moved).
    """

    meta = RuleMeta(
        code="TGT012",
        name="clipped-answer",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TARGETS, Need.ROLES),
    )
    why = "The first token of the answer is never learnt, or the mask is off everywhere."
    fix = "Take answer spans from the very ids that are trained on, not from text or other lengths."
    good = ({**_PACK, "labels": [[-100] * 8 + [51, 52, 53, 7, 8]]},)
    bad = (
        {**_PACK, "labels": [[-100] * 9 + [52, 53, 7, -100]]},
        {**_PACK, "labels": [[-100] * 7 + [8, 51, 52, 53, 7, -100]]},
    )

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per clipped or overrun edge of an answer."""
        roles = batch.roles
        if roles is None:
            return Hits.none()
        heads, edges = untrained(batch).heads, unwanted(batch).edges
        wrong = heads.union(edges)
        judged = np.bincount(roles.answers.segments, minlength=batch.n_segments)
        clipped = np.bincount(batch.segments_of(wrong.starts), minlength=batch.n_segments)
        counts = {"clipped": len(heads), "overrun": len(edges)}
        return role_hits(batch, wrong, judged, n_wrong=clipped, more=counts)

    def message(self, totals: Totals) -> str:
        """Give the answers that are clipped, those that are overrun, and where they are."""
        n_late, n_over = totals.measured["clipped"], totals.measured["overrun"]
        late, over = (f"{n:,} {'answer' if n == 1 else 'answers'}" for n in (n_late, n_over))
        parts = [f"the loss of {late} begins up to {MAX_SHIFT_TOKENS} tokens late"] if n_late else []
        parts += [f"the loss of {over} reaches up to {MAX_SHIFT_TOKENS} tokens beyond it"] if n_over else []
        return f"{', '.join(parts)} ({places_line(totals.measured)}); allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without samples nobody knows which answer is the last."""
        return unknown_samples(batch, TargetPolicy.LAST_ASSISTANT)
