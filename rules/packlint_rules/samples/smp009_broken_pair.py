"""SMP009 broken-pair: a chosen or rejected sample has no partner with the same prompt beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.edges import follows_another
from packlint.model.needs import Need
from packlint.model.pairs import prompt_lengths, shares_prompt
from packlint.model.recorded import sound_segments
from packlint.rule import PackRule, RuleMeta, Totals

_CONFIG = {"profile": "preference", "trainer": "trl", "spec": {"eos_ids": [2]}}
_PACK = {"seq_lens": [[5, 5]], "config": _CONFIG}
_LABELS = [[-100, -100, -100, 61, 2, -100, -100, -100, 62, 2]]


class BrokenPair(PackRule):
    """A chosen or a rejected sample stands without its partner: no neighbour has the same masked prompt.

    ## What it checks
    Only where the policy `pairs_samples` says that samples come in pairs (profile `preference`): in each
    pack, segments 0 and 1, 2 and 3, … must share their prompt, that is all before their first target.

    ## Why it matters
    The loss compares the two: with a partner of another prompt, or none, it teaches what nobody prefers.

    ## How to fix
    Pack pairs, not samples: keep both in one pack or drop both (xtuner packs each pair as one item), cut the
    prompt alike in both, and mask it in both (LLaMA-Factory, TRL: labels of the prompt are -100).

    ## Limits
    Pairs are known from the labels alone; which one is chosen is not. Two neighbours that differ in prompt
    count as two; samples without targets (TGT008) pass for partners. Layouts with all chosen samples before
    all rejected ones (OpenRLHF, in memory) are not known. A pair in two columns of one row
    (`chosen_input_ids`, `rejected_input_ids`: TRL, LLaMA-Factory) is not packed, cannot lose its partner, and
    is not read.

    ## Sources
    huggingface/trl#4481, hiyouga/LLaMA-Factory#420; InternLM/xtuner xtuner/dataset/preference_dataset.py,
    huggingface/trl trl/trainer/dpo_trainer.py (`prompt_input_ids`; from 1.0 on `prompt_ids`, `chosen_ids`).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """What a prompt is.

        Args:
            min_prompt_tokens: tokens before the first target, below which the prompt is not masked.
        """

        min_prompt_tokens: int = 2

    meta = RuleMeta(
        code="SMP009",
        name="broken-pair",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.PACKS, Need.EXPLICIT_BOUNDARIES, Need.TARGETS),
    )
    why = "The loss compares the two: without the right partner it teaches what nobody prefers."
    fix = "Pack pairs as one item (xtuner), cut and mask the prompt alike in both (TRL, LLaMA-Factory)."
    good = ({"input_ids": [[1, 51, 52, 61, 2, 1, 51, 52, 62, 2]], "labels": _LABELS, **_PACK},)
    bad = ({"input_ids": [[1, 51, 52, 61, 2, 1, 51, 53, 62, 2]], "labels": _LABELS, **_PACK},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per sample without partner: the last one of an odd row of equal prompts."""
        if not batch.policy.pairs_samples or batch.shard.unit is not Unit.PACK or batch.n_segments == 0:
            return Hits.none()
        prompts = prompt_lengths(batch)
        unknown = (prompts < 0) | ~sound_segments(batch)
        follows = shares_prompt(batch, prompts, self.options.min_prompt_tokens)
        follows |= follows_another(batch) & (unknown | np.append(True, unknown[:-1]))
        heads = np.flatnonzero(~follows)
        sizes = np.diff(np.append(heads, batch.n_segments))
        alone = (heads + sizes - 1)[sizes % 2 == 1]
        alone = alone[~unknown[alone]]
        return Hits.of_segments(batch, alone, samples=batch.n_segments)

    def message(self, totals: Totals) -> str:
        """Count samples without partner."""
        n, n_all = totals.n_hits, totals.measured["samples"]
        samples = "1 sample has" if n == 1 else f"{n:,} samples have"
        return f"{samples} no partner of the same masked prompt beside it, of {n_all:,}; allowed: 0"
