"""Harness for rule authors: packs from plain lists, a rule's hits, a report.

    batch = make_batch({"input_ids": [[1, 11, 2, 1, 21, 2]], "seq_lens": [[3, 3]]})
    hits = check(MyRule, batch)
    report = lint({"input_ids": ..., "config": {"trainer": "trl", "profile": "sft"}})

Columns bear the canonical names of `packlint.readers.shard.Role`; `config` is what packlint.toml holds, and
`layout` may say what no column can (`padding`, `alignment`, `unit`, `nothing`, ...). For rules that look at
whole data sets, `shards` says how many rows lie in each shard, and `manifest` what is declared beside them.
For rules that compare, `reference` holds the unpacked samples in the same form, and `metadata` of either side
the category of each of its samples, in order, by column; a column without role is metadata of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from packlint.config import RunConfig, parse_config, policy_from
from packlint.conventions import conventions_of
from packlint.engine.tally import count_batch
from packlint.finding import Hits
from packlint.manifest.table import FILE_NAME, SCHEMA, ManifestTable, parse_manifest
from packlint.model.batch import PackBatch, Unit
from packlint.model.contract import LabelAlignment, TrainerContract
from packlint.model.manifest import Manifest
from packlint.model.markers import end_of_turn_spec
from packlint.model.metadata import Categories
from packlint.model.spec import DatasetSpec, Policy
from packlint.readers.canonical import build
from packlint.readers.metadata import attach, read_metadata
from packlint.readers.observe import observe
from packlint.readers.reading import IGNORE_INDEX
from packlint.readers.settle import settle
from packlint.readers.shard import Layout, PaddingMark, Part, Ragged, RawRows, Role
from packlint.registry import find_profile
from packlint.report import Report
from packlint.rule import Dataset, DatasetRule, DriftRule, Example, Judgement, PackRule, Rule
from packlint.session import check_shards
from packlint.summaries.composition import Composition
from packlint.summaries.cores import cores_of
from packlint.trainers import declared_contract, find_contract

__all__ = [
    "ColumnsShard",
    "check",
    "composition_of",
    "judge",
    "judge_drift",
    "judge_example",
    "lint",
    "make_batch",
    "make_batches",
]

_TOLD_APART = ("config", "layout", "manifest", "metadata", "reference", "shards")
_ROLES = frozenset(role.value for role in Role)
_LAYOUT_TYPES = {"unit": Unit, "padding": PaddingMark, "alignment": LabelAlignment}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsShard:
    """Serve plain lists as a shard, with columns by canonical name."""

    columns: Mapping[Role, list[Any]]
    layout: Layout
    metadata: Mapping[str, list[Any]] = field(default_factory=dict)
    name: str = "example"
    format: str = "memory"
    spec: DatasetSpec = field(default_factory=DatasetSpec)
    n_bytes: int = 0

    def parts(self) -> Sequence[Part]:
        """Return one part."""
        return [Part(0, 0, len(self.columns[Role.INPUT_IDS]))]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield blocks of whole rows."""
        lengths = [len(row) for row in self.columns[Role.INPUT_IDS]]
        first, total = 0, 0
        for row, length in enumerate(lengths):
            total += length
            if total >= block_tokens or row == len(lengths) - 1:
                yield self._slice(first, row + 1, roles)
                first, total = row + 1, 0

    def lacks(self, name: str) -> str | None:
        """Say why there is no such column."""
        return None if name in self.metadata else "no such column"

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = 0
    ) -> Iterator[Mapping[str, list[Any]]]:
        """Yield all values at once."""
        yield {name: self.metadata[name] for name in names}

    def _slice(self, first: int, stop: int, roles: frozenset[Role]) -> RawRows:
        columns = {
            role: _ragged(role, values[first:stop]) for role, values in self.columns.items() if role in roles
        }
        return RawRows(row_numbers=np.arange(first, stop), columns=columns)


def make_batch(example: Example) -> PackBatch:
    """Return all rows of an example as one batch."""
    batches = make_batches(example, block_tokens=1 << 60)
    assert len(batches) == 1, "every row of the example is ragged"
    return batches[0]


