"""The loss mask against what the policy wants: each wrong token is one fault and belongs to one rule.

tokens    <user> Hi [end]  <assistant> [nl]  Hello there  [end]       policy `assistant`
wanted                                       ^^^^^^^^^^^  ^^^^^
targets          T                     T           T                  T  T  T: what the shard stores
fault            user                  edge  head         end
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, are_among, empty_int64, sorted_distinct
from packlint.model.batch import PackBatch, Unit
from packlint.model.contract import BoundarySource
from packlint.model.edges import fragment_starts
from packlint.model.expected import Expected
from packlint.model.labels import shifted_packs, stored_alignment
from packlint.model.recorded import malformed_packs
from packlint.model.roles import Part, Role, Roles
from packlint.model.spans import Spans
from packlint.model.spec import TargetPolicy

__all__ = [
    "MAX_SHIFT_TOKENS",
    "Ends",
    "Untrained",
    "Unwanted",
    "trained_ends",
    "unknown_samples",
    "untrained",
    "unwanted",
    "wanted",
]

MAX_SHIFT_TOKENS = 2
"""Tokens by which a mask that begins or ends beside an answer is off rather than meant for something else."""


@dataclass(frozen=True, slots=True, eq=False)
class Unwanted:
    """Hold targets that must not be; no token is in two of these.

    Args:
        edges: tokens just before or just after an answer that is learnt.
        prompt: text that the policy leaves out: all before the first answer (`completion`), and answers or
            parts of answers that are not to be learnt, with their ends (the other policies).
        system: the system's.
        user: the user's.
        tool: results of tools.
        template: template tokens.
    """

    edges: Spans = field(default_factory=Spans.empty)
    prompt: Spans = field(default_factory=Spans.empty)
    system: Spans = field(default_factory=Spans.empty)
    user: Spans = field(default_factory=Spans.empty)
    tool: Spans = field(default_factory=Spans.empty)
    template: Spans = field(default_factory=Spans.empty)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Hold the answers that are learnt and finished.

    Args:
        answers: `int64[end]`, indices in `Roles.answers`.
        is_trained: `bool[end]`, whether their end marker is a target.
        spans: tokens of end markers that are no targets.
    """

    answers: Int64Array = field(default_factory=empty_int64)
    is_trained: BoolArray = field(default_factory=lambda: np.empty(0, np.bool_))
    spans: Spans = field(default_factory=Spans.empty)


@dataclass(frozen=True, slots=True, eq=False)
class Untrained:
    """Hold tokens of answers that should be targets and are not, ends of learnt answers aside.

    Args:
        heads: up to `MAX_SHIFT_TOKENS` at the beginning of an answer whose next token is a target.
        bodies: all others.
    """

    heads: Spans = field(default_factory=Spans.empty)
    bodies: Spans = field(default_factory=Spans.empty)


def unknown_samples(batch: PackBatch, *policies: TargetPolicy) -> str | None:
    """Return why nobody knows the first and last answers of samples, if one of these policies asks."""
    if batch.shard.unit is not Unit.PACK or batch.policy.targets not in policies:
        return None
    if batch.segment_source is None:
        return f"nothing records where samples begin, which the policy {batch.policy.targets.value} asks for"
    if batch.segment_source is BoundarySource.BOUNDARY_TOKENS and _ends_turns(batch):
        return "samples are known by end tokens only, which end turns too"
    return None


def _ends_turns(batch: PackBatch) -> bool:
    chat, eos = batch.shard.chat, batch.spec.eos_ids
    return chat is not None and eos is not None and not set(chat.end_of_turn_ids).isdisjoint(eos.value)


def unwanted(batch: PackBatch) -> Unwanted:
    """Return the targets that the policy does not allow.

    Padding (TGT001), first tokens of segments (TGT007), malformed packs (BND002) and packs of shifted labels
    (TGT010) are other rules' business. Samples whose head is missing have no prompt that could be told.
    """
    if "unwanted" not in batch._cache:
        batch._cache["unwanted"] = _unwanted(batch)
    found: Unwanted = batch._cache["unwanted"]
    return found


