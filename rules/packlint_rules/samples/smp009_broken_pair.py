"""SMP009 broken-pair: a chosen or rejected sample has no partner with the same prompt beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.needs import Need, missing
from packlint.model.pairs import bare_pairs, lone_samples
from packlint.rule import PackRule, RuleMeta, Totals

_CONFIG = {"profile": "preference", "trainer": "trl", "spec": {"eos_ids": [2]}}
_PACK = {"seq_lens": [[5, 5]], "config": _CONFIG}
_LABELS = [[-100, -100, -100, 61, 2, -100, -100, -100, 62, 2]]
_UNITS = (Unit.PACK, Unit.PAIR)


class BrokenPair(PackRule):
    """A chosen or a rejected sample stands without its partner: no neighbour has the same masked prompt.

    ## What it checks
    Only where the policy `pairs_samples` says that samples come in pairs (profile `preference`): in each
    pack, segments 0 and 1, 2 and 3, … must share their prompt, that is all before their first target. Where
    the sides are columns (TRL, LLaMA-Factory), both must be there, and share it unless it is stored once.

    ## Why it matters
    The loss compares the two: with a partner of another prompt, or none, it teaches what nobody prefers.

    ## How to fix
    Pack pairs, not samples: keep both in one pack or drop both (xtuner packs each pair as one item), cut the
    prompt alike in both, and mask it in both (LLaMA-Factory, TRL: labels of the prompt are -100).

    ## Limits
    Pairs in packs are known from the labels alone, and which one is chosen is not. Two neighbours that differ
    in prompt count as two; samples without targets (TGT008) pass for partners. ORPO, CPO and old DPO of TRL
    may cut a merged token off one prompt, so that their last is not compared. Layouts with all chosen samples
    before all rejected ones (OpenRLHF, batches of TRL 1, in memory) are not known.

    ## Sources
    huggingface/trl#4481, hiyouga/LLaMA-Factory#420; InternLM/xtuner xtuner/dataset/preference_dataset.py,
    hiyouga/LLaMA-Factory src/llamafactory/data/processor/pairwise.py, huggingface/trl
    trl/trainer/dpo_trainer.py (`prompt_input_ids`; from 0.29 on `prompt_ids`, `chosen_ids`).
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
        needs=(Need.EXPLICIT_BOUNDARIES, Need.TARGETS),
    )
    partial = True
    why = "The loss compares the two: without the right partner it teaches what nobody prefers."
    fix = "Pack pairs as one item (xtuner), cut and mask the prompt alike in both (TRL, LLaMA-Factory)."
    good = ({"input_ids": [[1, 51, 52, 61, 2, 1, 51, 52, 62, 2]], "labels": _LABELS, **_PACK},)
    bad = ({"input_ids": [[1, 51, 52, 61, 2, 1, 51, 53, 62, 2]], "labels": _LABELS, **_PACK},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Ask for rows that can hold a pair."""
        return None if batch.shard.unit in _UNITS else missing(batch, Need.PACKS)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per sample without partner, and one per row of a pair without either."""
        is_known = not any(missing(batch, need) for need in self.meta.needs)
        can_judge = batch.shard.unit is Unit.PAIR or (batch.shard.unit is Unit.PACK and is_known)
        if not (batch.policy.pairs_samples and can_judge):
            return Hits.none()
        alone, bare = lone_samples(batch, self.options.min_prompt_tokens), bare_pairs(batch)
        segments, at = batch.segments, batch.pack_offsets[bare]
        return Hits(
            starts=np.append(segments.starts[alone], at),
            stops=np.append(segments.stops[alone], at),
            packs=np.append(segments.packs[alone], bare),
            segments=np.append(alone, np.full_like(bare, -1)),
            amounts=np.append(segments.lengths[alone], np.zeros_like(bare)),
            measured={"samples": batch.n_segments, "bare_pairs": bare.size},
        )

    def message(self, totals: Totals) -> str:
        """Count samples without partner."""
        n_bare, n_all = totals.measured["bare_pairs"], totals.measured["samples"]
        n = totals.n_hits - n_bare
        samples = "1 sample has" if n == 1 else f"{n:,} samples have"
        bare = f"; rows with neither side: {n_bare:,}" if n_bare else ""
        return f"{samples} no partner of the same masked prompt beside it, of {n_all:,}{bare}; allowed: 0"
