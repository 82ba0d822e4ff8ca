"""Which tokens are meant to be targets, given who speaks and what was wanted.

<user> Hi <end>  <assistant> Hello <end> newline  <user> Bye <end>     policy `assistant`
                             wanted......
                                         allowed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.derived import derived
from packlint.model.markers import TrainOn
from packlint.model.roles import Part, Role, Roles
from packlint.model.spans import Spans
from packlint.model.spec import TargetPolicy

__all__ = ["Expected", "expected_targets"]


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """Hold what the policy wants of the loss.

    Args:
        wanted: tokens that must be targets.
        answers: `int64[any]`, indices in `Roles.answers` of those that are to be learnt.
        ends: `int64[any]`, indices in `Roles.answers` of those whose end token must be a target.
        find_allowed: finds `allowed`, which nobody asks for where the loss asks for all that is wanted.
    """

    wanted: Spans
    answers: Int64Array
    ends: Int64Array
    find_allowed: Callable[[], Spans]
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @derived
    def allowed(self) -> Spans:
        """Tokens that may be targets, those wanted among them; nobody else's may.

        Tokens whose speaker is unknown are allowed, as nothing can be said of them.
        """
        return self.find_allowed()


def expected_targets(
    roles: Roles,
    policy: TargetPolicy,
    train_on: TrainOn,
    *,
    real: Spans,
    targets: Spans,
    segment_stops: Int64Array,
) -> Expected:
    """Return what a policy wants.

    Args:
        roles: who speaks.
        policy: who may be a target.
        train_on: which parts of answers are meant to be targets.
        real: tokens that are no padding.
        targets: what the loss asks for; only `flagged` looks at it.
        segment_stops: `int64[segment]`.
    """
    answers = roles.answers
    everybody = np.arange(len(answers))
    if policy is TargetPolicy.ALL:
        return Expected(real, everybody, everybody[answers.is_finished], lambda: real)
    chosen, tolerated = _chosen(roles, policy, targets)
    left_out, optional = _parts(roles, train_on)
    wanted, learnt = _wanted(roles, chosen, left_out, optional)

    def find_allowed() -> Spans:
        allowed = _reach(roles, chosen | tolerated).minus(left_out).union(roles.of(Role.UNKNOWN))
        if policy is not TargetPolicy.COMPLETION:
            return allowed
        return allowed.union(_after_prompts(roles, segment_stops))

    return Expected(wanted, np.flatnonzero(chosen), np.flatnonzero(learnt), find_allowed)


def _wanted(roles: Roles, chosen: BoolArray, left_out: Spans, optional: Spans) -> tuple[Spans, BoolArray]:
    """Return what must be learnt of the chosen answers, and which of their end tokens must be.

    The end of an answer of which nothing else must be learnt (a call of a tool, say) need not be either.
    """
    answers = roles.answers
    learnt, wanted = chosen & answers.is_finished, _with_ends(roles, chosen)
    if len(left_out) or len(optional):
        wanted = wanted.minus(left_out).minus(optional)
        is_taught = wanted.count_within(answers.starts, answers.stops) > 0
        dropped = learnt & ~is_taught & (answers.stops > answers.starts)
        learnt &= ~dropped
        wanted = wanted.minus(_end_spans(roles, dropped))
    return wanted, learnt


def _chosen(roles: Roles, policy: TargetPolicy, targets: Spans) -> tuple[BoolArray, BoolArray]:
    """Return which answers are wanted, and which others may be targets."""
    answers = roles.answers
    nobody = np.zeros(len(answers), np.bool_)
    if policy is TargetPolicy.ASSISTANT:
        return ~nobody, nobody
    if policy is TargetPolicy.FLAGGED:
        return targets.count_within(answers.starts, answers.stops) > 0, nobody
    return answers.is_last, answers.is_after_user


def _parts(roles: Roles, train_on: TrainOn) -> tuple[Spans, Spans]:
    """Return the parts of answers that must not be targets, and those that may or may not."""
    left_out, optional = Spans.empty(), Spans.empty()
    for part, wanted in ((Part.THINKING, train_on.thinking), (Part.TOOL_CALL, train_on.tool_calls)):
        if wanted is False:
            left_out = left_out.union(roles.of_part(part))
        elif wanted is None:
            optional = optional.union(roles.of_part(part))
    return left_out, optional


def _with_ends(roles: Roles, answers: BoolArray) -> Spans:
    """Return answers and their end markers, which follow at once."""
    turns, mine = roles.turns, roles.answers.turns[answers]
    return Spans.from_intervals(turns.starts[mine], _end_stops(roles, mine))


def _end_spans(roles: Roles, answers: BoolArray) -> Spans:
    """Return the end markers; where the next header ends an answer, its first token."""
    mine = roles.answers.turns[answers]
    return Spans.from_intervals(roles.turns.stops[mine], _end_stops(roles, mine))


def _end_stops(roles: Roles, mine: Int64Array) -> Int64Array:
    """Return one past the end marker of each turn, or past the turn where there is none."""
    turns = roles.turns
    stops = np.maximum(turns.separators[mine], turns.stops[mine])
    return np.maximum(stops, np.where(turns.ends[mine] >= 0, turns.ends[mine] + 1, 0))


def _reach(roles: Roles, answers: BoolArray) -> Spans:
    """Return all that may be a target with an answer: its part of the header, and what follows its end."""
    turns, mine = roles.turns, roles.answers.turns[answers]
    stops = np.maximum(turns.separator_stops[mine], _end_stops(roles, mine))
    return Spans.from_intervals(turns.header_stops[mine], stops)


def _after_prompts(roles: Roles, segment_stops: Int64Array) -> Spans:
    """Return all from each segment's first answer on: ids alone cannot tell where a completion begins."""
    answers = roles.answers
    is_first = np.append(True, answers.segments[1:] != answers.segments[:-1])[: len(answers)]
    starts = roles.turns.header_stops[answers.turns[is_first]]
    return Spans.from_intervals(starts, segment_stops[answers.segments[is_first]])
