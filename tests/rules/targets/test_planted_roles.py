"""Faults of loss masks planted in chats, one kind at a time and all at once: its own rule reports each.

Several kinds in one pack must not hide one another, and no other rule may fire.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.registry import find_rule
from packlint.rule import PackRule
from packlint.testing import make_batch
from tests.rules.targets.chats import Chats, Token, by_place, find, plant, random_chats

KINDS: dict[str, Callable[[Token], bool]] = {
    "TGT003": lambda t: t.role == "s",
    "TGT004": lambda t: t.role == "u",
    "TGT005": lambda t: t.role == "t",
    "TGT006": lambda t: t.kind == "header" or (t.kind == "end" and t.speaker != "a"),
    "TGT009": lambda t: t.kind == "end" and t.speaker == "a",
    "TGT012": lambda t: t.speaker == "a" and t.kind == "text" and t.at == 0,
    "TGT013": lambda t: t.speaker == "a" and t.kind == "text" and t.at in (3, 4),
}
ROLE_RULES = ("TGT002", *KINDS)
BACKGROUND = {"SMP006", "FIL001", "FIL007", "MAN001", "SMP007", "BND005", "FIL002", "FIL005", "FIL006"}


def ends_header(token: Token) -> bool:
    return token.speaker == "a" and token.kind == "header_end"


def in_prompt(token: Token) -> bool:
    return token.answer < 0 and token.kind != "begin" and not ends_header(token)


def pack_rule(code: str) -> type[PackRule]:
    rule = find_rule(code)
    assert issubclass(rule, PackRule)
    return rule


def reported(chats: Chats) -> set[str]:
    """Return the codes that a whole run reports, what it says of how well packs are filled aside."""
    columns = {name: rows for name, rows in chats.packs.items() if name != "config"}
    settings = {**chats.packs["config"], "columns": {}}
    report = packlint.check(columns, **settings)
    return {finding.code for finding in report.findings} - BACKGROUND


@pytest.mark.parametrize("code", KINDS)
@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_one_kind(code: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    right = random_chats(rng, n_packs=int(rng.integers(1, 5)), max_samples=4)
    chats, wrong = plant(right, rng, KINDS[code])

    batch = make_batch(chats.packs)
    for other in ROLE_RULES:
        assert find(pack_rule(other), batch)[0] == (wrong if other == code else set()), other


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_all_kinds_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chats = random_chats(rng, n_packs=int(rng.integers(1, 3)), max_samples=int(rng.integers(1, 31)))
    wrong = {}
    for code, wants in KINDS.items():
        chats, wrong[code] = plant(chats, rng, wants, share=0.2)

    batch = make_batch(chats.packs)
    for code, places in wrong.items():
        found, hits = find(pack_rule(code), batch)
        assert found == places, code
        first, later = hits.measured["wrong_first"], hits.measured["wrong_later"]
        assert (first, later) == by_place(chats, places), code
    assert find(pack_rule("TGT002"), batch)[0] == set()


@pytest.mark.parametrize("code", KINDS)
def test_no_other_rule_fires(code: str) -> None:
    """In the whole run, with all rules: few faults, so that places do not differ beyond chance."""
    rng = np.random.default_rng(7)
    chats, wrong = plant(random_chats(rng, n_packs=12, max_samples=5), rng, KINDS[code], share=0.05)

    assert wrong
    assert reported(chats) == {code}


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from(["completion", "assistant"]))
def test_begins_early(seed: int, policy: str) -> None:
    rng = np.random.default_rng(seed)
    right = random_chats(rng, n_packs=2, policy=policy)
    firsts_only = policy == "completion"  # what follows the first answer may be a target there
    chats, wrong = plant(right, rng, lambda t: ends_header(t) and (t.answer < 0 or not firsts_only))

    batch = make_batch(chats.packs)
    for code in ROLE_RULES:
        assert find(pack_rule(code), batch)[0] == (wrong if code == "TGT012" else set()), code


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_prompts_under_completion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    right = random_chats(rng, n_packs=int(rng.integers(1, 4)), policy="completion")
    chats, wrong = plant(right, rng, in_prompt)

    batch = make_batch(chats.packs)
    found, hits = find(pack_rule("TGT002"), batch)

    assert found == wrong
    assert (hits.measured["wrong_first"], hits.measured["wrong_later"]) == by_place(chats, wrong)
    prompt = {(t.pack, t.place) for t in chats.tokens if t.answer < 0}
    assert (hits.measured["judged_first"], hits.measured["judged_later"]) == by_place(chats, prompt)
    roles = {(t.pack, t.place): t.role for t in chats.tokens}
    for letter, name in zip("sutp", ("system", "user", "tool", "template"), strict=True):
        assert hits.measured[f"{name}_tokens"] == sum(roles[place] == letter for place in wrong)
    for code in KINDS:
        assert find(pack_rule(code), batch)[0] == set(), code


@pytest.mark.parametrize("policy", ["all", "completion", "assistant", "flagged"])
@settings(max_examples=6)
@given(st.integers(0, 2**32))
def test_silent_on_correct_packs(policy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chats = random_chats(rng, n_packs=int(rng.integers(1, 3)), max_samples=30, policy=policy)

    batch = make_batch(chats.packs)
    for code in ROLE_RULES:
        _, hits = find(pack_rule(code), batch)
        assert len(hits) == 0, code
        assert hits.measured["wrong_first"] == hits.measured["wrong_later"] == 0


@pytest.mark.parametrize("policy", ["assistant", "completion"])
def test_a_correct_run_reports_nothing(policy: str) -> None:
    rng = np.random.default_rng(3)

    assert reported(random_chats(rng, n_packs=20, max_samples=6, policy=policy)) == set()


@pytest.mark.parametrize("columns", [{"input_ids": [[]]}, {"input_ids": [[5]], "labels": [[5]]}])
@pytest.mark.parametrize("code", ROLE_RULES)
def test_tiny_packs(code: str, columns: dict[str, list[list[int]]]) -> None:
    chats = random_chats(np.random.default_rng(0), n_packs=1)
    packs = {"labels": columns["input_ids"], "segment_ids": columns["input_ids"], **columns}

    assert len(find(pack_rule(code), {**packs, "config": chats.packs["config"]})[1]) == 0