def make_batches(example: Example, block_tokens: int = 1 << 17) -> list[PackBatch]:
    """Return the rows of an example in batches of about `block_tokens` tokens."""
    shard = shard_of(example)
    config = config_of(example)
    contract = contract_of(config)
    chat = conventions_of(config).chat
    ignore = config.spec.ignore_index.value if config.spec.ignore_index else IGNORE_INDEX
    everything = frozenset(shard.columns)
    seen = observe(shard.rows(shard.parts()[0], everything, 1 << 60), ignore)
    profile = config.profile or ("sft" if Role.LABELS in shard.columns else "pretrain")
    reading = settle(
        name=shard.name,
        index=0,
        layout=shard.layout,
        declared=config.spec.or_else(_manifest_table(example).spec).or_else(end_of_turn_spec(chat)),
        seen=seen,
        contract=contract,
        policy=policy_from(profile, find_profile(profile), config.policy),
        chat=chat,
    )
    if "manifest" in example:
        reading = replace(reading, context=replace(reading.context, has_manifest=True))
    part = shard.parts()[0]
    columns = read_metadata(shard, part, list(shard.metadata))
    built = [build(raw, reading)[0] for raw in shard.rows(part, everything, block_tokens)]
    return [attach(batch, columns, part) for batch in built if batch is not None]


def check(rule: type[Rule] | Rule, batch: PackBatch | Example, **options: Any) -> Hits:
    """Return the hits of a pack rule, whatever its needs."""
    instance = rule(rule.Options(**options)) if isinstance(rule, type) else rule
    assert isinstance(instance, PackRule)
    return instance.check(batch if isinstance(batch, PackBatch) else make_batch(batch))


def judge_example(
    rule: type[DatasetRule[Any]] | DatasetRule[Any], example: Example, **options: Any
) -> list[Judgement]:
    """Return what a dataset rule says of an example, with its shards and its manifest."""
    batches = make_batches(example)
    if sizes := example.get("shards"):
        edges = np.cumsum([0, *sizes]).tolist()
        parts = [_rows_of(example, start, stop) for start, stop in pairwise(edges)]
        batches = [batch for index, part in enumerate(parts) for batch in _as_shard(part, index)]
    if "manifest" not in example:
        return judge(rule, batches, **options)
    table = _manifest_table(example)
    indices = frozenset(batch.shard.index for batch in batches)
    manifest = Manifest(name=FILE_NAME, fields=table.fields, counts=table.counts, shards=indices)
    return judge(rule, batches, manifests=(manifest,), **options)


def judge(
    rule: type[DatasetRule[Any]] | DatasetRule[Any],
    batches: Sequence[PackBatch],
    *,
    manifests: tuple[Manifest, ...] = (),
    **options: Any,
) -> list[Judgement]:
    """Return what a dataset rule says of some batches taken together, whatever its needs."""
    instance = rule(rule.Options(**options)) if isinstance(rule, type) else rule
    summary = instance.zero()
    checked: Counter[str] = Counter()
    for batch in batches:
        summary = summary.merge(instance.observe(instance.zero(), batch))
        checked.update(count_batch(batch))
    shards = {batch.shard.index: batch.shard for batch in batches}
    dataset = Dataset(
        shards=tuple(shards[i].name if i in shards else "" for i in range(max(shards, default=-1) + 1)),
        policy=batches[0].policy if batches else Policy(),
        spec=batches[0].spec if batches else DatasetSpec(),
        checked=checked,
        manifests=manifests,
    )
    return list(instance.judge(summary, dataset))


def judge_drift(rule: type[DriftRule] | DriftRule, example: Example, **options: Any) -> list[Judgement]:
    """Return what a drift rule says of an example and its reference, or nothing where it cannot be judged."""
    instance = rule(rule.Options(**options)) if isinstance(rule, type) else rule
    reference = {"layout": {"unit": "sample"}, **example["reference"], "config": example.get("config", {})}
    before, now = composition_of(reference), composition_of(example)
    before.is_source = True
    if instance.unchecked(before, now) is not None:
        return []
    batch = make_batch(example)
    dataset = Dataset(shards=("example",), policy=batch.policy, spec=batch.spec, checked=count_batch(batch))
    return list(instance.judge(before, now, dataset))


