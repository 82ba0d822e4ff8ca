"""TGT013 untrained-answer: tokens of an answer that should be learnt are masked."""

from __future__ import annotations

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.role_faults import unknown_samples, untrained, wanted
from packlint.model.spec import TargetPolicy
from packlint.rule import PackRule, RuleMeta, Totals
from packlint.summaries.role_shares import role_hits, share_line

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


class UntrainedAnswer(PackRule):
    """Text of the assistant that the policy wants is not learnt.

    ## What it checks
    Tokens of answers, and ends of answers that have no target at all, that are no targets though the policy
    wants them: all answers (`assistant`, `all`), the last one of a sample (`completion`,
    `last_assistant`), or the rest of an answer that is learnt in part (`flagged`).

    ## Why it matters
    Data that was paid for teaches nothing, or the model learns answers with holes. Often the mask was
    computed for other samples, or the markers of the template match some turns only.

    ## How to fix
    Check the markers that the mask is made with: Unsloth: `train_on_responses_only`; TRL: `{% generation %}`
    around every assistant turn; Axolotl: `roles_to_train` and `train` flags of messages. If only some
    answers are meant, say so: policy `flagged` or `last_assistant`.

    ## Limits
    A masked first token or two is TGT012's, the end of a learnt answer TGT009's, a sample without any target
    TGT008's. Thinking and calls of tools are wanted only where `[chat] train_on` says so.

    ## Sources
    axolotl-ai-cloud/axolotl#3088, OpenRLHF/OpenRLHF#781, unslothai/unsloth#2095, NVIDIA-NeMo/Automodel#3739.
    """

    meta = RuleMeta(
        code="TGT013",
        name="untrained-answer",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.TARGETS, Need.ROLES),
    )
    why = "Answers that were paid for teach nothing, or are learnt with holes."
    fix = "Check the markers of the loss mask; state the policy if only some answers are meant."
    good = ({**_PACK, "labels": [[-100] * 8 + [51, 52, 53, 7, -100]]},)
    bad = ({**_PACK, "labels": [[-100] * 8 + [51, 52, -100, 7, -100]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per masked run of an answer."""
        starts, stops = batch.segments.starts, batch.segments.stops
        return role_hits(batch, untrained(batch).bodies, wanted(batch).count_within(starts, stops))

    def message(self, totals: Totals) -> str:
        """Give the answer tokens that are masked, their share, and where in the packs they are."""
        n = totals.n_tokens
        what = "answer token is no target" if n == 1 else "answer tokens are no targets"
        return f"{n:,} {what} ({share_line(totals.measured, 'answer tokens')}); allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without samples nobody knows which answer is the last."""
        return unknown_samples(batch, TargetPolicy.COMPLETION, TargetPolicy.LAST_ASSISTANT)
