"""Roles from ids alone: against a slow reading token by token, and edge cases by name."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.markers import ChatMarkers, Effect, Marker, Place, Tail
from packlint.model.needs import Need, missing
from packlint.model.roles import Part, Role, Roles
from packlint.model.turns import find_roles
from packlint.testing import make_batch
from tests.chat.toy import anchors_in

SEP, SYS, USR, AST, UNK, END, CALL, THINK, UNTHINK, TOOL, UNTOOL, EOS, BOS = range(3, 16)
NAME = 20
NL = Tail((SEP,))
NO_ONE = frozenset[Role]()
HEARD = frozenset({Role.USER, Role.TOOL})
MINE = frozenset({Role.ASSISTANT})


def opener(lead: int, role: Role) -> Marker:
    return Marker(ids=(lead, NAME), effect=Effect.OPEN, role=role, tail=NL)


MARKERS = (
    opener(SYS, Role.SYSTEM),
    opener(USR, Role.USER),
    opener(AST, Role.ASSISTANT),
    Marker(ids=(UNK,), effect=Effect.OPEN, role=Role.UNKNOWN),
    Marker(ids=(END,), effect=Effect.CLOSE, tail=NL),
    Marker(ids=(CALL,), effect=Effect.CLOSE, part=Part.TOOL_CALL),
    Marker(ids=(THINK,), effect=Effect.PART, part=Part.THINKING, own_part=Part.THINKING, within=MINE),
    Marker(ids=(UNTHINK,), effect=Effect.PART, own_part=Part.THINKING, within=MINE),
    Marker(
        ids=(TOOL,), effect=Effect.PART, role=Role.TOOL, own_role=Role.TEMPLATE, within=HEARD, lead=(SEP,)
    ),
    Marker(ids=(UNTOOL,), effect=Effect.PART, own_role=Role.TEMPLATE, within=HEARD),
)
CHAT = ChatMarkers(name="toy", markers=MARKERS, end_of_turn_ids=(END, CALL)).with_text_ends((EOS,), BOS)
CHANNELS = replace(
    CHAT,
    markers=(
        *CHAT.markers,
        Marker(ids=(70,), effect=Effect.OPEN, role=Role.ASSISTANT, header_goes_on=True),
        Marker(ids=(71,), effect=Effect.PART, own_role=Role.TEMPLATE, within=MINE, ends_header=True),
    ),
)


def scan(ids: list[int], lengths: list[int] | None = None, chat: ChatMarkers = CHAT) -> Roles:
    stops = np.cumsum(np.array([len(ids)] if lengths is None else lengths, np.int64))
    starts = np.append(0, stops[:-1])
    tokens = np.array(ids, np.int32)
    return find_roles(tokens, starts, stops, chat, anchors_in(tokens, chat))


def slow(ids: list[int]) -> list[tuple[int, int, int]]:
    """Read one segment token by token: role, part of the assistant's, and turn."""
    said: list[tuple[int, int, int]] = []
    role, part, turn, turns, speaker = Role.UNKNOWN, Part.TEXT, -1, 0, Role.UNKNOWN
    at, free = 0, 0
    while at < len(ids):
        marker = next(
            (
                m
                for m in sorted(CHAT.markers, key=lambda m: -len(m.ids))
                if tuple(ids[at : at + len(m.ids)]) == m.ids
                and (m.effect is not Effect.PART or (turn >= 0 and speaker in m.within))
            ),
            None,
        )
        if marker is None:
            said.append((role, part, turn))
            at += 1
            continue
        stop = at + len(marker.ids)
        if marker.tail.pool and stop < len(ids) and ids[stop] in marker.tail.pool:
            stop += 1
        own, own_part = Role.TEMPLATE, Part.TEXT
        if marker.effect is Effect.PART:
            own, own_part = marker.own_role or speaker, marker.own_part
            if marker.lead and at > free and ids[at - 1] in marker.lead:
                said[-1] = (own, own_part, turn)
            role, part = marker.role or speaker, marker.part
        if marker.effect is Effect.OPEN:
            turn, turns, speaker, role, part = turns, turns + 1, marker.role, marker.role, Part.TEXT
        said += [(own, own_part, turn)] * (stop - at)
        if marker.effect in (Effect.CLOSE, Effect.BEGIN):
            if marker.part is Part.TOOL_CALL:
                said = [(r, Part.TOOL_CALL if (r, t) == (Role.ASSISTANT, turn) else p, t) for r, p, t in said]
            if marker.effect is Effect.BEGIN:
                said[at - stop :] = [(own, own_part, -1)] * (stop - at)
            turn, speaker, role, part = -1, Role.UNKNOWN, Role.UNKNOWN, Part.TEXT
        at = free = stop
    return said


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.integers(1, 22),
                st.sampled_from([(SYS, NAME), (USR, NAME), (AST, NAME), (AST, NAME, SEP, THINK), (END, SEP)]),
            ),
            min_size=1,
            max_size=25,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_equal_to_a_slow_reading(segments: list[list[int | tuple[int, ...]]]) -> None:
    flat = [[i for s in segment for i in (s if isinstance(s, tuple) else (s,))] for segment in segments]
    wanted = [what for ids in flat for what in slow(ids)]
    found = scan([i for ids in flat for i in ids], [len(ids) for ids in flat])
    parts = np.repeat(found.parts, found.stops - found.starts)
    mine = [role == Role.ASSISTANT for role, _, _ in wanted]

    assert found.per_token().tolist() == [role for role, _, _ in wanted]
    assert found.numbers_per_token().tolist() == [turn for _, _, turn in wanted]
    assert parts[mine].tolist() == [part for role, part, _ in wanted if role == Role.ASSISTANT]


