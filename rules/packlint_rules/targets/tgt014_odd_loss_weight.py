"""TGT014 odd-loss-weight: a loss weight is NaN, infinite, negative, or no weight at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.model.weights import numbered_packs
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2, 0, 0]],
    "segment_ids": [[1, 1, 1, 1, 2, 2, 2, 2, 0, 0]],
    "config": {"profile": "sft", "trainer": "grain", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}
_WORDS = {
    "nan_weights": "NaN",
    "infinite_weights": "infinite",
    "negative_weights": "negative",
    "numbered_weights": "equal to the number of their segment",
    "undeclared_weights": "not declared",
}


class OddLossWeight(PackRule):
    """A number in the loss mask cannot be meant as a weight.

    ## What it checks
    Weights that are NaN, infinite or negative; packs whose weights are the numbers of their segments; and,
    unless `weighted` is declared, weights above a limit. With `weighted = false`: all but 0 and 1.

    ## Why it matters
    One NaN ends a run; a segment number as weight makes a pack's last samples count several times.

    ## How to fix
    Store 0 and 1, or declare `[spec] weighted = true`. MaxText and Grain: `targets_segmentation` is a mask,
    not a weight (compare with 0). ms-swift: `loss_scale` holds factors, which are fine.

    ## Limits
    Fractions and small factors are common practice and only measured. A wrong factor cannot be seen.

    ## Sources
    AI-Hypercomputer/maxtext#4756 (segment number used as weight).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """What is no weight.

        Args:
            max_undeclared_weight: largest weight allowed where nothing declares weights.
            min_numbered_segments: segments with targets that a pack of segment numbers must have.
        """

        max_undeclared_weight: float = 16.0
        min_numbered_segments: int = 2

    meta = RuleMeta(
        code="TGT014", name="odd-loss-weight", severity=Severity.ERROR, since="0.1.0", needs=(Need.WEIGHTS,)
    )
    why = "One NaN ends a run; numbers that were never meant as weights make some samples count double."
    fix = "Store 0 and 1, or finite weights of 0 or more with [spec] weighted = true."
    good = ({**_PACK, "loss_mask": [[0, 0, 1.0, 0.5, 0, 0, 1.0, 1.0, 0, 0]]},)
    bad = ({**_PACK, "loss_mask": [[0, 0, 1, 1, 0, 0, 2, 2, 0, 0]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of odd weights."""
        weights = batch.loss_weight
        if weights is None or weights.dtype == np.bool_ or weights.size == 0:
            return Hits.none()
        other = (weights != 0) & (weights != 1)
        declared = batch.spec.weighted.value if batch.spec.weighted else None
        if declared is not False and weights.min() >= 0 and weights.max() <= 1:
            return Hits.none(weights_not_0_or_1=int(np.count_nonzero(other)))
        kinds = {
            "nan_weights": np.isnan(weights),
            "infinite_weights": np.isinf(weights),
            "negative_weights": (weights < 0) & (weights != -np.inf),
        }
        if not declared:
            numbered = numbered_packs(batch, self.options.min_numbered_segments)
            kinds["numbered_weights"] = np.repeat(numbered, batch.pack_lengths) & (weights != 0)
            large = weights > self.options.max_undeclared_weight if declared is None else other
            kinds["undeclared_weights"] = large & ~np.logical_or.reduce(list(kinds.values()))
        spans = Spans.from_mask(np.logical_or.reduce(list(kinds.values())))
        measured = {name: int(np.count_nonzero(mask)) for name, mask in kinds.items()}
        measured["weights_not_0_or_1"] = int(np.count_nonzero(other))
        return replace(Hits.of_spans(batch, spans), measured=measured)

    def message(self, totals: Totals) -> str:
        """Give the odd weights by kind."""
        counts = [(totals.measured.get(name, 0), word) for name, word in _WORDS.items()]
        found = ", ".join(f"{n:,} {word}" for n, word in counts if n)
        weights = "loss weight is" if totals.n_tokens == 1 else "loss weights are"
        return f"{totals.n_tokens:,} {weights} odd: {found}; allowed: finite, 0 or more, and declared"
