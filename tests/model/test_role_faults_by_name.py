"""Faults of loss masks by name: what is another rule's business, edges of answers, ends, and thinking."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from packlint.model.batch import PackBatch, Unit
from packlint.model.contract import BoundarySource
from packlint.model.role_faults import trained_ends, unknown_samples, untrained, unwanted, wanted
from packlint.model.spec import TargetPolicy
from packlint.testing import make_batch
from tests.model.test_role_faults import BEGIN, END, PAD, SEP, Packs, Places, columns, tokens
from tests.rules.targets.chats import CHAT

THINK, UNTHINK = 9, 10
CHAT_IDS = [BEGIN, 4, SEP, 41, 42, END, SEP, 5, SEP, 51, 52, 53, END, SEP]
"""A user's turn with text at 3 and 4, and an answer at 9 to 11 that ends at 12."""


def one(ids: list[list[int]], live: Places, policy: str = "assistant", /, **more: Any) -> PackBatch:
    """Return packs with targets at flat places; one sample per pack if no lengths are given."""
    told = {
        name: more.pop(name) for name in ("trainer", "trainer_contract", "profile", "spec") if name in more
    }
    flat = iter(at in live for at, _ in enumerate(i for row in ids for i in row))
    table = columns(
        Packs(ids, [[next(flat) for _ in row] for row in ids], [[len(row)] for row in ids]), policy
    )
    if "trainer_contract" in told:
        del table["config"]["trainer"]
    table["config"].update(told)
    return make_batch({**table, **more})


def test_padding_inside_a_sample_is_another_rules_business() -> None:
    ids = [BEGIN, 4, SEP, 41, PAD, 42, END, SEP, 5, SEP, 51, END, SEP]
    batch = one([ids], {3, 4, 5, 10, 11}, attention_mask=[[int(i != PAD) for i in ids]])

    assert tokens(batch.padding) == {4}
    assert tokens(unwanted(batch).user) == {3, 5}


def test_packs_with_a_broken_record_are_left_out() -> None:
    lengths = [[len(CHAT_IDS)], [len(CHAT_IDS) + 1]]
    batch = one([CHAT_IDS, CHAT_IDS], {3, 9, 11, 12, 17, 23}, seq_lens=lengths)

    assert batch.boundaries[BoundarySource.SEQ_LENS].fault_packs.tolist() == [1]
    assert tokens(unwanted(batch).user) == {3}
    assert tokens(untrained(batch).bodies) == {10}
    assert trained_ends(batch).is_trained.tolist() == [True, True]


@pytest.mark.parametrize("has_foreign", [False, True])
def test_where_the_trainer_expects_other_labels_all_packs_are_left_out(has_foreign: bool) -> None:
    """TGT010 reports them; that must not hang on whether some label of the batch is foreign, too."""
    live = {3, 4, 9, 10, 11, 12}
    labels = [i if at in live else -100 for at, i in enumerate(CHAT_IDS)]
    labels[4] = 99 if has_foreign else labels[4]
    batch = one([CHAT_IDS], live, labels=[labels], trainer_contract={"label_alignment": "preshifted"})

    assert bool(batch.label_mismatches.size) is has_foreign
    assert len(unwanted(batch).user) == 0


@pytest.mark.parametrize(("cut_policy", "prompts"), [("whole", {2, 13}), ("fragments", {13})])
def test_under_completion_samples_whose_head_may_be_missing_have_no_prompt(
    cut_policy: str, prompts: Places
) -> None:
    ids = [4, SEP, 41, 42, END, SEP, 5, SEP, 51, END, SEP]
    lengths = [[len(ids), len(ids)]]
    contract = {"cut_policy": cut_policy}
    batch = one([ids + ids], {2, 8, 9, 13, 19, 20}, "completion", seq_lens=lengths, trainer_contract=contract)

    assert tokens(unwanted(batch).prompt) == prompts


def test_where_no_trainer_is_known_samples_are_whole() -> None:
    ids = [4, SEP, 41, 42, END, SEP, 5, SEP, 51, END, SEP]
    batch = one([ids], {2, 8, 9}, "completion")
    unknown = replace(batch, shard=replace(batch.shard, contract=None), _cache={})

    assert tokens(unwanted(unknown).prompt) == {2}


def test_under_completion_nothing_is_said_of_a_sample_that_begins_in_the_middle() -> None:
    ids = [30, END, SEP, 4, SEP, 41, 42, 43, END, SEP, 5, SEP, 51, END, SEP]
    live = {0, 5, 6, 12, 13}

    assert tokens(unwanted(one([ids], live, "completion")).prompt) == set()
    assert tokens(unwanted(one([ids], live)).user) == {5, 6}