def _unwanted(batch: PackBatch) -> Unwanted:
    roles, expected, targets = batch.roles, batch.expected, batch.targets
    if roles is None or expected is None or batch.policy.targets is TargetPolicy.ALL:
        return Unwanted()
    if targets.equals(wanted(batch)) or targets.lie_in(expected.allowed):
        return Unwanted()
    wrong = targets.minus(expected.allowed).minus(batch.padding)
    wrong = _judged(batch, wrong.minus(_first_tokens(batch)).minus(_tails(batch, roles)))
    edges = _edges(roles, wrong, targets)
    rest = wrong.minus(edges)
    if batch.policy.targets is TargetPolicy.COMPLETION:
        return Unwanted(edges=edges, prompt=rest)
    finished = np.flatnonzero(roles.answers.is_finished)
    prompt = rest.intersect(roles.of(Role.ASSISTANT).union(_end_spans(roles, finished)))
    return Unwanted(
        edges=edges,
        prompt=prompt,
        system=rest.intersect(roles.of(Role.SYSTEM)),
        user=rest.intersect(roles.of(Role.USER)),
        tool=rest.intersect(roles.of(Role.TOOL)),
        template=rest.intersect(roles.of(Role.TEMPLATE)).minus(prompt),
    )


def _judged(batch: PackBatch, wrong: Spans) -> Spans:
    """Leave out packs that are another rule's business as a whole."""
    if len(wrong) == 0:
        return wrong
    spoiled = malformed_packs(batch, [batch.segment_source])
    contract, stored = batch.shard.contract, stored_alignment(batch)
    expected = contract.label_alignment if contract else stored
    if batch.label_ids is not None and (batch.label_mismatches.size or expected is not stored):
        spoiled |= shifted_packs(batch, expected)
    packs = np.flatnonzero(spoiled)
    if packs.size == 0:
        return wrong
    return wrong.minus(Spans.from_intervals(batch.pack_offsets[packs], batch.pack_offsets[packs + 1]))


def _first_tokens(batch: PackBatch) -> Spans:
    return Spans.from_indices(sorted_distinct(batch.segments.starts))


def _tails(batch: PackBatch, roles: Roles) -> Spans:
    """Return what may be the tail of a turn that began in another pack: the end marker does not say whose.

    It reaches to the first header of the segment. Where the prompt is asked for, it is the whole segment.
    """
    starts, stops = batch.segments.starts, batch.segments.stops
    cut = fragment_starts(batch, if_unknown=False)
    cut |= roles.at(starts) == Role.UNKNOWN
    starts, stops = starts[cut], stops[cut]
    if batch.policy.targets is not TargetPolicy.COMPLETION:
        headers = np.append(roles.turns.headers, roles.n_tokens)
        stops = np.minimum(stops, headers[np.searchsorted(headers, starts)])
    return Spans.from_intervals(starts, stops)


def _edges(roles: Roles, wrong: Spans, targets: Spans) -> Spans:
    """Return short runs that touch an answer which is learnt up to there, and are no whole header."""
    turns, mine = roles.turns, roles.answers.turns
    if len(wrong) == 0 or mine.size == 0:
        return Spans.empty()
    short = wrong.lengths <= MAX_SHIFT_TOKENS
    before, after = targets.contains(wrong.starts - 1), targets.contains(wrong.stops)
    bodies = turns.header_stops[mine]
    at = np.minimum(np.searchsorted(bodies, wrong.stops), mine.size - 1)
    early = (bodies[at] == wrong.stops) & (wrong.starts > turns.headers[mine[at]]) & after & ~before
    ends = np.maximum(turns.separator_stops[mine], turns.ends[mine] + 1)
    at = np.minimum(np.searchsorted(ends, wrong.starts), mine.size - 1)
    following = np.minimum(mine[at] + 1, len(turns) - 1)
    is_header = (turns.headers[following] == wrong.starts) & (turns.header_stops[following] <= wrong.stops)
    late = (ends[at] == wrong.starts) & ~is_header & before
    kept = short & (early | late)
    return Spans(wrong.starts[kept], wrong.stops[kept])


def wanted(batch: PackBatch) -> Spans:
    """Return the tokens of answers that must be targets, end markers among them."""
    roles, expected = batch.roles, batch.expected
    if roles is None or expected is None:
        return Spans.empty()
    if batch.policy.targets is not TargetPolicy.ALL:
        return expected.wanted
    answers = roles.answers
    bodies = Spans.from_intervals(answers.starts, answers.stops)
    return bodies.union(_end_spans(roles, expected.ends))


