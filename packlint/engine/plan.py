"""Shards + settings → how each shard is read, and the policy that all are held to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from packlint.config import RunConfig, policy_from
from packlint.engine.scan import ShardPlan
from packlint.engine.tally import count_batch
from packlint.errors import UnreadableError
from packlint.model.batch import Unit
from packlint.model.contract import TrainerContract
from packlint.model.manifest import Manifest
from packlint.model.markers import ChatMarkers
from packlint.model.spec import DatasetSpec, Policy
from packlint.readers.canonical import build
from packlint.readers.observe import Observations, observe
from packlint.readers.reading import IGNORE_INDEX, Reading
from packlint.readers.settle import settle
from packlint.readers.shard import Layout, RawRows, Role, Shard
from packlint.registry import find_profile
from packlint.report import ProfileReport
from packlint.trainers import CONTRACTS, declared_contract, find_contract

__all__ = ["Plan", "plan_shards"]

T = TypeVar("T")

_MAX_SHARDS_SEEN = 256
_ENOUGH_SHARDS = 16
_ENOUGH_TOKENS = 1 << 16
_MAX_PARTS_SEEN = 32
_ENOUGH_PARTS = 3
_SAMPLE_TOKENS = 1 << 14
_MIN_UNTRAINED_FRACTION = 0.01


@dataclass(frozen=True, slots=True)
class Plan:
    """Say how a run goes.

    Args:
        shards: one plan per shard, sorted by name.
        profile: the policy, and why it was chosen.
        policy: the same as rules see it.
        trainer_source: `config` or `format`.
        manifests: what is declared beside the shards, by their places in `shards`; none in memory.
    """

    shards: tuple[ShardPlan, ...]
    profile: ProfileReport
    policy: Policy
    trainer_source: str
    manifests: tuple[Manifest, ...] | None = None


@dataclass(slots=True)
class _Group:
    """Shards of one layout: what one of them shows holds for all."""

    layout: Layout
    shards: list[Shard] = field(default_factory=list)
    sample: list[RawRows] = field(default_factory=list)
    seen: Observations = field(default_factory=Observations)
    contract: TrainerContract | None = None


def plan_shards(
    shards: Sequence[Shard],
    config: RunConfig,
    declared: DatasetSpec,
    chat: ChatMarkers | None = None,
    manifest_specs: Mapping[str, DatasetSpec] | None = None,
) -> Plan:
    """Look at a few rows of each layout and settle how every shard is read.

    Args:
        shards: all shards of the run.
        config: what the user declared.
        declared: conventions from config and tokenizer.
        chat: how a chat is written in ids, or none.
        manifest_specs: conventions from a manifest, by name of the shard; the config's win over them.
    """
    specs = (manifest_specs or {}).items()
    told = {name: config.spec.or_else(spec).or_else(declared) for name, spec in specs}
    ordered = sorted(shards, key=lambda shard: shard.name)
    groups = _groups(ordered)
    for group in groups.values():
        _look(group, config, told.get(group.shards[0].name, declared))
    profile = _profile(groups.values(), config, declared, told)
    policy = policy_from(profile.name, find_profile(profile.name), config.policy)
    plans = []
    sizes = Counter(map(_size, ordered))
    for index, shard in enumerate(ordered):
        group = groups[_key(shard)]
        reading = _settle(shard, index, group, told.get(shard.name, declared), policy, chat)
        is_stream = group.layout.unit is Unit.DOCUMENT
        has_rival = sizes[_size(shard)] > 1 if is_stream else len(ordered) > 1
        context = replace(reading.context, has_manifest=shard.name in told, has_rival=has_rival)
        reading = replace(reading, context=context)
        roles = frozenset(group.layout.columns) - {Role.SAMPLE_IDS}
        plans.append(ShardPlan(shard, reading, roles))
    source = "config" if config.trainer else "format"
    return Plan(tuple(plans), profile, policy, source)


def _size(shard: Shard) -> tuple[str, int]:
    """Return what copies of a stream share, as streams are stored as they are."""
    return shard.format, shard.n_bytes


def _key(shard: Shard) -> str:
    """Return what shards of one group share: all of the layout but the evidence for it."""
    layout = shard.layout
    columns = sorted((role.value, name) for role, name in layout.columns.items())
    rest = (getattr(layout, f.name) for f in fields(layout) if f.name not in ("columns", "evidence"))
    return repr((columns, *rest))


def _groups(shards: Sequence[Shard]) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for shard in shards:
        groups.setdefault(_key(shard), _Group(shard.layout)).shards.append(shard)
    return groups


def _look(group: _Group, config: RunConfig, declared: DatasetSpec) -> None:
    ignore = declared.ignore_index.value if declared.ignore_index else IGNORE_INDEX
    for n_seen, shard in enumerate(_spread(group.shards, _MAX_SHARDS_SEEN)):
        if n_seen >= _ENOUGH_SHARDS and group.seen.n_tokens >= _ENOUGH_TOKENS:
            break
        rows = list(_sample(shard))
        group.sample += rows
        group.seen.add(observe(rows, ignore))
    group.contract = _contract(group.layout, config)


def _sample(shard: Shard) -> Iterator[RawRows]:
    """Yield the first block of a few parts; damage is for the scan to report."""
    roles = frozenset(shard.layout.columns) - {Role.SAMPLE_IDS}
    try:
        n_tokens = 0
        for n_seen, part in enumerate(_spread(shard.parts(), _MAX_PARTS_SEEN)):
            if n_seen >= _ENOUGH_PARTS and n_tokens >= _SAMPLE_TOKENS:
                break
            for raw in shard.rows(part, roles, _SAMPLE_TOKENS):
                n_tokens += raw.columns[Role.INPUT_IDS].values.size
                yield raw
                break
    except UnreadableError:
        return


def _spread(items: Sequence[T], most: int) -> list[T]:
    """Return at most `most` items, evenly spread, the first among them."""
    step = max(1, -(-len(items) // most))
    return list(items[::step])


def _contract(layout: Layout, config: RunConfig) -> TrainerContract | None:
    if config.trainer == "declared":
        return declared_contract(config.trainer_contract)
    if config.trainer:
        return find_contract(config.trainer)
    return CONTRACTS.get(layout.trainer) if layout.trainer else None


def _settle(
    shard: Shard,
    index: int,
    group: _Group,
    declared: DatasetSpec,
    policy: Policy,
    chat: ChatMarkers | None = None,
) -> Reading:
    return settle(
        name=shard.name,
        index=index,
        layout=group.layout,
        declared=declared.or_else(shard.spec),
        seen=group.seen,
        contract=group.contract,
        policy=policy,
        chat=chat,
    )


def _profile(
    groups: Iterable[_Group], config: RunConfig, declared: DatasetSpec, told: Mapping[str, DatasetSpec]
) -> ProfileReport:
    if config.profile:
        return ProfileReport(name=config.profile, source="config", why=config.source or "declared")
    groups = list(groups)
    if groups and all(group.layout.unit is Unit.PAIR for group in groups):
        why = "a chosen and a rejected sample stand side by side in the columns of each row"
        return ProfileReport(name="preference", source="inferred", why=why)
    counts: Counter[str] = Counter()
    has_loss = False
    for group in groups:
        has_loss |= group.seen.has_loss
        if not group.shards:
            continue
        first = group.shards[0]
        reading = _settle(first, 0, group, told.get(first.name, declared), Policy())
        for raw in group.sample:
            batch, _ = build(raw, reading)
            if batch is not None:
                counts.update(count_batch(batch))
    real = counts["n_tokens"] - counts["n_padding"]
    untrained = real - counts["n_targets"] - counts["n_segments"]
    if has_loss and untrained > _MIN_UNTRAINED_FRACTION * real:
        why = "the loss leaves out real tokens, as it does for prompts"
        return ProfileReport(name="sft", source="inferred", why=why)
    why = "the loss asks for every token seen" if has_loss else "no labels and no loss mask are stored"
    return ProfileReport(name="pretrain", source="inferred", why=why)
