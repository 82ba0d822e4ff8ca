"""TOK003 foreign-tokenizer: the packs were not made with the tokenizer of the reference."""

from __future__ import annotations

from collections.abc import Iterator

from packlint.finding import Confidence, Severity
from packlint.rule import Dataset, Judgement, ReferenceRule, RuleMeta
from packlint.summaries.reconciliation import Reconciliation

_IDS = [1, *range(10, 30), 2]


class ForeignTokenizer(ReferenceRule):
    """No sample of the reference is in the packs, not even in part.

    ## What it checks
    Whether any sample, or any run of 8 to 16 of its tokens, occurs in the packs. A reference of texts is
    encoded with the tokenizer that was given; one of ids is taken as it is.

    ## Why it matters
    The usual cause is another tokenizer, or another version of it: the ids mean other words to the model that
    will be trained, and nothing crashes.

    ## How to fix
    Pack again with the tokenizer of the model; compare its version with the manifest's (MAN003). If the ids
    are right, the reference is of other data: give the one that was packed.

    ## Limits
    It cannot tell another tokenizer from other data: it is likely, not certain. Where it fires, no other rule
    says anything against this reference.

    ## Sources
    allenai/open-instruct#1518, dhruvdcoder/xlm-core#50, axolotl-ai-cloud/axolotl#33 (caches of another
    tokenizer).
    """

    meta = RuleMeta(code="TOK003", name="foreign-tokenizer", severity=Severity.ERROR, since="0.1.0")
    why = "Ids of another tokenizer mean other words to the model, and nothing crashes."
    fix = "Pack with the model's own tokenizer, or give the reference that was really packed."
    good = ({"input_ids": [_IDS], "reference": {"input_ids": [_IDS]}},)
    bad = ({"input_ids": [_IDS], "reference": {"input_ids": [[i + 100 for i in _IDS]]}},)

    def judge(self, found: Reconciliation, dataset: Dataset) -> Iterator[Judgement]:
        """Report a reference of which nothing was found."""
        if not found.is_foreign or found.balance.packed == 0:
            return
        highest = ""
        if dataset.reference is not None and dataset.packed is not None:
            theirs, ours = (side.tokens.halves.shape[1] - 1 for side in (dataset.reference, dataset.packed))
            highest = f"; largest id {ours:,} in the packs, {theirs:,} in the reference"
        yield Judgement(
            message=f"none of the {len(found.samples):,} samples of the reference is in the packs, not even"
            f" in part: another tokenizer, or other data{highest}",
            n_hits=1,
            n_tokens=found.balance.packed,
            confidence=Confidence.LIKELY,
            measured={"reference_samples": len(found.samples), "packed_tokens": found.balance.packed},
        )
