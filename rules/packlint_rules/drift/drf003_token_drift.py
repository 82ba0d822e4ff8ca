"""DRF003 token-drift: ids have other shares than in the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packlint.finding import Severity
from packlint.rule import Dataset, DriftRule, Judgement, RuleMeta
from packlint.summaries.composition import Composition
from packlint.summaries.drift import tokens
from packlint.summaries.drift.words import percent


def _packs(*ids: int) -> dict[str, Any]:
    packs = {"input_ids": [[1, *ids, 2]] * 400, "seq_lens": [[len(ids) + 2]] * 400}
    spec = {"bos_id": 1, "eos_ids": [2]}
    return {**packs, "reference": {"input_ids": [[11, 12, 13, 14]] * 400}, "config": {"spec": spec}}


class TokenDrift(DriftRule):
    """Ids have other shares in the packs than in the reference.

    ## What it checks
    The Jensen-Shannon divergence between the counts of all ids, padding and special tokens left out. Against
    an earlier build, what exceeds the divergence between two halves of each side: text comes in bursts, and
    differs from itself. Names the ids that moved most, and special tokens of another number per sample.

    ## Why it matters
    Another tokenizer, a wrong storage type, lost languages or code, a header repeated in every sample: all
    show in which ids occur, even where nothing else is stored.

    ## How to fix
    Read the ids that moved. Ids folded at 65,536: store 32 bits (Megatron-LM and datatrove choose
    the width by the vocabulary they are told). Ids unknown to the reference: use one tokenizer.

    ## Limits
    Order within samples does not count. Small builds differ so much from themselves that little drift shows.

    ## Sources
    mlfoundations/open_lm#77, allenai/open-instruct#1518, axolotl-ai-cloud/axolotl#33.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How much may move.

        Args:
            max_js: Jensen-Shannon divergence in bits, beyond that between halves of one side.
            max_special_move: change of the number of a special token per sample, beyond whole numbers.
        """

        max_js: float = 0.01
        max_special_move: float = 0.02

    meta = RuleMeta(code="DRF003", name="token-drift", severity=Severity.WARNING, since="0.1.0")
    why = "Another tokenizer, a wrong storage type or lost content shows in which ids occur."
    fix = "Read the ids that moved; tokenize both sides alike, and find the samples that are missing."
    good = (_packs(11, 12, 13, 14),)
    bad = (_packs(11, 11, 11, 15),)

    def unchecked(self, reference: Composition, packed: Composition) -> str | None:
        """Give a reason where a side holds nothing but special tokens."""
        return None if tokens.between(reference, packed) else "a side holds no tokens but special ones"

    def judge(self, reference: Composition, packed: Composition, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the counts of ids."""
        options, drift = self.options, tokens.between(reference, packed)
        if drift is None or drift.divergence - drift.chance.most <= options.max_js:
            return
        movers = ", ".join(f"{m.id}: {percent(m.packed)} / {percent(m.reference)}" for m in drift.movers(5))
        rates = [s for s in drift.specials if s.is_odd(options.max_special_move)]
        odd = "".join(
            f"; id {s.id} ({s.purposes[0]}) {s.packed:.3g} / {s.reference:.3g} a sample" for s in rates
        )
        within = f", {drift.chance.most:.2g} within a side" if drift.chance.most else ""
        yield Judgement(
            message=f"Jensen-Shannon divergence {drift.divergence:.2g} between ids{within}; allowed:"
            f" {options.max_js:g} beyond; most moved ids, packs / reference: {movers}{odd}",
            n_hits=1,
            measured=drift.distances(),
        )
