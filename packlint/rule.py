"""All that a rule author imports.

A rule is one class in one file. Its docstring is its documentation page, with the headings
*What it checks / Why it matters / How to fix / Limits / Sources*. `good` and `bad` are the smallest packs
that show it; they feed tests and documentation.

    PackRule       looks at a batch of packs, keeps nothing           check(batch) -> Hits
    DatasetRule    adds up a summary over all shards, then judges it  zero · observe · judge
    ReferenceRule  judges packs against the samples they came from    judge(reconciliation)
    DriftRule      compares two compositions, reference and packed    judge(reference, packed)
    ReaderRule     documents a fault that only a reader can see       (no code)
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from packlint.finding import Confidence, Hits, Location, Severity
from packlint.model.batch import PackBatch, ShardContext
from packlint.model.manifest import Manifest
from packlint.model.needs import Need
from packlint.model.spec import DatasetSpec, Policy
from packlint.summaries.composition import Composition
from packlint.summaries.reconciliation import Reconciliation

__all__ = [
    "Dataset",
    "DatasetRule",
    "DriftRule",
    "Example",
    "Judgement",
    "PackRule",
    "ReaderRule",
    "ReferenceRule",
    "Rule",
    "RuleMeta",
    "Summary",
    "Totals",
    "documentation",
]

Example = Mapping[str, Any]
"""Packs in memory, as `packlint.check` takes them: columns by name, and settings under `config`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMeta:
    """Name a rule.

    Args:
        code: three letters of the family and three digits, for ever.
        name: kebab-case; names the fault.
        severity: default severity.
        since: version that brought it.
        needs: what must be present or known; else the rule is not checked, with the reason.
        family: what the family is about, in one word.
    """

    code: str
    name: str
    severity: Severity
    since: str
    needs: tuple[Need, ...] = ()

    @property
    def family(self) -> str:
        """The three letters."""
        return self.code[:3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Give a rule its own exact counts for one shard, to word the message with.

    Args:
        shard: what is known of the shard.
        n_hits: places.
        n_packs: packs with a place.
        n_segments: segments with a place.
        n_tokens: tokens in all places.
        amount: sum of the amounts of all hits.
        measured: what `check` measured, added up.
        checked: the shard's own counts: `n_packs`, `n_segments`, `n_tokens`, `n_padding`, `n_targets`.
        worst: the worst place.
    """

    shard: ShardContext
    n_hits: int
    n_packs: int
    n_segments: int
    n_tokens: int
    amount: int
    measured: Mapping[str, int]
    checked: Mapping[str, int]
    worst: Location


class Rule(ABC):
    """Share what all kinds of rules have; derive from one of the three kinds instead."""

    meta: ClassVar[RuleMeta]
    good: ClassVar[tuple[Example, ...]] = ()
    bad: ClassVar[tuple[Example, ...]] = ()
    why: ClassVar[str] = ""
    """Why it matters, in one line for reports."""
    fix: ClassVar[str] = ""
    """How to fix it, in one line for reports."""
    partial: ClassVar[bool] = False
    """Check even where `unchecked` gives a reason: hits count, but silence is `not_checked`, not `clean`."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """No options; a rule with options replaces this class. Units stand in the field names."""

    def __init__(self, options: Any = None) -> None:
        self.options: Any = self.Options() if options is None else options

    def severity(self, shard: ShardContext) -> Severity:
        """Return the severity for this shard, where contract or policy change it."""
        return self.meta.severity

    def judge_found(self, found: Reconciliation, dataset: Dataset) -> Iterable[Judgement] | None:
        """Return what a reference shows beyond the packs alone; none where it shows nothing either way."""
        return None

    def unfound(self, found: Reconciliation) -> str | None:
        """Return why a rule that counts with the reference, where there is one, cannot do so."""
        return None


class PackRule(Rule):
    """Look at one batch of packs; keep no state, do no I/O, render nothing."""

    @abstractmethod
    def check(self, batch: PackBatch) -> Hits:
        """Return all places of the fault."""

    @abstractmethod
    def message(self, totals: Totals) -> str:
        """Say what was measured and what was allowed, in one line without a final dot."""

    def unchecked(self, batch: PackBatch) -> str | None:
        """Return why the shard cannot be judged, beyond what `needs` covers.

        Look at what is stored and known, not at values: the answer must be the same for every batch.
        """
        return None


class Summary(Protocol):
    """A statistic that adds up: `merge` is associative and commutative, and has a zero."""

    def merge(self, other: Any) -> Any:
        """Return the summary of both."""


S = TypeVar("S", bound=Summary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Tell a `DatasetRule` what the whole run is about.

    Args:
        shards: names of all shards, sorted; a batch's `shard.index` points into it.
        policy: what was wanted.
        spec: conventions that all shards share.
        checked: counts over all shards: `n_packs`, `n_segments`, `n_tokens`, `n_padding`, `n_targets`.
        manifests: what is declared beside the shards; none for data in memory, beside which nothing stands.
        found: what became of every sample of the reference, or none.
        reference: what the reference, or an earlier build, is made of, or none.
        packed: what the packs are made of, where there is a reference.
    """

    shards: tuple[str, ...]
    policy: Policy
    spec: DatasetSpec
    checked: Mapping[str, int]
    manifests: tuple[Manifest, ...] | None = ()
    found: Reconciliation | None = None
    reference: Composition | None = None
    packed: Composition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Say what a `DatasetRule` found in the whole data set."""

    message: str
    n_hits: int
    severity: Severity | None = None
    confidence: Confidence = Confidence.CERTAIN
    n_packs: int = 0
    n_segments: int = 0
    n_tokens: int = 0
    measured: Mapping[str, int | float | str] = field(default_factory=dict)
    locations: tuple[Location, ...] = ()


class DatasetRule(Rule, Generic[S]):
    """Add up a summary over all batches of all shards, in any order, then judge it once."""

    @abstractmethod
    def zero(self) -> S:
        """Return the summary of nothing."""

    @abstractmethod
    def observe(self, summary: S, batch: PackBatch) -> S:
        """Add a batch; may update `summary` in place and return it."""

    @abstractmethod
    def judge(self, summary: S, dataset: Dataset) -> Iterable[Judgement]:
        """Return the findings, at most one per kind."""

    def measures(self, summary: S, dataset: Dataset) -> Mapping[str, int | float]:
        """Return figures of the data set by name, for the report, also where nothing is wrong."""
        return {}

    def unchecked(self, batch: PackBatch) -> str | None:
        """Return why the shard cannot be judged, as in `PackRule.unchecked`."""
        return None


class ReferenceRule(Rule):
    """Judge the packs against the unpacked samples that they were made from; sees the whole run once."""

    @abstractmethod
    def judge(self, found: Reconciliation, dataset: Dataset) -> Iterable[Judgement]:
        """Return the findings, at most one per kind."""

    def unchecked(self, found: Reconciliation, dataset: Dataset) -> str | None:
        """Return why it cannot be judged although there is a reference."""
        return None


class DriftRule(Rule):
    """Compare what the packs are made of with what a reference, or an earlier build, is made of."""

    @abstractmethod
    def judge(self, reference: Composition, packed: Composition, dataset: Dataset) -> Iterable[Judgement]:
        """Return the findings, at most one per kind."""

    def unchecked(self, reference: Composition, packed: Composition) -> str | None:
        """Return why the two cannot be compared."""
        return None


class ReaderRule(Rule):
    """Document a fault that the reader raises, so that every code is explained and selected alike."""


def documentation(rule: type[Rule]) -> dict[str, str]:
    """Split a rule's docstring into its headings; the title is under the empty heading."""
    text = re.sub(r"^    ", "", rule.__doc__ or "", flags=re.MULTILINE)
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    pages = {"": parts[0].strip()}
    pages.update({h.strip(): body.strip() for h, body in zip(parts[1::2], parts[2::2], strict=True)})
    return pages