def composition_of(example: Example) -> Composition:
    """Return what the samples of an example are made of."""
    batch = make_batch(example)
    columns = {name: _categories(values) for name, values in example.get("metadata", {}).items()}
    spec = batch.spec
    specials = spec.end_ids + tuple(known.value for known in (spec.bos_id, spec.pad_id) if known)
    cores = cores_of(batch, specials)
    composition = Composition()
    composition.observe(replace(batch, metadata=columns), cores.lengths, cores.starts)
    return composition


def _categories(values: Sequence[str | None]) -> Categories:
    names = tuple(sorted({value for value in values if value is not None}))
    return Categories(names, np.array([names.index(v) if v in names else -1 for v in values], np.int32))


def lint(example: Example) -> Report:
    """Return the report of an example, with its shards, manifest apart, and its reference."""
    sizes = example.get("shards", [len(example["input_ids"])])
    shards = [
        replace(shard_of(_rows_of(example, start, stop)), name=f"shard-{index}")
        for index, (start, stop) in enumerate(pairwise(np.cumsum([0, *sizes]).tolist()))
    ]
    reference = None
    if "reference" in example:
        reference = [replace(shard_of(example["reference"]), name="reference")]
    return check_shards(shards, {}, config_of(example), reference=reference)


def _rows_of(example: Example, start: int, stop: int) -> Example:
    columns = {name: rows[start:stop] for name, rows in example.items() if name not in _TOLD_APART}
    return {**columns, **{name: example[name] for name in ("config", "layout") if name in example}}


def _as_shard(example: Example, index: int) -> list[PackBatch]:
    found = make_batches(example)
    return [replace(b, shard=replace(b.shard, name=f"shard-{index}", index=index)) for b in found]


def _manifest_table(example: Example) -> ManifestTable:
    return parse_manifest({"schema": SCHEMA, **example.get("manifest", {})})


def shard_of(example: Example) -> ColumnsShard:
    """Return an example as a shard."""
    given = {name: rows for name, rows in example.items() if name not in _TOLD_APART}
    columns = {Role(name): rows for name, rows in given.items() if name in _ROLES}
    told: dict[str, Any] = {
        name: _LAYOUT_TYPES[name](value) if name in _LAYOUT_TYPES else value
        for name, value in example.get("layout", {}).items()
    }
    layout = Layout(
        producer="example",
        trainer=None,
        columns={role: role.value for role in columns},
        padding=_padding_mark(columns),
        offsets_have_end=Role.CU_SEQLENS in columns,
    )
    metadata = {name: rows for name, rows in given.items() if name not in _ROLES}
    return ColumnsShard(columns=columns, layout=replace(layout, **told), metadata=metadata)


def config_of(example: Example) -> RunConfig:
    """Return the settings of an example."""
    return parse_config(example.get("config", {}), "example")


def contract_of(config: RunConfig) -> TrainerContract | None:
    """Return the contract that a configuration names, or none."""
    if config.trainer == "declared":
        return declared_contract(config.trainer_contract)
    return find_contract(config.trainer) if config.trainer else None


def _padding_mark(columns: Iterable[Role]) -> PaddingMark:
    if Role.SEGMENT_IDS in columns:
        return PaddingMark.SEGMENT_ID
    return PaddingMark.MASK_ZERO if Role.ATTENTION_MASK in columns else PaddingMark.UNKNOWN


def _ragged(role: Role, rows: list[Any]) -> Ragged:
    if role is Role.DENSE_MASK:
        return Ragged(np.array(rows, np.bool_), np.arange(len(rows) + 1))
    lengths = [len(row) for row in rows]
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    flat = [value for row in rows for value in row]
    is_float = any(isinstance(value, float) for value in flat)
    return Ragged(np.array(flat, np.float32 if is_float else np.int64), offsets)
