"""Faults of loss masks against a slow reading token by token, on packs of random chats with random targets.

The oracle is written from the docstrings, for a format of one-token headers: `header 8 text 7 8` per turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import PackBatch
from packlint.model.role_faults import trained_ends, untrained, unwanted
from packlint.model.roles import Role
from packlint.model.spans import Spans
from packlint.testing import make_batch
from tests.rules.targets.chats import CHAT

BEGIN, END, SEP, PAD = 1, 7, 8, 0
HEADERS = {"s": 3, "u": 4, "a": 5, "t": 6}
ROLES = {"s": Role.SYSTEM, "u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL}
MAX_SHIFT = 2
Places = set[int]


@dataclass
class Turn:
    """One turn by its flat places; the end is -1 where there is none."""

    speaker: str
    header: int
    start: int
    stop: int
    end: int
    tail: int

    @property
    def text(self) -> Places:
        return set(range(self.start, self.stop))

    @property
    def ends(self) -> Places:
        return {self.end} - {-1}


@dataclass
class Sample:
    """One segment: the places of what stands before its first header, and its turns."""

    start: int
    stop: int
    head: Places
    turns: list[Turn]
    pack: int

    @property
    def answers(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.speaker == "a"]


@dataclass
class Packs:
    """Packs and all that is true of them."""

    ids: list[list[int]] = field(default_factory=list)
    live: list[list[bool]] = field(default_factory=list)
    lengths: list[list[int]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    padding: Places = field(default_factory=set)
    n_tokens: int = 0

    @property
    def targets(self) -> Places:
        return {at for at, live in enumerate(live for row in self.live for live in row) if live}


def _turn(rng: np.random.Generator, speaker: str, base: int, *, ends: bool) -> tuple[list[int], Turn]:
    text = rng.integers(20, 100, rng.integers(0, 7)).tolist()
    ids = [HEADERS[speaker], SEP, *text]
    start, stop = base + 2, base + len(ids)
    if not ends:
        return ids, Turn(speaker, base, start, stop, -1, stop)
    separators = [SEP] * int(rng.integers(0, 2))
    return [*ids, END, *separators], Turn(speaker, base, start, stop, stop, stop + 1 + len(separators))


def _sample(rng: np.random.Generator, base: int, pack: int, *, is_cut: bool) -> tuple[list[int], Sample]:
    head = [*rng.integers(20, 100, rng.integers(1, 5)).tolist(), END, SEP] if is_cut else [BEGIN]
    ids, turns = list(head), []
    for speaker in rng.choice(list("suaat"), rng.integers(1, 7)):
        more, turn = _turn(rng, str(speaker), base + len(ids), ends=bool(rng.random() < 0.9))
        ids += more
        turns.append(turn)
    unknown = set(range(base, base + len(head))) if is_cut else set()
    return ids, Sample(base, base + len(ids), unknown, turns, pack)


def draw_packs(rng: np.random.Generator, policy: str, *, cuts: bool) -> Packs:
    """Return random packs; targets are what the policy wants, with random runs flipped."""
    packs = Packs()
    for pack in range(int(rng.integers(1, 4))):
        ids: list[int] = []
        lengths: list[int] = []
        for number in range(int(rng.integers(1, 5))):
            is_cut = cuts and number == 0 and bool(rng.random() < 0.5)
            more, sample = _sample(rng, packs.n_tokens + len(ids), pack, is_cut=is_cut)
            ids += more
            lengths.append(len(more))
            packs.samples.append(sample)
        tail = int(rng.integers(0, 4))
        packs.padding |= set(range(packs.n_tokens + len(ids), packs.n_tokens + len(ids) + tail))
        packs.ids.append(ids + [PAD] * tail)
        packs.lengths.append(lengths)
        packs.n_tokens += len(packs.ids[-1])
    right = set().union(*(wanted(sample, policy, set()) for sample in packs.samples))
    for row, base in zip(packs.ids, np.cumsum([0, *map(len, packs.ids)]), strict=False):
        live = np.array([base + at in right for at in range(len(row))], np.bool_)
        for _ in range(int(rng.integers(0, 2 + len(row) // 12))):
            start = int(rng.integers(0, len(row)))
            live[start : start + int(rng.integers(1, 6))] ^= True
        packs.live.append(live.tolist())
    return packs


def columns(packs: Packs, policy: str, **told: Any) -> dict[str, Any]:
    rows = zip(packs.ids, packs.live, strict=True)
    masks = [
        [1 if at < sum(n) else 0 for at in range(len(i))]
        for i, n in zip(packs.ids, packs.lengths, strict=True)
    ]
    return {
        "input_ids": packs.ids,
        "labels": [[i if live else -100 for i, live in zip(*row, strict=True)] for row in rows],
        "seq_lens": packs.lengths,
        "attention_mask": masks,
        "layout": {"lengths_cover_padding": False},
        "config": {
            "profile": {"extends": "sft", "targets": policy},
            "trainer": "trl",
            "spec": {"pad_id": PAD, "bos_id": BEGIN, "eos_ids": [END], "label_alignment": "unshifted"},
            "chat": CHAT,
            **told,
        },
    }


def chosen(sample: Sample, policy: str, targets: Places) -> list[Turn]:
    if policy in ("assistant", "all"):
        return sample.answers
    if policy == "flagged":
        return [a for a in sample.answers if a.text & targets]
    return sample.answers[-1:]


def wanted(sample: Sample, policy: str, targets: Places) -> Places:
    return {at for a in chosen(sample, policy, targets) for at in a.text | a.ends}


def allowed(sample: Sample, policy: str, targets: Places) -> Places:
    answers = chosen(sample, policy, targets)
    if policy in ("completion", "last_assistant"):
        users = [turn.header for turn in sample.turns if turn.speaker == "u"]
        answers = answers + [a for a in sample.answers if not users or a.header > users[-1]]
    places = {at for a in answers for at in range(a.start, max(a.tail, a.stop))}
    for turn, following in zip(sample.turns, [*sample.turns[1:], None], strict=True):
        if turn.end >= 0:  # what stands between two turns is nobody's
            places |= set(range(turn.tail, following.header if following else sample.stop))
    if policy == "completion" and sample.answers:
        places |= set(range(sample.answers[0].start, sample.stop))
    return places | sample.head


def runs(places: Places) -> Iterator[tuple[int, int]]:
    for _, run in groupby(enumerate(sorted(places)), lambda pair: pair[1] - pair[0]):
        found = [at for _, at in run]
        yield found[0], found[-1] + 1


def judge(packs: Packs, policy: str, targets: Places, skipped: set[int]) -> dict[str, Places]:
    """Return the unwanted targets by kind, leaving out some packs."""
    bases = np.cumsum([0, *map(len, packs.ids)]).tolist()
    wrong = targets - packs.padding - set(bases) - {sample.start for sample in packs.samples}
    wrong -= {at for pack in skipped for at in range(bases[pack], bases[pack + 1])}
    for sample in packs.samples:
        wrong -= allowed(sample, policy, targets)
        if sample.head:
            first = sample.turns[0].header
            wrong -= set(range(sample.start, sample.stop if policy == "completion" else first))
    turns = [turn for sample in packs.samples for turn in sample.turns]
    edges: Places = set()
    for start, stop in runs(wrong):
        before, after = start - 1 in targets, stop in targets
        early = (
            after
            and not before
            and any(turn.speaker == "a" and turn.start == stop and start > turn.header for turn in turns)
        )
        whole_header = any(turn.header == start and turn.start <= stop for turn in turns)
        ended = any(turn.speaker == "a" and max(turn.tail, turn.stop) == start for turn in turns)
        if stop - start <= MAX_SHIFT and (early or (ended and before and not after and not whole_header)):
            edges |= set(range(start, stop))
    rest = wrong - edges
    if policy == "completion":
        return {"edges": edges, "prompt": rest}
    of = {letter: {at for t in turns if t.speaker == letter for at in t.text} for letter in HEADERS}
    prompt = rest & (of["a"] | {at for t in turns if t.speaker == "a" for at in t.ends})
    known = set().union(*of.values())
    return {
        "edges": edges,
        "prompt": prompt,
        "system": rest & of["s"],
        "user": rest & of["u"],
        "tool": rest & of["t"],
        "template": rest - prompt - known,
    }


def tokens(spans: Spans) -> Places:
    return {
        at for a, b in zip(spans.starts.tolist(), spans.stops.tolist(), strict=True) for at in range(a, b)
    }


def compare(batch: PackBatch, packs: Packs, policy: str, skipped: set[int]) -> None:
    targets = packs.targets
    found, right = unwanted(batch), judge(packs, policy, targets, skipped)
    for name in ("edges", "prompt", "system", "user", "tool", "template"):
        assert tokens(getattr(found, name)) == right.get(name, set()), name
    _compare_ends(batch, packs, policy, skipped)
    _compare_untrained(batch, packs, policy, skipped)


def _compare_ends(batch: PackBatch, packs: Packs, policy: str, skipped: set[int]) -> None:
    targets, ends = packs.targets, trained_ends(batch)
    learnt = [
        (a, sample.pack in skipped)
        for sample in packs.samples
        for a in chosen(sample, policy, targets)
        if a.ends and a.text & targets
    ]
    assert batch.roles is not None
    assert batch.roles.answers.ends[ends.answers].tolist() == [a.end for a, _ in learnt]
    assert ends.is_trained.tolist() == [a.end in targets or is_skipped for a, is_skipped in learnt]
    assert tokens(ends.spans) == {
        a.end for a, is_skipped in learnt if a.end not in targets and not is_skipped
    }


def _compare_untrained(batch: PackBatch, packs: Packs, policy: str, skipped: set[int]) -> None:
    targets, found = packs.targets, untrained(batch)
    heads: Places = set()
    bodies: Places = set()
    ends = tokens(trained_ends(batch).spans)
    for sample in packs.samples:
        if sample.pack in skipped or not targets & set(range(sample.start, sample.stop)):
            continue
        missing = wanted(sample, policy, targets) - targets
        firsts = {min(a.text) for a in chosen(sample, policy, targets) if a.text}
        for start, stop in runs(missing - ends):
            is_head = start in firsts and stop - start <= MAX_SHIFT and stop in targets
            (heads if is_head else bodies).update(range(start, stop))
    assert tokens(found.heads) == heads
    assert tokens(found.bodies) == bodies


POLICIES = ("assistant", "last_assistant", "flagged", "completion")


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_equal_to_a_slow_reading(policy: str, seed: int) -> None:
    packs = draw_packs(np.random.default_rng(seed), policy, cuts=False)

    compare(make_batch(columns(packs, policy)), packs, policy, set())


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_heads_that_are_cut_off(policy: str, seed: int) -> None:
    packs = draw_packs(np.random.default_rng(seed), policy, cuts=True)

    compare(make_batch(columns(packs, policy)), packs, policy, set())


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_packs_that_are_another_rules_business(policy: str, seed: int) -> None:
    """Packs whose labels are those of the next token (TGT010) are left out, and no others."""
    rng = np.random.default_rng(seed)
    packs = draw_packs(rng, policy, cuts=False)
    table = columns(packs, policy)
    skipped = set()
    for pack, (ids, labels) in enumerate(zip(packs.ids, table["labels"], strict=True)):
        live = [at for at, label in enumerate(labels) if label != -100]
        moved = [ids[at + 1] if at + 1 < len(ids) else -1 for at in live]
        n_same = sum(ids[at] == label for at, label in zip(live, moved, strict=True))
        if rng.random() < 0.5 and len(live) >= 8 and n_same < len(live) // 4 and live[-1] + 1 < len(ids):
            for at, label in zip(live, moved, strict=True):
                labels[at] = label
            skipped.add(pack)

    compare(make_batch(table), packs, policy, skipped)
