"""TGT003 loss-on-system: a system token is a target."""

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
    "chat": {"markers": {"system": [3], "user": [4], "assistant": [5], "end": [7]}},
}
_PACK = {
    "input_ids": [[1, 3, 31, 32, 7, 4, 41, 7, 5, 51, 7]],
    "seq_lens": [[11]],
    "config": _CONFIG,
}


class LossOnSystem(PackRule):
    """The loss asks for the system's text.

    ## What it checks
    Targets among the tokens of system turns (developer turns too), under the policies `assistant`,
    `last_assistant` and `flagged`. Under `completion` they are part of the prompt: see TGT002.

    ## Why it matters
    System texts are the same in thousands of samples: the model learns to recite them, and the mean loss
    falls without anything being learnt.

    ## How to fix
    Mask by role. TRL: `assistant_only_loss=True` with `{% generation %}` in the template; Axolotl:
    `roles_to_train: [assistant]`; LLaMA-Factory: `train_on_prompt: false`.

    ## Limits
    Roles come from the chat format, so a text that imitates its markers is taken for them. The first token
    of a segment is TGT007's, padding TGT001's.

    ## Sources
    karpathy/nanochat#582, huggingface/trl#3728, huggingface/open-r1#517.
    """

    meta = RuleMeta(
        code="TGT003",
        name="loss-on-system",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TARGETS, Need.ROLES),
    )
    why = "System texts repeat in every sample: the model learns to recite them."
    fix = "Mask by role: train on assistant turns only."
    good = ({**_PACK, "labels": [[-100] * 9 + [51, 7]]},)
    bad = ({**_PACK, "labels": [[-100, -100, 31, 32] + [-100] * 5 + [51, 7]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of system tokens that are targets."""
        if batch.roles is None:
            return Hits.none()
        return role_hits(batch, unwanted(batch).system, role_tokens(batch)[Role.SYSTEM])

    def message(self, totals: Totals) -> str:
        """Give the system tokens that are targets, their share, and where in the packs they are."""
        n = totals.n_tokens
        what = "system token is a target" if n == 1 else "system tokens are targets"
        return f"{n:,} {what} ({share_line(totals.measured, 'system tokens')}); allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without samples nobody knows which answer is the last."""
        return unknown_samples(batch, TargetPolicy.LAST_ASSISTANT)
