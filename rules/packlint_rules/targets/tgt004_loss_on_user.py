"""TGT004 loss-on-user: a user token is a target."""

from __future__ import annotations

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.role_counts import role_tokens
from packlint.model.role_faults import unknown_samples, unwanted
from packlint.model.roles import Role
from packlint.model.spec import TargetPolicy
from packlint.rule import PackRule, RuleMeta, Totals
from packlint.summaries.role_shares import role_hits, share_line

_CONFIG = {
    "profile": {"extends": "sft", "targets": "assistant"},
    "trainer": "trl",
    "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [7]},
    "chat": {"markers": {"user": [4], "assistant": [5], "end": [7]}},
}
_PACK = {
    "input_ids": [[1, 4, 41, 7, 5, 51, 7, 4, 42, 43, 7, 5, 52, 7]],
    "seq_lens": [[14]],
    "config": _CONFIG,
}


class LossOnUser(PackRule):
    """The loss asks for what the user says.

    ## What it checks
    Targets among the tokens of user turns, under the policies `assistant`, `last_assistant` and `flagged`.
    Under `completion`, what stands before the first answer is TGT002's, and later turns of the user may be
    targets, as where a completion begins cannot be told from ids.

    ## Why it matters
    The model learns to ask questions, and to go on as the user after its own answer. Masks that leave out
    the first prompt only show no sign of it in the loss.

    ## How to fix
    Mask by role. TRL: `assistant_only_loss=True`; Axolotl: `train_on_inputs: false` or `roles_to_train`;
    LLaMA-Factory: `train_on_prompt: false`; Unsloth: `train_on_responses_only` with the right markers.

    ## Limits
    Roles come from the chat format, so a text that imitates its markers is taken for them. The first token of
    a segment is TGT007's, padding TGT001's.

    ## Sources
    axolotl-ai-cloud/axolotl#3088, huggingface/transformers#47325, nvidia-cosmos/cosmos-rl#132,
    PrimeIntellect-ai/prime-rl#978.
    """

    meta = RuleMeta(
        code="TGT004",
        name="loss-on-user",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TARGETS, Need.ROLES),
    )
    why = "The model learns to speak as the user, also right after its own answer."
    fix = "Mask by role: train on assistant turns only."
    good = (
        {**_PACK, "labels": [[-100, -100, -100, -100, -100, 51, 7, -100, -100, -100, -100, -100, 52, 7]]},
    )
    bad = ({**_PACK, "labels": [[-100, -100, -100, -100, -100, 51, 7, -100, 42, 43, -100, -100, 52, 7]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of user tokens that are targets."""
        if batch.roles is None:
            return Hits.none()
        return role_hits(batch, unwanted(batch).user, role_tokens(batch)[Role.USER])

    def message(self, totals: Totals) -> str:
        """Give the user tokens that are targets, their share, and where in the packs they are."""
        n = totals.n_tokens
        what = "user token is a target" if n == 1 else "user tokens are targets"
        return f"{n:,} {what} ({share_line(totals.measured, 'user tokens')}); allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without samples nobody knows which answer is the last."""
        return unknown_samples(batch, TargetPolicy.LAST_ASSISTANT)
