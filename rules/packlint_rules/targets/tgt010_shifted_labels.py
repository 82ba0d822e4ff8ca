"""TGT010 shifted-labels: labels sit on another token than the trainer expects."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.labels import OFFSETS, count_matches, offset_of, shifted_packs
from packlint.model.needs import Need
from packlint.model.spec import Origin
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 13, 14, 2]],
    "segment_ids": [[1] * 6],
    "config": {"profile": "sft", "trainer": "grain", "spec": {"bos_id": 1, "eos_ids": [2]}},
}
_NAMES = ("matched_minus_1", "matched_0", "matched_plus_1", "matched_plus_2")


class ShiftedLabels(PackRule):
    """Labels were shifted twice, or not at all, for the trainer that reads them.

    ## What it checks
    At which offset a label equals a token, per pack: -1, 0, +1 or +2. Right is 0 where the trainer shifts
    labels itself (unshifted), +1 where it does not (pre-shifted).

    ## Why it matters
    Shifted twice, labels train on the next but one; not shifted, on a copy of the input. Nothing crashes.

    ## How to fix
    Store labels unshifted for transformers, TRL, Axolotl and torchtune; shifted for Automodel and MaxText.

    ## Limits
    Packs of few labels are judged only where the whole shard shows the fault; loss masks never.

    ## Sources
    allenai/open-instruct#1549, huggingface/transformers#44642, KempnerInstitute/KempnerForge#155.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """When a pack counts as shifted.

        Args:
            min_labels: labels that a pack needs to be judged by itself.
            min_matched_fraction: fraction of its labels that must match at an offset.
        """

        min_labels: int = 3
        min_matched_fraction: float = 0.5

    meta = RuleMeta(
        code="TGT010",
        name="shifted-labels",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.LABEL_IDS, Need.TRAINER),
    )
    why = "Every token is trained on the wrong neighbour, or on itself, and nothing crashes."
    fix = "Store labels unshifted for trainers that shift (most), moved left by one for those that do not."
    good = ({**_PACK, "labels": [[-100, -100, 12, 13, 14, 2]]},)
    bad = ({**_PACK, "labels": [[-100, 12, 13, 14, 2, -100]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per shifted pack."""
        contract, told = batch.shard.contract, batch.spec.label_alignment
        if contract is None or not contract.reads_loss or batch.label_ids is None:
            return Hits.none()
        expected = contract.label_alignment
        differs = told is not None and told.origin is not Origin.FORMAT and told.value is not expected
        min_labels = 1 if differs else self.options.min_labels
        shifted = shifted_packs(batch, expected, min_labels, self.options.min_matched_fraction)
        if not shifted.any():
            return Hits.none()
        n_labels, equal = count_matches(batch, shifted)
        counts = dict(zip(_NAMES, equal.sum(axis=1).tolist(), strict=True))
        hits = Hits.of_packs(batch, np.flatnonzero(shifted), amounts=n_labels[shifted])
        return replace(hits, measured=counts | {"labels": int(n_labels.sum())})

    def message(self, totals: Totals) -> str:
        """Give the shares matched at each offset and what training would do."""
        contract = totals.shard.contract
        assert contract is not None
        right, counts = offset_of(contract.label_alignment), [totals.measured[name] for name in _NAMES]
        n_best, best = max((n, offset) for offset, n in zip(OFFSETS, counts, strict=True))
        reach = best + 1 - right
        shares = ", ".join(f"{_signed(o)}: {n:,}" for o, n in zip(OFFSETS, counts, strict=True))
        training = f"t{reach:+d}" + (", a copy of the input" if reach == 0 else "")
        packs = "1 pack" if totals.n_packs == 1 else f"{totals.n_packs:,} packs"
        labels = f"{n_best:,} of {totals.measured['labels']:,} labels of {packs}"
        wanted = f"{contract.name} expects {_signed(right)}: training would be on {training}"
        return f"{labels} equal the token at offset {_signed(best)} ({shares}); {wanted}"


def _signed(offset: int) -> str:
    return f"{offset:+d}" if offset else "0"