def _end_spans(roles: Roles, answers: Int64Array) -> Spans:
    return Spans.from_intervals(*_end_markers(roles, answers))


def _end_markers(roles: Roles, answers: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the end markers of finished answers; where the next header ends one, its first token."""
    starts = roles.answers.ends[answers]
    return starts, np.maximum(roles.turns.separators[roles.answers.turns[answers]], starts + 1)


def trained_ends(batch: PackBatch) -> Ends:
    """Return which of the answers that are learnt and finished learn their end too.

    An answer without any target is not learnt; what precedes the end of a learnt one may be a call of a tool.
    """
    if "trained_ends" not in batch._cache:
        batch._cache["trained_ends"] = _trained_ends(batch)
    found: Ends = batch._cache["trained_ends"]
    return found


def _trained_ends(batch: PackBatch) -> Ends:
    roles, expected, targets = batch.roles, batch.expected, batch.targets
    if roles is None or expected is None:
        return Ends()
    answers = roles.answers
    if targets.equals(wanted(batch)):
        mine = expected.ends[answers.stops[expected.ends] > answers.starts[expected.ends]]
        return Ends(mine, np.ones(mine.size, np.bool_))
    mine = expected.answers[answers.is_finished[expected.answers]]
    mine = mine[targets.count_within(answers.starts[mine], answers.stops[mine]) > 0]
    starts, stops = _end_markers(roles, mine)
    is_trained = targets.count_within(starts, stops) == stops - starts
    if is_trained.all():
        return Ends(mine, is_trained)
    missing = Spans.from_intervals(starts[~is_trained], stops[~is_trained]).minus(targets)
    missing = _judged(batch, missing)
    ends = np.flatnonzero(~is_trained)
    spoiled = missing.count_within(starts[ends], stops[ends]) == 0
    is_trained[ends[spoiled]] = True
    return Ends(mine, is_trained, missing)


def untrained(batch: PackBatch) -> Untrained:
    """Return the tokens of answers that the policy wants and the loss does not ask for.

    Samples without any target are TGT008's business.
    """
    if "untrained" not in batch._cache:
        batch._cache["untrained"] = _untrained(batch)
    found: Untrained = batch._cache["untrained"]
    return found


def _untrained(batch: PackBatch) -> Untrained:
    roles, expected, targets, tokens = batch.roles, batch.expected, batch.targets, wanted(batch)
    if roles is None or expected is None:
        return Untrained()
    if targets.equals(tokens) or tokens.lie_in(targets):
        return Untrained()
    missing = _judged(batch, tokens.minus(targets))
    n_targets = np.append(batch.targets_per_segment + batch.outside_per_segment, 0)
    taught = n_targets[batch.segments_of(missing.starts)] > 0
    missing = Spans(missing.starts[taught], missing.stops[taught]).minus(trained_ends(batch).spans)
    heads, marks = _heads(roles, expected, tokens, missing, targets)
    return Untrained(heads, missing.minus(heads).minus(marks))


def _heads(
    roles: Roles, expected: Expected, tokens: Spans, missing: Spans, targets: Spans
) -> tuple[Spans, Spans]:
    """Return short masked runs at the beginning of answers, and those that are marks of thinking.

    Templates that open the reasoning in the prompt (`<think>`) leave its mark out of the loss.
    """
    mine = expected.answers
    starts, stops = roles.answers.starts[mine], roles.answers.stops[mine]
    run = np.searchsorted(tokens.stops, starts, side="right")
    firsts = np.maximum(np.append(tokens.starts, 0)[run], starts)
    firsts = firsts[(run < len(tokens)) & (firsts < stops)]
    clipped = are_among(missing.starts, firsts) & targets.contains(missing.stops)
    clipped &= missing.lengths <= MAX_SHIFT_TOKENS
    opens = roles.of_part(Part.THINKING).contains(missing.starts)
    return _those(missing, clipped & ~opens), _those(missing, clipped & opens)


def _those(spans: Spans, kept: BoolArray) -> Spans:
    return Spans(spans.starts[kept], spans.stops[kept])
