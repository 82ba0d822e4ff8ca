"""Turns that a chat template cannot have written: not closed, unanswered, unnamed, or text outside any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import BoolArray
from packlint.model.batch import PackBatch
from packlint.model.constant_runs import are_constant
from packlint.model.markers import ChatMarkers, Effect
from packlint.model.roles import Role, Roles
from packlint.model.spans import Spans
from packlint.model.template import has_next, is_free_text, nameless, next_headers

__all__ = ["BrokenTurns", "find_broken_turns"]


@dataclass(frozen=True, slots=True, eq=False)
class BrokenTurns:
    """Hold what is wrong with each turn, and text that nobody says.

    Args:
        unclosed: `bool[turn]`, another turn begins before this one was closed.
        repeated: `bool[turn]`, the turn before was of the same role, which the template refuses.
        nameless: `bool[turn]`, the header names nobody.
        unwrapped: `bool[turn]`, the wrapping of a tool's result begins and does not end.
        stray: runs of text right behind a closed turn, without a header.
    """

    unclosed: BoolArray
    repeated: BoolArray
    nameless: BoolArray
    unwrapped: BoolArray
    stray: Spans

    @property
    def any_fault(self) -> BoolArray:
        """`bool[turn]`, whether anything is wrong with it."""
        return self.unclosed | self.repeated | self.nameless | self.unwrapped

    def counts(self) -> dict[str, int]:
        """Return how many turns have each fault."""
        turns = {name: getattr(self, name) for name in ("unclosed", "repeated", "nameless", "unwrapped")}
        return {name: int(flags.sum()) for name, flags in turns.items()} | {"stray": len(self.stray)}

    def places(self, batch: PackBatch, roles: Roles) -> Spans:
        """Return the broken turns, without what ends them, and the text that nobody says."""
        turns, at = roles.turns, np.flatnonzero(self.any_fault)
        stops = np.where(turns.ends[at] >= 0, turns.stops[at], next_headers(batch, roles)[at])
        stops = np.maximum(stops, turns.header_stops[at])
        starts = np.concatenate([turns.headers[at], self.stray.starts])
        return Spans(np.sort(starts), np.sort(np.concatenate([stops, self.stray.stops])))


def find_broken_turns(
    batch: PackBatch, roles: Roles, chat: ChatMarkers, max_separator_tokens: int
) -> BrokenTurns:
    """Return what is wrong with the turns; the last turn of a segment, which may be cut, is not unclosed.

    Args:
        batch: the packs.
        roles: who speaks.
        chat: the chat format.
        max_separator_tokens: tokens that may follow an end marker and its separator.
    """
    turns = roles.turns
    follows = has_next(roles)
    is_closing = np.zeros(len(Role), np.bool_)
    is_closing[[int(role) for role in chat.closed_roles]] = True
    repeated = np.zeros(len(turns), np.bool_)
    if chat.alternates:
        same = follows[:-1] & (turns.roles[1:] == turns.roles[:-1])
        repeated[1:] = same & ((turns.roles[1:] == Role.USER) | (turns.roles[1:] == Role.ASSISTANT))
    may_stay_open = np.zeros(len(turns), np.bool_)
    if chat.opens_calls:
        may_stay_open[:-1] = turns.roles[1:] == Role.TOOL
    return BrokenTurns(
        unclosed=~may_stay_open & is_closing[turns.roles] & follows & (turns.ends < 0),
        repeated=repeated,
        nameless=nameless(batch, roles, chat),
        unwrapped=_unwrapped(roles, chat),
        stray=_stray(batch, roles, chat, max_separator_tokens),
    )


def _unwrapped(roles: Roles, chat: ChatMarkers) -> BoolArray:
    """Tell which turns of tools end inside the wrapping of a result (`<tool_response>` in ChatML)."""
    turns, found = roles.turns, np.zeros(len(roles.turns), np.bool_)
    wraps = [m for m in chat.markers if m.effect is Effect.PART and m.role is Role.TOOL]
    if not any(Role.USER in m.within for m in wraps):
        return found
    runs = np.flatnonzero((roles.codes == Role.TOOL) & (roles.turn_of_run >= 0))
    turn = roles.turn_of_run[runs]
    is_wrapped = (roles.turn_of_run[runs - 1] == turn) & (roles.starts[runs - 1] != turns.headers[turn])
    is_last = roles.stops[runs] == turns.stops[turn]
    chosen = turn[is_wrapped & is_last & turns.is_closed[turn]]
    found[chosen] = turns.roles[chosen] == Role.TOOL
    return found


def _stray(batch: PackBatch, roles: Roles, chat: ChatMarkers, max_separator_tokens: int) -> Spans:
    """Return runs that nobody says, right behind a closed turn, longer than white space may be."""
    turns = roles.turns
    if len(turns) == 0 or is_free_text(chat):
        return Spans.empty()
    runs = np.flatnonzero((roles.codes == Role.UNKNOWN) & (roles.turn_of_run < 0))
    turn = np.searchsorted(turns.headers, roles.starts[runs]) - 1
    behind = (turn >= 0) & turns.is_closed[turn] & (turns.separator_stops[turn] == roles.starts[runs])
    runs, turn = runs[behind], turn[behind]
    starts, stops = roles.starts[runs], np.minimum(roles.stops[runs], next_headers(batch, roles)[turn])
    long = stops - starts > max_separator_tokens
    text = Spans(starts[long], stops[long]).minus(batch.padding)
    is_filling = are_constant(batch.tokens, text.starts, text.stops)
    kept = (text.lengths > max_separator_tokens) & ~is_filling
    return Spans(text.starts[kept], text.stops[kept])