def test_runs_tile_the_batch() -> None:
    found = scan([BOS, USR, NAME, SEP, 30, END, 31])

    assert found.starts[0] == 0
    assert found.stops[-1] == 7
    assert (found.starts[1:] == found.stops[:-1]).all()
    assert (found.stops > found.starts).all()


def test_an_answer_and_its_end() -> None:
    found = scan([USR, NAME, SEP, 30, END, SEP, AST, NAME, SEP, 40, 41, END, SEP, EOS])
    answers, turns = found.answers, found.turns

    assert (answers.starts.tolist(), answers.stops.tolist(), answers.ends.tolist()) == ([9], [11], [11])
    assert answers.is_finished.all()
    assert (turns.separators[1], turns.separator_stops[1]) == (12, 14)
    assert turns.headers.tolist() == [0, 6]
    assert found.of(Role.ASSISTANT).starts.tolist() == [9]
    assert found.at(np.array([3, 9, 11])).tolist() == [Role.USER, Role.ASSISTANT, Role.TEMPLATE]
    assert found.turns_at(np.array([3, 9, 13])).tolist() == [0, 1, -1]


def test_an_answer_that_is_cut_is_not_finished() -> None:
    answers = scan([AST, NAME, 40, 41]).answers

    assert answers.ends.tolist() == [-1]
    assert answers.end_places.size == 0


def test_an_answer_that_the_next_header_cuts_is_not_finished() -> None:
    assert scan([AST, NAME, 40, USR, NAME, 30]).answers.ends.tolist() == [-1]


def test_the_next_header_ends_an_answer_where_the_format_says_so() -> None:
    chat = replace(CHAT, ends_at_next_header=True)
    found = scan([AST, NAME, 40, USR, NAME, 30, AST, NAME, 41], chat=chat)

    assert found.answers.ends.tolist() == [3, -1]
    assert not found.turns.is_closed.any()


def test_an_empty_answer() -> None:
    answers = scan([AST, NAME, SEP, END]).answers

    assert (answers.starts.tolist(), answers.stops.tolist(), answers.ends.tolist()) == ([3], [3], [3])


def test_an_end_of_text_ends_an_answer_too() -> None:
    assert scan([AST, NAME, 40, EOS]).answers.ends.tolist() == [3]


def test_nothing_is_carried_over_the_edge_of_a_segment() -> None:
    found = scan([AST, NAME, 40, 41, 42, END], [3, 3])

    assert found.per_token().tolist() == [5, 5, 3, 0, 0, 5]


