"""TGT002 loss-on-prompt: a prompt token is a target."""

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

_PACK = {
    "input_ids": [[1, 4, 41, 7, 5, 51, 7, 4, 42, 43, 7, 5, 52, 7]],
    "seq_lens": [[7, 7]],
    "config": {
        "profile": "sft",
        "trainer": "trl",
        "spec": {"bos_id": 1, "eos_ids": [7]},
        "chat": {"markers": {"user": [4], "assistant": [5], "end": [7]}},
    },
}
_ROLES = (Role.SYSTEM, Role.USER, Role.TOOL, Role.TEMPLATE)


class LossOnPrompt(PackRule):
    """The loss asks for the text that the model is meant to answer.

    ## What it checks
    Under `completion`: targets before the first answer of a sample, whoever speaks, the header of the answer
    among them. Under `assistant`, `last_assistant` and `flagged`: answers that are not to be learnt, with
    their ends, and thinking or calls that `[chat] train_on` leaves out; TGT003 to TGT006 report the rest.

    ## Why it matters
    Most tokens of a sample are prompt: trained, they outweigh the answers, and the model learns to write
    questions. A packer that does not carry the mask along does this to all samples.

    ## How to fix
    TRL: pack `completion_mask` or `assistant_masks` together with `input_ids`; Axolotl: `train_on_inputs:
    false`; LLaMA-Factory: `train_on_prompt: false`, with `mask_history` for the last answer only.

    ## Limits
    Under `completion` nothing is said of what follows the first answer, nor of samples whose head was cut
    off. The first token of a segment is TGT007's, padding TGT001's, a part of the header TGT012's.

    ## Sources
    karpathy/nanochat#582, huggingface/trl#3728, huggingface/open-r1#517, hiyouga/LLaMA-Factory#10827,
    OpenRLHF/OpenRLHF#781.
    """

    meta = RuleMeta(
        code="TGT002",
        name="loss-on-prompt",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TARGETS, Need.ROLES),
    )
    why = "Prompts outweigh answers, and the model learns to write questions."
    fix = "Carry the loss mask through packing; mask everything before the answer."
    good = ({**_PACK, "labels": [[-100] * 5 + [51, 7] + [-100] * 5 + [52, 7]]},)
    bad = ({**_PACK, "labels": [[-100] * 5 + [51, 7, -100, 42, 43, 7, 5, 52, 7]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of prompt tokens that are targets."""
        roles, expected = batch.roles, batch.expected
        if roles is None or expected is None:
            return Hits.none()
        segments, wrong = batch.segments, unwanted(batch).prompt
        if batch.policy.targets is TargetPolicy.COMPLETION:
            judged = segments.lengths - expected.allowed.count_within(segments.starts, segments.stops)
        else:
            judged = role_tokens(batch)[Role.ASSISTANT]
        said = {f"{role.name.lower()}_tokens": 0 for role in _ROLES}
        if len(wrong):
            said = {
                f"{role.name.lower()}_tokens": int(roles.of(role).intersect(wrong).n_tokens)
                for role in _ROLES
            }
        return role_hits(batch, wrong, judged, more=said)

    def message(self, totals: Totals) -> str:
        """Give the prompt tokens that are targets, by role, and where in the packs they are."""
        n, of_prompt = totals.n_tokens, totals.shard.policy.targets is TargetPolicy.COMPLETION
        kind = "prompt tokens" if of_prompt else "assistant tokens"
        what = kind.removesuffix("s") + " is a target" if n == 1 else f"{kind} are targets"
        if not of_prompt:
            return (
                f"{n:,} {what} that the policy leaves out ({share_line(totals.measured, kind)}); allowed: 0"
            )
        said = [(totals.measured[f"{role.name.lower()}_tokens"], role.name.lower()) for role in _ROLES]
        roles = ", ".join(f"{count:,} {name}" for count, name in said if count)
        return f"{n:,} {what}: {roles} ({share_line(totals.measured, kind)}); allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without samples nobody knows where prompts are."""
        return unknown_samples(batch, TargetPolicy.COMPLETION, TargetPolicy.LAST_ASSISTANT)
