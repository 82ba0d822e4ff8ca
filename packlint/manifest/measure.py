"""A complete manifest from measured data: no clock, no machine, the same bytes for the same shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from packlint.engine.plan import Plan
from packlint.engine.tally import ShardResult
from packlint.errors import UnreadableError
from packlint.executors import local
from packlint.finding import Severity
from packlint.manifest.table import SCHEMA
from packlint.model.batch import PackBatch, Unit
from packlint.model.spec import DatasetSpec, Known, Origin, TargetPolicy
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.figures import COUNTS, Figures, ShardFigures

__all__ = ["UNMEASURED", "measure_manifest"]

UNMEASURED = ("tokenizer", "packing_algorithm", "distribution_change")
"""Fields that no shard shows: they are told, or left open."""

_MIN_BOUNDARY_FRACTION = 0.5
_NOT_IN_SPEC = ("max_seq_len",)


class _Measure(DatasetRule[ShardFigures]):
    """Add up figures as a rule does; judges nothing."""

    meta = RuleMeta(code="MEASURE", name="measure", severity=Severity.INFO, since="0.1.0")

    def zero(self) -> ShardFigures:
        return ShardFigures()

    def observe(self, summary: ShardFigures, batch: PackBatch) -> ShardFigures:
        summary.add(batch)
        return summary

    def judge(self, summary: ShardFigures, dataset: Dataset) -> list[Judgement]:
        return []


def measure_manifest(
    plan: Plan,
    *,
    told: Mapping[str, str | None],
    paths: Mapping[str, str],
    version: str,
    jobs: int = 1,
) -> dict[str, Any]:
    """Scan all shards and return the table of a manifest.

    Args:
        plan: how the shards are read.
        told: the fields of `UNMEASURED`, as far as they are known.
        paths: path of each shard below the manifest's folder, by its name.
        version: version of packlint.
        jobs: threads.

    Raises:
        UnreadableError: a shard is damaged, so that the manifest would not be complete.
    """
    rule = _Measure()
    results = local.run(plan.shards, (rule,), jobs=jobs)
    _refuse_damage(results)
    measured = rule.zero()
    for result in results.values():
        measured = measured.merge(result.summaries.get(rule.meta.code, rule.zero()))
    indices = range(len(plan.shards))
    figures = measured.of(indices)
    spec = _common(plan)
    named = {field: told.get(field) for field in UNMEASURED}
    return {
        "schema": SCHEMA,
        "tool": {"name": "packlint", "version": version},
        "tokenizer": named["tokenizer"],
        "max_seq_len": _row_length(plan, spec, figures),
        "boundary_tokens": _boundary_tokens(spec, figures),
        "packing_algorithm": named["packing_algorithm"],
        "cross_document_attention": figures.cross_document_attention,
        "attention_mask_type": figures.attention_mask_type,
        "loss_mask_rule": _loss_rule(plan, figures),
        "padding_fraction": _rounded(figures.padding_fraction),
        "samples_per_pack": _rounded(figures.samples_per_pack),
        "distribution_change": named["distribution_change"],
        "spec": _spec_table(spec, figures),
        "measured": {name: figures.counts[name] for name in COUNTS},
        "shards": sorted(
            ({"path": paths[plan.shards[i].shard.name], **measured.entry(i)} for i in indices),
            key=lambda entry: str(entry["path"]),
        ),
    }


def _refuse_damage(results: Mapping[str, ShardResult]) -> None:
    for name in sorted(results):
        for code in ("SHD001", "SHD002", "SHD005"):
            if code in results[name].tallies:
                note = results[name].tallies[code].exemplars[0].note
                raise UnreadableError(f"{name}: {note} ({code}); a manifest of it would not be complete")
        if results[name].errors:
            raise UnreadableError("; ".join(results[name].errors))


def _common(plan: Plan) -> DatasetSpec:
    """Return the conventions on which all shards agree."""
    specs = [entry.reading.context.spec for entry in plan.shards]
    agreed: dict[str, Known[Any]] = {}
    for name in (f.name for f in fields(DatasetSpec)):
        known = [getattr(spec, name) for spec in specs]
        if known and all(k is not None and k.value == known[0].value for k in known):
            agreed[name] = known[0]
    return DatasetSpec(**agreed)


def _row_length(plan: Plan, spec: DatasetSpec, figures: Figures) -> int | None:
    if spec.max_seq_len is not None and spec.max_seq_len.origin is not Origin.DETECTED:
        return spec.max_seq_len.value
    is_packed = all(entry.reading.context.unit is Unit.PACK for entry in plan.shards)
    return figures.longest or None if is_packed else None


def _boundary_tokens(spec: DatasetSpec, figures: Figures) -> list[int] | None:
    share = figures.boundary_fraction
    if share is None:
        return None
    if share < _MIN_BOUNDARY_FRACTION:
        return []
    ends = spec.eos_ids.value if spec.eos_ids else ()
    return list(ends or spec.end_ids) or ([spec.bos_id.value] if spec.bos_id else [])


def _loss_rule(plan: Plan, figures: Figures) -> str | None:
    if figures.trains_all is None:
        return None
    if figures.trains_all:
        return TargetPolicy.ALL.value
    return None if plan.policy.targets is TargetPolicy.ALL else plan.policy.targets.value


def _spec_table(spec: DatasetSpec, figures: Figures) -> dict[str, Any]:
    per_pack = figures.samples_per_pack
    table: dict[str, Any] = {} if per_pack is None else {"packed": per_pack > 1}
    for name in (f.name for f in fields(DatasetSpec)):
        known = getattr(spec, name)
        if known is not None and name not in _NOT_IN_SPEC:
            table[name] = list(known.value) if isinstance(known.value, tuple) else known.value
    return dict(sorted(table.items()))


def _rounded(value: float | None) -> float | None:
    """Round to 12 digits, as in reports."""
    return None if value is None else float(f"{value:.12g}")