def test_the_first_token_of_a_sample_is_another_rules_business() -> None:
    ids = [4, SEP, 41, 42, END, SEP, 5, SEP, 51, END, SEP]

    batch = one([ids + ids], {0, 1, 8, 9, 11, 12, 19, 20}, seq_lens=[[len(ids), len(ids)]])

    assert tokens(unwanted(batch).template) == {1, 12}


def test_a_target_that_the_pack_does_not_hold_makes_a_sample_learnt() -> None:
    """Of a sample without target TGT008 speaks; one whose end is asked for outside is learnt in part."""
    ids = [BEGIN, 4, SEP, 41, END, SEP, 5, SEP, 51, 52, 53]
    labels = [-100] * (len(ids) - 1) + [END]
    spec = {"pad_id": PAD, "bos_id": BEGIN, "eos_ids": [END], "label_alignment": "preshifted"}
    contract = {"label_alignment": "preshifted"}
    outside = one([ids], set(), labels=[labels], spec=spec, trainer_contract=contract)
    nowhere = one([ids], set())

    assert len(outside.outside_targets) == 1
    assert tokens(untrained(outside).bodies) == {8, 9, 10}
    assert tokens(untrained(nowhere).bodies) == set()


@pytest.mark.parametrize(("thinking", "heads", "bodies"), [(True, set(), {10}), (None, set(), set())])
def test_the_mark_of_thinking_may_be_written_by_the_prompt(
    thinking: bool | None, heads: Places, bodies: Places
) -> None:
    """The mark that opens it may be masked at the beginning of an answer; what is masked later may not."""
    chat = {**CHAT, "markers": {**CHAT["markers"], "thinking": {"start": [THINK], "stop": [UNTHINK]}}}
    chat["train_on"] = {} if thinking is None else {"thinking": thinking}
    ids = [BEGIN, 4, SEP, 41, END, SEP, 5, SEP, THINK, 51, 52, UNTHINK, 53, END, SEP]
    table = columns(
        Packs([ids], [[at in {9, 11, 12, 13} for at in range(len(ids))]], [[len(ids)]]), "assistant"
    )
    batch = make_batch({**table, "config": {**table["config"], "chat": chat}})

    assert (tokens(untrained(batch).heads), tokens(untrained(batch).bodies)) == (heads, bodies)


def test_the_first_wanted_token_may_come_after_thinking() -> None:
    """Where thinking need not be learnt, an answer begins behind it."""
    chat = {**CHAT, "markers": {**CHAT["markers"], "thinking": {"start": [THINK], "stop": [UNTHINK]}}}
    ids = [BEGIN, 5, SEP, THINK, 51, UNTHINK, 53, 54, 55, END]
    table = columns(Packs([ids], [[at in {7, 8, 9} for at in range(len(ids))]], [[len(ids)]]), "assistant")
    batch = make_batch({**table, "config": {**table["config"], "chat": chat}})

    assert (tokens(untrained(batch).heads), tokens(untrained(batch).bodies)) == ({6}, set())


def test_where_the_next_header_ends_an_answer_its_first_token_is_the_end() -> None:
    """GLM: the header is no fault of the template's, and learning the answer without it is one of the end."""
    chat = {"markers": {"user": [4, 40], "assistant": [5, 50]}, "ends_at_next_turn": True}
    ids = [4, 40, 61, 62, 5, 50, 71, 72, 4, 40, 63, 64]
    for live, is_trained in (({6, 7, 8}, True), ({6, 7}, False)):
        table = columns(
            Packs([ids], [[at in live for at in range(len(ids))]], [[len(ids)]]), "assistant", spec={}
        )
        batch = make_batch({**table, "config": {**table["config"], "chat": chat}})
        assert trained_ends(batch).is_trained.tolist() == [is_trained]
        assert tokens(trained_ends(batch).spans) == (set() if is_trained else {8})
        assert tokens(unwanted(batch).template) | tokens(unwanted(batch).edges) == set()
        assert tokens(untrained(batch).bodies) == set()
    table["labels"] = [[i if at in {6, 7, 8, 9} else -100 for at, i in enumerate(ids)]]
    batch = make_batch({**table, "config": {**table["config"], "chat": chat}})
    assert tokens(unwanted(batch).edges) == {9}


def test_under_all_answers_must_be_learnt_with_their_ends() -> None:
    n = len(CHAT_IDS)
    live = set(range(2 * n)) - {9, 10, 11, 12, n + 12}

    batch = one([CHAT_IDS * 2], live, "all", seq_lens=[[n, n]])

    assert tokens(untrained(batch).bodies) == {9, 10, 11, 12}
    assert trained_ends(batch).is_trained.tolist() == [False]
    assert tokens(trained_ends(batch).spans) == {n + 12}
    assert unwanted(batch).user.n_tokens == 0


