"""TGT009 untrained-end-of-turn: the token that ends a finished answer is not a target."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.role_faults import trained_ends, unknown_samples
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


class UntrainedEndOfTurn(PackRule):
    """An answer is learnt, but not that it ends: the model will not stop.

    ## What it checks
    For each answer that is finished and has targets, whether the token right behind it is a target: the end
    marker of the chat format, an end-of-text token, or the next header where that is what ends turns (GLM).

    ## Why it matters
    After training the model goes on until the length limit, often as the user. The loss curve shows nothing:
    it is one token per answer.

    ## How to fix
    Do not mask padding by its id where that is an end token: give padding an id of its own, or mask by length
    (TRL, Megatron-Bridge). Axolotl: `train_on_eos: turn` with the right `eot_tokens`. TRL: close
    `{% generation %}` behind the end token.

    ## Limits
    Answers that a limit cut off have no end and are not counted, nor are answers without any target. An end
    of text behind the end of the turn may be masked: what ends the answer counts.

    ## Sources
    axolotl-ai-cloud/axolotl#3754, huggingface/trl#1623, NVIDIA-NeMo/Megatron-Bridge#4660, THUDM/slime#514,
    huggingface/trl#5988, meta-pytorch/torchtune#949 (no fault: another stop token is trained).
    """

    meta = RuleMeta(
        code="TGT009",
        name="untrained-end-of-turn",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TARGETS, Need.ROLES),
    )
    why = "The model never learns to stop, and the loss curve does not show it."
    fix = "Make the end token of each learnt answer a target; never mask padding by an end id."
    good = ({**_PACK, "labels": [[-100] * 8 + [51, 52, 53, 7, -100]]},)
    bad = ({**_PACK, "labels": [[-100] * 8 + [51, 52, 53, -100, -100]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per untrained end."""
        roles = batch.roles
        if roles is None:
            return Hits.none()
        ends = trained_ends(batch)
        segments = roles.answers.segments[ends.answers]
        judged = np.bincount(segments, minlength=batch.n_segments)
        wrong = np.bincount(segments[~ends.is_trained], minlength=batch.n_segments)
        return role_hits(batch, ends.spans, judged, n_wrong=wrong)

    def message(self, totals: Totals) -> str:
        """Give the finished answers, how many of them learn their end, and where the others are."""
        measured = totals.measured
        n_all = measured["judged_first"] + measured["judged_later"]
        n = n_all - measured["wrong_first"] - measured["wrong_later"]
        answers = f"{n_all:,} finished {'answer' if n_all == 1 else 'answers'}"
        terminators = f"{n:,} trained {'terminator' if n == 1 else 'terminators'}"
        return f"{answers}, {terminators} (untrained {places_line(measured)}); allowed: 0 untrained"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without samples nobody knows which answer is the last."""
        return unknown_samples(batch, TargetPolicy.LAST_ASSISTANT)
