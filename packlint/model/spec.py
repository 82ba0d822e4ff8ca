"""Conventions of a data set, each with where it came from, and the policy that it is held to."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Generic, TypeVar

from packlint.model.contract import LabelAlignment

__all__ = ["DatasetSpec", "Known", "Origin", "Policy", "TargetPolicy"]

T = TypeVar("T")


class Origin(StrEnum):
    """Where a value came from, most trusted first."""

    CONFIG = "config"
    MANIFEST = "manifest"
    TOKENIZER = "tokenizer"
    FORMAT = "format"
    DETECTED = "detected"
    TRAINER = "trainer"


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """Hold a value and how we know it.

    Args:
        value: the value.
        origin: where it came from.
        why: one line of evidence, shown in the report; may be empty for declared values.
    """

    value: T
    origin: Origin
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec:
    """State the conventions of a shard; `None` means that nobody knows.

    Args:
        max_seq_len: slots per pack.
        vocab_size: number of token ids; ids run from 0 to this, exclusive.
        token_dtype: storage type of the ids, as numpy names it.
        pad_id: id used to fill packs.
        bos_id: id that begins a sample, where samples begin with one.
        eos_ids: ids of which one ends a sample; empty when it was seen that none does.
        end_of_turn_ids: ids that end a turn of a chat.
        max_sample_len: longest segment allowed, in tokens (sample or position limit).
        ignore_index: label that asks for nothing.
        label_alignment: on which token stored labels and loss masks sit, as measured or declared.
        packed: whether several samples per row are promised.
        weighted: whether loss weights other than 0 and 1 are meant.
    """

    max_seq_len: Known[int] | None = None
    vocab_size: Known[int] | None = None
    token_dtype: Known[str] | None = None
    pad_id: Known[int] | None = None
    bos_id: Known[int] | None = None
    eos_ids: Known[tuple[int, ...]] | None = None
    end_of_turn_ids: Known[tuple[int, ...]] | None = None
    max_sample_len: Known[int] | None = None
    ignore_index: Known[int] | None = None
    label_alignment: Known[LabelAlignment] | None = None
    packed: Known[bool] | None = None
    weighted: Known[bool] | None = None

    def or_else(self, fallback: DatasetSpec) -> DatasetSpec:
        """Return this spec with the values it lacks taken from `fallback`."""
        missing = {f.name: getattr(fallback, f.name) for f in fields(self) if getattr(self, f.name) is None}
        return replace(self, **missing)

    @property
    def end_ids(self) -> tuple[int, ...]:
        """Ids that may end a sample: `eos_ids` and `end_of_turn_ids`, without repeats."""
        known = [k.value for k in (self.eos_ids, self.end_of_turn_ids) if k is not None]
        return tuple(dict.fromkeys(i for ids in known for i in ids))

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Ids that begin, end or fill, rising; packers add and strip them at the ends of samples."""
        known = {k.value for k in (self.bos_id, self.pad_id) if k is not None}
        return tuple(sorted(known | set(self.eos_ids.value if self.eos_ids else ())))


class TargetPolicy(StrEnum):
    """Which tokens may be targets.

    `flagged`: each answer is either learnt as a whole or not at all, as flags of its message said.
    """

    ALL = "all"
    COMPLETION = "completion"
    ASSISTANT = "assistant"
    LAST_ASSISTANT = "last_assistant"
    FLAGGED = "flagged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """State what was wanted; what is a fault depends on it.

    Args:
        name: name of the profile it came from.
        requires_isolation: samples of a pack must not see each other.
        allows_boundary_targets: the first token of a segment may be a target.
        targets: who may be a target.
        wants_begin_token: every sample begins with `bos_id`.
        wants_end_token: every whole sample ends in an end token.
        wants_boundary_token: some token stands between two samples.
        padding_only_at_end: padding is one tail of the pack.
        promises_long_context: rows are long for the sake of samples that fill them, not of throughput.
        pairs_samples: samples come in pairs of one prompt, a chosen and a rejected answer side by side.
        off: codes of rules that the profile turns off.
        severities: severity by rule code, where it differs from the rule's own.
    """

    name: str = "pretrain"
    requires_isolation: bool = False
    allows_boundary_targets: bool = True
    targets: TargetPolicy = TargetPolicy.ALL
    wants_begin_token: bool = False
    wants_end_token: bool = True
    wants_boundary_token: bool = False
    padding_only_at_end: bool = True
    promises_long_context: bool = False
    pairs_samples: bool = False
    off: frozenset[str] = frozenset()
    severities: dict[str, str] = field(default_factory=dict)
