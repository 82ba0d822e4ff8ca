"""BND001 conflicting-boundaries: two records of boundaries in one pack give different segments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.arrays import empty_int64
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.conflicts import compared_records, conflicts_with
from packlint.model.isolation import deciding_source
from packlint.model.needs import Need
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
    "seq_lens": [[4, 4]],
    "config": {"profile": "sft", "trainer": "trl", "spec": {"bos_id": 1, "eos_ids": [2]}},
}
_BETWEEN, _READ = "conflicts_of_", "packs_isolated_by_"


class ConflictingBoundaries(PackRule):
    """Two records of boundaries in one pack give different segments.

    ## What it checks
    Every record (lengths, offsets, ids, numbered mask, restarted positions) against the most trusted explicit
    one, padding left out. A scan for the end token, where the trainer makes one, may find more boundaries
    (BND007 is about those) but not fewer. Positions that only run on are left to BND003.

    ## Why it matters
    Programs read different records: what one keeps apart, another joins or cuts.

    ## How to fix
    Write all records from one list of lengths. OLMo-core and Megatron-LM scan for the end token: end cut
    documents in one too. With TRL and LLaMA-Factory drop the columns that nobody reads.

    ## Limits
    Two records do not tell which is wrong. Where padding is not known by structure, a record that counts it
    as segments looks like a conflict: likely, not certain.

    ## Sources
    allenai/OLMo-core#843, allenai/open-instruct#1855, AI-Hypercomputer/maxtext#5198.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Tolerate what templates write after an end token.

        Args:
            max_separator_tokens: tokens by which a scan may come before the recorded boundary.
        """

        max_separator_tokens: int = 2

    meta = RuleMeta(
        code="BND001",
        name="conflicting-boundaries",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.EXPLICIT_BOUNDARIES,),
    )
    why = "Programs read different records: what one keeps apart, another joins or cuts."
    fix = "Write all records of boundaries from one list of lengths, and drop those that nobody reads."
    good = ({**_PACK, "position_ids": [[0, 1, 2, 3, 0, 1, 2, 3]]},)
    bad = ({**_PACK, "position_ids": [[0, 1, 2, 0, 1, 2, 3, 4]]},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Ask for a second record."""
        return None if compared_records(batch) else f"{batch.segment_source} is the only record of boundaries"

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per pack, at the first boundary that two records do not share."""
        measured = {_READ + (deciding_source(batch) or "nothing"): batch.n_packs}
        places = empty_int64()
        for other in compared_records(batch):
            differences = conflicts_with(batch, other, self.options.max_separator_tokens)
            measured[f"{_BETWEEN}{batch.segment_source}_and_{other}"] = int(differences.size)
            places = np.union1d(places, differences)
        _, first, amounts = np.unique(batch.packs_of(places), return_index=True, return_counts=True)
        certain = batch.padding_evidence is PaddingEvidence.STRUCTURE
        confidence = Confidence.CERTAIN if certain else Confidence.LIKELY
        hits = Hits.of_tokens(batch, places[first], confidence=confidence, **measured)
        return replace(hits, amounts=amounts)

    def message(self, totals: Totals) -> str:
        """Name the records, the worst place, and the record that the trainer goes by."""
        counts, worst, contract = totals.measured, totals.worst, totals.shard.contract
        pairs = sorted(key for key, n in counts.items() if key.startswith(_BETWEEN) and n)
        records = "; ".join(pair.removeprefix(_BETWEEN).replace("_and_", " and ") for pair in pairs)
        packs = "1 pack" if totals.n_hits == 1 else f"{totals.n_hits:,} packs"
        read = next(key for key in counts if key.startswith(_READ)).removeprefix(_READ)
        return (
            f"{records} give different segments in {packs}, in pack {worst.pack} from token {worst.start}; "
            f"{contract.name if contract else 'no known trainer'} isolates by {read}; allowed: 0"
        )