def test_a_marker_does_not_reach_over_the_edge_of_a_segment() -> None:
    assert scan([30, AST, NAME, 40], [2, 2]).per_token().tolist() == [0, 0, 0, 0]


def test_padding_is_nobodys() -> None:
    assert scan([AST, NAME, 40, END, END, END], [4]).per_token().tolist() == [5, 5, 3, 5, 0, 0]


def test_thoughts_count_in_answers_only() -> None:
    found = scan([USR, NAME, THINK, 30, END, AST, NAME, THINK, 40, UNTHINK, 41, END])

    assert found.of_part(Part.THINKING).starts.tolist() == [7]
    assert found.of_part(Part.THINKING).stops.tolist() == [10]


def test_an_end_marker_makes_a_call() -> None:
    found = scan([AST, NAME, 40, CALL, AST, NAME, 41, END])

    assert found.turns.is_called.tolist() == [True, False]
    assert found.of_part(Part.TOOL_CALL).stops.tolist() == [3]


def test_results_of_tools_in_the_users_name_are_the_tools_turn() -> None:
    found = scan([USR, NAME, SEP, TOOL, 30, SEP, UNTOOL, END, AST, NAME, 40, END])

    assert found.turns.roles.tolist() == [Role.TOOL, Role.ASSISTANT]
    assert found.answers.is_after_user.tolist() == [True]


def test_a_user_who_speaks_before_the_results_of_tools_is_a_user() -> None:
    assert scan([USR, NAME, SEP, 30, TOOL, 31, UNTOOL, END]).turns.roles.tolist() == [Role.USER]


def test_a_separator_belongs_to_one_marker_only() -> None:
    found = scan([USR, NAME, SEP, TOOL, 30])

    assert found.turns.starts.tolist() == [3]
    assert found.starts.tolist() == [0, 3, 4]


def test_a_marker_may_begin_with_what_belongs_to_the_one_before_if_it_follows() -> None:
    header = Marker(ids=(SEP, UNK), effect=Effect.OPEN, role=Role.USER, anchor=1)
    chat = replace(CHAT, markers=(*(m for m in CHAT.markers if m.ids != (UNK,)), header))
    found = scan([AST, NAME, 40, END, SEP, UNK, 30], chat=chat)

    assert found.turns.roles.tolist() == [Role.ASSISTANT, Role.USER]
    assert found.turns.headers.tolist() == [0, 4]
    assert found.turns.separator_stops.tolist()[0] == 4


def test_a_second_end_marker_counts_right_behind_the_first_only() -> None:
    behind, later = scan([AST, NAME, 40, END, EOS, 30]), scan([AST, NAME, 40, END, 30, EOS])

    assert (behind.turns.separators.tolist(), behind.turns.separator_stops.tolist()) == ([4], [5])
    assert (later.turns.separators.tolist(), later.turns.separator_stops.tolist()) == ([4], [4])


@pytest.mark.parametrize("longer_first", [True, False])
def test_of_two_markers_at_one_place_the_longer_counts(longer_first: bool) -> None:
    """Whichever ids they are searched by."""
    short = Marker(ids=(50,), effect=Effect.OPEN, role=Role.USER)
    long = Marker(ids=(50, 60 if longer_first else 40), effect=Effect.OPEN, role=Role.SYSTEM, anchor=1)
    chat = replace(CHAT, markers=(*CHAT.markers, short, long))
    found = scan([50, long.ids[1], 30, 50, 31], chat=chat)

    assert found.turns.roles.tolist() == [Role.SYSTEM, Role.USER]
    assert found.turns.starts.tolist() == [2, 4]


def test_where_a_marker_of_text_begins_a_line() -> None:
    """At a segment's start, behind a line end, right behind another marker; not in the midst of a text."""
    header = Marker(ids=(50,), effect=Effect.OPEN, role=Role.USER, place=Place.LINE)
    chat = replace(CHAT, markers=(*CHAT.markers, header), line_end_ids=(31,))

    for ids, headers in (([50, 30], [0]), ([END, 50, 30], [1]), ([31, 50], [1]), ([30, 50], [])):
        assert scan(ids, chat=chat).turns.headers.tolist() == headers


