"""TGT006 loss-on-template: a role header or other template token is a target."""

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


class LossOnTemplate(PackRule):
    """The loss asks for what the chat template writes, not the assistant.

    ## What it checks
    Targets among headers, role names, separators and the end markers of other speakers, under the policies
    `assistant`, `last_assistant` and `flagged`. The end of a learnt answer, and separators or an end of text
    right behind it, may be targets. Parts of a header next to an answer are TGT012's.

    ## Why it matters
    Template tokens are always right after a few steps: they make the loss look good, and trained end markers
    of the user teach the model to end turns that are not its own.

    ## How to fix
    Begin the mask after the header of the answer and end it with its end token. TRL: put
    `{% generation %}` behind the header; Axolotl: `train_on_eos: turn`, not `all`.

    ## Limits
    Markers that split in an unusual way are not seen as template. One trained token of a header of one token
    is template, not a mask that is off by one.

    ## Sources
    NVIDIA-NeMo/Automodel#3739, jingyaogong/minimind#636, karpathy/nanochat#582.
    """

    meta = RuleMeta(
        code="TGT006",
        name="loss-on-template",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.TARGETS, Need.ROLES),
    )
    why = "Template tokens teach nothing; trained ends of other speakers teach to end their turns."
    fix = "Mask headers, separators and the ends of other speakers' turns."
    good = (
        {**_PACK, "labels": [[-100, -100, -100, -100, -100, 51, 7, -100, -100, -100, -100, -100, 52, 7]]},
    )
    bad = ({**_PACK, "labels": [[-100, -100, -100, -100, -100, 51, 7, -100, -100, -100, 7, 5, 52, 7]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of template tokens that are targets."""
        if batch.roles is None:
            return Hits.none()
        return role_hits(batch, unwanted(batch).template, role_tokens(batch)[Role.TEMPLATE])

    def message(self, totals: Totals) -> str:
        """Give the template tokens that are targets, their share, and where in the packs they are."""
        n = totals.n_tokens
        what = "template token is a target" if n == 1 else "template tokens are targets"
        return f"{n:,} {what} ({share_line(totals.measured, 'template tokens')}); allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without samples nobody knows which answer is the last."""
        return unknown_samples(batch, TargetPolicy.LAST_ASSISTANT)
