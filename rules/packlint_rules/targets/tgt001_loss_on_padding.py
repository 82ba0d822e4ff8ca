"""TGT001 loss-on-padding: padding is a target."""

from __future__ import annotations

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2, 0, 0]],
    "segment_ids": [[1, 1, 1, 1, 2, 2, 2, 2, 0, 0]],
    "config": {"profile": "sft", "trainer": "grain", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}


class LossOnPadding(PackRule):
    """The loss asks for filler tokens.

    ## What it checks
    Runs of targets inside padding. Padding is what a mask, a length or a segment id says; failing that, the
    trailing run of the declared pad id (likely, not certain).

    ## Why it matters
    The model learns to write padding, and the mean loss is divided by tokens that mean nothing: the curve
    looks better than it is.

    ## How to fix
    Set labels to -100 and loss masks to 0 after padding, not before. Axolotl and LLaMA-Factory pad labels
    with -100 themselves; with TRL let the collator pad, or pad labels together with `input_ids`.

    ## Limits
    Silent where nothing tells padding from tokens, and for producers whose padding is known only by its dead
    labels (torchtune, TRL flattening). Targets that the trainer itself takes out of the loss by comparing
    ids with `pad_id` are not counted.

    ## Sources
    axolotl-ai-cloud/axolotl#2227, EleutherAI/gpt-neo#45, peremartra/optipfair#34,
    NVIDIA-NeMo/Megatron-Bridge#6103.
    """

    meta = RuleMeta(
        code="TGT001",
        name="loss-on-padding",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TARGETS, Need.PADDING),
    )
    why = "The model learns to write padding, and the mean loss counts tokens that mean nothing."
    fix = "Pad labels with -100 (loss masks with 0) where input_ids are padded."
    good = ({**_PACK, "labels": [[-100, -100, 12, 2, -100, -100, 22, 2, -100, -100]]},)
    bad = ({**_PACK, "labels": [[-100, -100, 12, 2, -100, -100, 22, 2, 0, 0]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of targets in padding."""
        padding, n_targets = batch.padding, batch.targets.n_tokens
        if not batch.targets.count_within(padding.starts, padding.stops).any():
            return Hits.none(targets=n_targets, padding_targets=0)
        trained = batch.targets.intersect(padding)
        contract, pad_id = batch.shard.contract, batch.spec.pad_id
        if contract is not None and contract.masks_padding_by_id and pad_id is not None:
            trained = trained.minus(Spans.from_mask(batch.tokens == pad_id.value))
        likely = batch.padding_evidence is PaddingEvidence.DECLARED_ID
        confidence = Confidence.LIKELY if likely else Confidence.CERTAIN
        counts = {"targets": n_targets, "padding_targets": trained.n_tokens}
        return Hits.of_spans(batch, trained, confidence=confidence, **counts)

    def message(self, totals: Totals) -> str:
        """Give the padding tokens that are targets, and their share."""
        n, n_all = totals.n_tokens, totals.measured["targets"]
        what = "padding token is a target" if n == 1 else "padding tokens are targets"
        return f"{n:,} {what} ({100 * n / n_all:.3g} % of all {n_all:,} targets); allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Without the pad id nobody knows what a trainer masks that masks by id."""
        contract = batch.shard.contract
        if contract is not None and contract.masks_padding_by_id and batch.spec.pad_id is None:
            return f"{contract.name} masks padding by its id, which is unknown; give [spec] pad_id"
        return None
