"""MAN003 false-declaration: a declared value differs from the measured one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Location, Severity
from packlint.model.batch import PackBatch
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.declared import Tolerances, contradictions
from packlint.summaries.figures import ShardFigures
from packlint.summaries.places import MAX_PLACES

_MAX_NAMED = 4


class FalseDeclaration(DatasetRule[ShardFigures]):
    """What a manifest, or a packer's own sidecar, declares is not what the shards hold.

    ## What it checks
    Every value of a `packlint-manifest.json` that can be measured: length, boundary token, masks, loss rule,
    padding, samples per pack, all counts, and for each listed shard its counts and a hash of its tokens. And
    the sidecars of packers, as their readers meet them: NeMo and Bridge metadata, MDS and litdata indices,
    `.ds.metadata` of datatrove, file headers.

    ## Why it matters
    Whoever trusts the declaration trains on other data than he thinks: shards rebuilt, cut or mixed up since.

    ## How to fix
    If the data are right, write the declaration again (`packlint manifest`; for NeMo and streaming, pack
    again); else find which step changed the shards after they were declared.

    ## Limits
    Ratios and counts of a set are compared only if all of it is checked. Texts, such as the packing
    algorithm, cannot be measured. The attention mask is what the trainer of this run would build.

    ## Sources
    huggingface/trl#1027 (1360 steps planned, 207 done), unslothai/unsloth#7234 (packing declared, not done).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How far declared values may be off; counts and hashes must be equal.

        Args:
            max_padding_difference: between padding fractions, absolute.
            max_samples_difference_fraction: between mean samples per pack, of the measured one.
            min_boundary_fraction: share of boundaries at which the declared token must stand.
        """

        max_padding_difference: float = 0.005
        max_samples_difference_fraction: float = 0.01
        min_boundary_fraction: float = 0.5

    meta = RuleMeta(code="MAN003", name="false-declaration", severity=Severity.ERROR, since="0.1.0")
    why = "Whoever trusts the declaration trains on other data than he thinks."
    fix = "Declare again what is right, or find which step changed the shards after they were declared."
    good = ({"input_ids": [[1, 11, 2]], "manifest": {"max_seq_len": 3, "measured": {"n_packs": 1}}},)
    bad = ({"input_ids": [[1, 11, 2]], "manifest": {"max_seq_len": 3, "measured": {"n_packs": 2}}},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say so where nothing is declared; packers' own sidecars are checked by their readers."""
        return None if batch.shard.has_manifest else "no manifest declares anything"

    def zero(self) -> ShardFigures:
        """Return no figures."""
        return ShardFigures()

    def observe(self, summary: ShardFigures, batch: PackBatch) -> ShardFigures:
        """Measure what can be declared."""
        summary.add(batch)
        return summary

    def judge(self, summary: ShardFigures, dataset: Dataset) -> Iterator[Judgement]:
        """Compare each manifest with its shards."""
        options = self.options
        tolerances = Tolerances(
            padding=options.max_padding_difference,
            samples=options.max_samples_difference_fraction,
            boundary=options.min_boundary_fraction,
        )
        found = [(m, c) for m in dataset.manifests or () for c in contradictions(m, summary, tolerances)]
        if not found:
            return
        values = "1 declared value does" if len(found) == 1 else f"{len(found):,} declared values do"
        named = "; ".join(dict.fromkeys(c.says for _, c in found[:_MAX_NAMED]))
        more = f"; and {len(found) - _MAX_NAMED:,} more" if len(found) > _MAX_NAMED else ""
        places = ((m.name if c.shard is None else dataset.shards[c.shard], c) for m, c in found)
        yield Judgement(
            message=f"{values} not hold: {named}{more}",
            n_hits=len(found),
            measured={"false_values": len(found)},
            locations=tuple(Location(shard=s, pack=-1, note=c.says) for s, c in places)[:MAX_PLACES],
        )