@pytest.mark.parametrize(
    ("live", "edges"),
    [
        ({10, 11, 12}, {10}),  # begins early by one, by two, by three
        ({9, 10, 11, 12}, {9, 10}),
        ({8, 9, 10, 11, 12}, set()),
        ({11, 12, 13}, {13}),  # ends late, by one, by two, by three
        ({11, 12, 13, 14}, {13, 14}),
        ({11, 12, 13, 14, 15}, set()),
        ({11, 12, 14}, set()),  # not beside it
        ({9, 10, 12}, set()),  # beside an answer that is not learnt from there on
    ],
)
def test_how_far_an_edge_reaches(live: Places, edges: Places) -> None:
    chat = {"markers": {"user": [4, 20, 21, 22], "assistant": [5, 20, 21, 22], "end": [7]}}
    ids = [BEGIN, 4, 20, 21, 22, 41, END, 5, 20, 21, 22, 51, END, 4, 20, 21, 22, 42, END]
    table = columns(Packs([ids], [[at in live for at in range(len(ids))]], [[len(ids)]]), "assistant")
    batch = make_batch({**table, "config": {**table["config"], "chat": chat}})

    found = unwanted(batch)
    assert tokens(found.edges) == edges
    assert tokens(found.template) == live - edges - {11, 12}


def test_a_header_whose_first_token_is_another_rules_business_is_no_edge() -> None:
    batch = one([[5, SEP, 51, END, SEP]], {0, 1, 2, 3})

    assert tokens(unwanted(batch).template) == {1}
    assert tokens(unwanted(batch).edges) == set()


def test_ends_of_two_tokens_must_be_learnt_whole() -> None:
    chat = {"markers": {"user": [4], "assistant": [5], "end": [[6, 7]]}}
    ids = [BEGIN, 4, 41, 6, 7, 5, 51, 52, 53, 6, 7, 4, 42, 6, 7]
    for live, missing in (({6, 7, 8, 9, 10}, set()), ({6, 7, 8, 9}, {10}), ({6, 7, 8}, {9, 10})):
        table = columns(Packs([ids], [[at in live for at in range(len(ids))]], [[len(ids)]]), "assistant")
        batch = make_batch({**table, "config": {**table["config"], "chat": chat}})
        assert trained_ends(batch).is_trained.tolist() == [not missing]
        assert tokens(trained_ends(batch).spans) == missing
        assert untrained(batch).bodies.n_tokens == unwanted(batch).template.n_tokens == 0


def test_empty_answers_are_not_learnt() -> None:
    """Nor is their end, even where the mask is exactly right."""
    ids = [BEGIN, 4, SEP, 41, END, SEP, 5, SEP, END, SEP, 4, SEP, 42, END, SEP, 5, SEP, 51, END, SEP]
    batch = one([ids], {8, 17, 18})

    assert batch.targets.equals(wanted(batch))
    assert batch.roles is not None
    assert batch.roles.answers.ends[trained_ends(batch).answers].tolist() == [18]


UNKNOWN_ENDS = "samples are known by end tokens only, which end turns too"
NOTHING = "nothing records where samples begin, which the policy completion asks for"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, None),
        ({"seq_lens": None, "trainer": "transformers", "spec": {"bos_id": 1}}, NOTHING),
    ],
)
def test_policies_that_ask_for_samples_need_to_know_them(more: dict[str, Any], reason: str | None) -> None:
    table = columns(Packs([CHAT_IDS], [[True] * len(CHAT_IDS)], [[len(CHAT_IDS)]]), "completion")
    settings = {**table["config"], **{k: v for k, v in more.items() if k != "seq_lens"}}
    if "seq_lens" in more:
        del table["seq_lens"]
        del table["layout"]
    batch = make_batch({**table, "config": settings})

    assert unknown_samples(batch, TargetPolicy.COMPLETION) == reason
    assert unknown_samples(batch, TargetPolicy.LAST_ASSISTANT) is None
    sample = replace(batch, shard=replace(batch.shard, unit=Unit.SAMPLE), _cache={})
    assert unknown_samples(sample, TargetPolicy.COMPLETION) is None


@pytest.mark.parametrize(("eos", "reason"), [(END, UNKNOWN_ENDS), (2, None)])
def test_samples_told_by_tokens_that_end_turns_too_are_unknown(eos: int, reason: str | None) -> None:
    batch = one([CHAT_IDS], {9}, "completion", spec={"bos_id": BEGIN, "eos_ids": [eos]})
    told = replace(batch, segment_source=BoundarySource.BOUNDARY_TOKENS, _cache={})

    assert unknown_samples(told, TargetPolicy.COMPLETION) == reason
