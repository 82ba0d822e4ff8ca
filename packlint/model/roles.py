"""Who speaks: the role of every token, the turns of a chat, and the answers among them.

tokens     <s>  [user]  Hi  [end]  [assistant]  Hello  [end]  pad      [..] = markers of the chat format
roles       T      T     U    T         T         A      T     ?       T = template, ? = unknown
turn       -1      0     0    0         1         1      1    -1
answer                                            ^start ^end

Runs tile the batch, so that questions about tokens become questions about runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.derived import derived
from packlint.model.spans import Spans

__all__ = ["Answers", "Part", "Role", "Roles", "Turns", "Uint8Array"]

Uint8Array = NDArray[np.uint8]


class Role(IntEnum):
    """Who wrote a token.

    `TEMPLATE`: the chat template: headers, role names, separators, begin and end markers.
    `UNKNOWN`: nobody can tell: the rest of a turn whose header was cut off, text between turns, padding.
    """

    UNKNOWN = 0
    SYSTEM = 1
    USER = 2
    ASSISTANT = 3
    TOOL = 4
    TEMPLATE = 5


class Part(IntEnum):
    """What an assistant's token is part of; `TEXT` for everybody else."""

    TEXT = 0
    THINKING = 1
    TOOL_CALL = 2


@dataclass(frozen=True, slots=True, eq=False)
class Turns:
    """Hold the turns whose header was seen, in the order of the tokens.

        [im_start] assistant [nl]  Hello there   [im_end]     [nl]
        ^ headers                  ^ starts      ^ stops      ^ separators       `ends` = `stops` if closed

    Args:
        roles: `uint8[turn]`, `Role` of the content.
        headers: `int64[turn]`, first token of the header.
        header_stops: `int64[turn]`, one past what a prompt for this turn ends with; differs from `starts`
            where the speaker writes a part of the header (the channel in Harmony).
        starts: `int64[turn]`, first token of the content.
        stops: `int64[turn]`, one past the content.
        ends: `int64[turn]`, the token that ends the turn (for formats without an end marker: the first token
            of the next header), -1 where the turn is not ended. An end marker of several tokens is
            `[ends, separators)`.
        separators: `int64[turn]`, one past the end marker: first of what the template or the packer adds
            (a newline, an end-of-text token); equals `separator_stops` where there is none.
        separator_stops: `int64[turn]`, one past these.
        segments: `int64[turn]`, index of the segment.
        numbers: `int64[turn]`, number of the turn among those of its segment, from 0.
        is_closed: `bool[turn]`, whether an end marker (or end-of-text token) stands at `ends`; false for a
            turn that only the next header ends.
        is_called: `bool[turn]`, whether it is a call of a tool by its end marker (`<|call|>`, `<|eom_id|>`).
    """

    roles: Uint8Array
    headers: Int64Array
    header_stops: Int64Array
    starts: Int64Array
    stops: Int64Array
    ends: Int64Array
    separators: Int64Array
    separator_stops: Int64Array
    segments: Int64Array
    numbers: Int64Array
    is_closed: BoolArray
    is_called: BoolArray

    def __len__(self) -> int:
        return int(self.roles.size)

    def of_role(self, role: Role) -> Int64Array:
        """Return the indices of the turns of a role."""
        return np.flatnonzero(self.roles == role)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Hold the turns of the assistant.

    Args:
        turns: `int64[answer]`, index in `Turns`.
        starts: `int64[answer]`, first token of the content; equals `stops` for an empty answer.
        stops: `int64[answer]`, one past the content.
        ends: `int64[answer]`, the token that ends the answer, -1 where it is not finished.
        segments: `int64[answer]`, index of the segment.
        is_last: `bool[answer]`, whether it is the last answer of its segment.
        is_after_user: `bool[answer]`, whether no turn of the user follows in its segment.
    """

    turns: Int64Array
    starts: Int64Array
    stops: Int64Array
    ends: Int64Array
    segments: Int64Array
    is_last: BoolArray
    is_after_user: BoolArray

    def __len__(self) -> int:
        return int(self.turns.size)

    @property
    def is_finished(self) -> BoolArray:
        """`bool[answer]`, whether the token that ends the answer is there."""
        return self.ends >= 0

    @property
    def end_places(self) -> Int64Array:
        """Flat places of the tokens that end an answer, rising."""
        return self.ends[self.is_finished]


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """Hold runs of tokens of one role, part and turn; they tile `[0, n_tokens)`.

    Args:
        n_tokens: tokens of the batch.
        starts: `int64[run]`, first token of each run, the first of them 0.
        codes: `uint8[run]`, `Role`.
        parts: `uint8[run]`, `Part`.
        turn_of_run: `int64[run]`, index in `turns`, -1 outside any turn.
        turns: the turns.
    """

    n_tokens: int
    starts: Int64Array
    codes: Uint8Array
    parts: Uint8Array
    turn_of_run: Int64Array
    turns: Turns
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @derived
    def stops(self) -> Int64Array:
        """`int64[run]`, one past the last token of each run."""
        return np.append(self.starts[1:], self.n_tokens)

    @derived
    def answers(self) -> Answers:
        """The turns of the assistant."""
        turns = self.turns
        mine = turns.of_role(Role.ASSISTANT)
        segments = turns.segments[mine]
        is_last = np.append(segments[1:] != segments[:-1], np.ones(min(mine.size, 1), np.bool_))
        users = turns.of_role(Role.USER)
        later = np.searchsorted(users, mine)
        follows = later < users.size
        follows[follows] = turns.segments[users[later[follows]]] == segments[follows]
        return Answers(
            turns=mine,
            starts=turns.starts[mine],
            stops=turns.stops[mine],
            ends=turns.ends[mine],
            segments=segments,
            is_last=np.asarray(is_last, np.bool_),
            is_after_user=~follows,
        )

    @derived
    def _spans(self) -> dict[tuple[str, int], Spans]:
        return {}

    def of(self, role: Role) -> Spans:
        """Return the tokens of a role."""
        key = ("role", int(role))
        if key not in self._spans:
            chosen = self.codes == role
            self._spans[key] = Spans.from_intervals(self.starts[chosen], self.stops[chosen])
        return self._spans[key]

    def of_part(self, part: Part) -> Spans:
        """Return the assistant's tokens of a part, the marks around it (`<think>`, `</think>`) among them."""
        key = ("part", int(part))
        if key not in self._spans:
            chosen = (self.parts == part) & (self.codes == Role.ASSISTANT)
            self._spans[key] = Spans.from_intervals(self.starts[chosen], self.stops[chosen])
        return self._spans[key]

    def at(self, places: Int64Array) -> Uint8Array:
        """Return the `Role` of the tokens at flat places."""
        return self.codes[self.runs_of(places)]

    def turns_at(self, places: Int64Array) -> Int64Array:
        """Return the index in `turns` of the tokens at flat places, -1 outside any turn."""
        return self.turn_of_run[self.runs_of(places)]

    def runs_of(self, places: Int64Array) -> Int64Array:
        """Return the run of each flat place."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def per_token(self) -> Uint8Array:
        """Return `uint8[token]`; for views and tests, as rules count with runs."""
        return np.repeat(self.codes, self.stops - self.starts)

    def numbers_per_token(self) -> Int64Array:
        """Return `int64[token]`, the number of the token's turn in its segment, -1 outside any."""
        numbers = np.append(self.turns.numbers, -1)
        return np.repeat(numbers[self.turn_of_run], self.stops - self.starts)
