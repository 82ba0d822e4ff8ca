"""TGT005 loss-on-tool: a tool result is a target."""

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
    "chat": {"markers": {"user": [4], "assistant": [5], "tool": [6], "end": [7]}},
}
_PACK = {
    "input_ids": [[1, 4, 41, 7, 5, 51, 7, 6, 61, 62, 7, 5, 52, 7]],
    "seq_lens": [[14]],
    "config": _CONFIG,
}


class LossOnTool(PackRule):
    """The loss asks for the results of tools.

    ## What it checks
    Targets among the tokens that tools return, under the policies `assistant`, `last_assistant` and
    `flagged`. Calls of tools are the assistant's own text: `[chat] train_on` says whether they are learnt.

    ## Why it matters
    The model learns to make up what a tool would say instead of calling it and waiting.

    ## How to fix
    Mask by role. TRL: leave tool messages outside `{% generation %}`; Axolotl: `roles_to_train: [assistant]`;
    LLaMA-Factory: the role `observation` is masked with the user's turns.

    ## Limits
    A project that trains results on purpose (RUC-NLPIR/ARPO#9) turns the rule off or takes another policy.
    Under `completion` results after the first answer may be targets. Results that no marker tells from what
    the user says are the user's.

    ## Sources
    PrimeIntellect-ai/prime-rl#978, karpathy/nanochat#582, RUC-NLPIR/ARPO#9 (on purpose).
    """

    meta = RuleMeta(
        code="TGT005",
        name="loss-on-tool",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TARGETS, Need.ROLES),
    )
    why = "The model learns to make up what tools return."
    fix = "Mask by role: tool results are context, not answers."
    good = (
        {**_PACK, "labels": [[-100, -100, -100, -100, -100, 51, 7, -100, -100, -100, -100, -100, 52, 7]]},
    )
    bad = ({**_PACK, "labels": [[-100, -100, -100, -100, -100, 51, 7, -100, 61, 62, -100, -100, 52, 7]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of tool tokens that are targets."""
        if batch.roles is None:
            return Hits.none()
        return role_hits(batch, unwanted(batch).tool, role_tokens(batch)[Role.TOOL])

    def message(self, totals: Totals) -> str:
        """Give the tool tokens that are targets, their share, and where in the packs they are."""
        n = totals.n_tokens
        what = "tool token is a target" if n == 1 else "tool tokens are targets"
        return f"{n:,} {what} ({share_line(totals.measured, 'tool tokens')}); allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without samples nobody knows which answer is the last."""
        return unknown_samples(batch, TargetPolicy.LAST_ASSISTANT)