def test_a_user_who_speaks_again_in_another_segment_does_not_repeat() -> None:
    """Plain text formats: a second header of the user is what the user said, but not in another sample."""
    header = Marker(ids=(50,), effect=Effect.OPEN, role=Role.USER, place=Place.TURN)
    chat = replace(CHAT, markers=(*CHAT.markers, header))

    assert scan([50, 30, 50, 31], chat=chat).turns.headers.tolist() == [0]
    assert scan([50, 30, 50, 31], [2, 2], chat).turns.headers.tolist() == [0, 2]


def test_a_tail_of_two_tokens_does_not_reach_over_the_edge_of_a_segment() -> None:
    end = Marker(ids=(50,), effect=Effect.CLOSE, tail=Tail((), ((SEP, SEP),)))
    chat = replace(CHAT, markers=(*CHAT.markers, end))

    assert scan([AST, NAME, 40, 50, SEP, SEP], chat=chat).turns.separator_stops.tolist() == [6]
    assert scan([AST, NAME, 40, 50, SEP, SEP], [5, 1], chat).turns.separator_stops.tolist() == [4]


def test_a_header_that_goes_on_is_template_until_it_ends() -> None:
    """Harmony: the speaker writes the channel, so that a prompt ends before it."""
    found = scan([70, 60, 61, 71, 40, END, 70, 60, END], chat=CHANNELS)

    assert found.per_token().tolist() == [5, 5, 5, 5, 3, 5, 5, 5, 5]
    assert found.turns.header_stops.tolist() == [1, 7]
    assert found.turns.starts.tolist() == [4, 8]


def test_last_answers_and_answers_after_the_last_user() -> None:
    u, a = [USR, NAME, 30, END], [AST, NAME, 40, END]
    answers = scan([*u, *a, *u, *a, *a, *u, *a], [20, 8]).answers

    assert answers.is_last.tolist() == [False, False, True, True]
    assert answers.is_after_user.tolist() == [False, True, True, True]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_every_width_of_ids(dtype: type[np.generic]) -> None:
    tokens = np.array([AST, NAME, 40, END], dtype)
    far = Marker(ids=(70_000,), effect=Effect.CLOSE)  # beyond what narrow ids can hold
    chat = replace(CHAT, markers=(*CHAT.markers, far))
    found = find_roles(tokens, np.array([0]), np.array([4]), chat, anchors_in(tokens, chat))

    assert found.per_token().tolist() == [5, 5, 3, 5]


def test_nothing_at_all() -> None:
    none = np.empty(0, np.int64)
    found = find_roles(none, none, none, CHAT, anchors_in(none, CHAT))

    assert found.per_token().size == 0
    assert len(found.answers) == 0
    assert len(scan([30, 31]).turns) == 0
    assert scan([30, 31]).per_token().tolist() == [0, 0]


def test_markers_can_be_sent_to_other_processes() -> None:
    scan([AST, NAME, 40, END])

    assert pickle.loads(pickle.dumps(CHAT)) == CHAT


def test_a_batch_knows_its_roles() -> None:
    chat = {"markers": {"user": [USR, NAME], "assistant": [AST, NAME], "end": [END]}}
    ids = [USR, NAME, 30, END, AST, NAME, 40, END]
    batch = make_batch({"input_ids": [ids], "seq_lens": [[8]], "config": {"chat": chat}})

    assert batch.roles is not None
    assert batch.roles.per_token().tolist() == [5, 5, 2, 5, 5, 5, 3, 5]
    assert batch.spec.end_of_turn_ids is not None
    assert batch.spec.end_of_turn_ids.value == (END,)
    assert missing(batch, Need.ROLES) is None


def test_without_a_chat_format_nobody_can_tell() -> None:
    batch = make_batch({"input_ids": [[30, 31]]})

    assert batch.roles is None
    assert batch.expected is None
    assert missing(batch, Need.ROLES) == "roles: no chat format is known; give --tokenizer or [chat]"


def test_why_no_chat_format_is_known_is_said() -> None:
    batch = make_batch({"input_ids": [[30, 31]]})
    told = replace(batch, shard=replace(batch.shard, no_chat="[chat] format = none"))

    assert missing(told, Need.ROLES) == "roles: no chat format is known: [chat] format = none"
