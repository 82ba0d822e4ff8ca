"""Packs of chats with known roles, to plant faults of loss masks in; the oracle for the rules that use roles.

Ids: 1 begin, 3 to 6 headers of system, user, assistant and tool, 7 end, 8 separator, 20..99 text. A turn is
`header 8 text 7 8`. Roles are letters: s, u, a, t; p for template.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import packlint
from packlint.finding import Hits
from packlint.model.batch import PackBatch
from packlint.rule import PackRule
from packlint.testing import check, make_batch

__all__ = [
    "CHAT",
    "Chats",
    "Token",
    "by_place",
    "config",
    "find",
    "one",
    "plant",
    "random_chats",
    "said",
    "tokens_of",
]

CHAT = {
    "markers": {
        "system": [3],
        "user": [4],
        "assistant": [5],
        "tool": [6],
        "end": [7],
        "separator": [8],
    }
}
_HEADERS = {"s": 3, "u": 4, "a": 5, "t": 6}
Packs = dict[str, Any]
_ROLE_RULES = {f"TGT{n:03}" for n in (2, 3, 4, 5, 6, 9, 12, 13, 16)}


@dataclass(frozen=True, slots=True)
class Token:
    """State what a token is.

    Args:
        pack: index of the pack.
        place: index in the pack.
        sample: number of the sample in the pack.
        role: letter of its role.
        speaker: letter of whose turn it is; empty outside turns.
        kind: begin, header, header_end, text, end, separator.
        at: index in its text; for text only.
        answer: number of the answer in its sample, counted from 0, as far as it began; -1 before the first.
    """

    pack: int
    place: int
    sample: int
    role: str
    speaker: str
    kind: str
    at: int
    answer: int

    @property
    def is_target(self) -> bool:
        """Whether it should be one, under the policy `assistant`."""
        return self.speaker == "a" and self.kind in ("text", "end")


@dataclass(frozen=True, slots=True)
class Chats:
    """Hold packs as `packlint.testing` takes them, and all that is true of their tokens."""

    packs: Packs
    tokens: tuple[Token, ...]

    def count(self, role: str, *, first: bool) -> int:
        """Count the tokens of a role, in first samples of packs or in later ones."""
        return sum(t.role == role and (t.sample == 0) is first for t in self.tokens)


def config(policy: str, **more: Any) -> dict[str, Any]:
    spec = {"pad_id": 0, "bos_id": 1, "eos_ids": [7], "vocab_size": 100}
    profile = {"extends": "sft", "targets": policy}
    return {"profile": profile, "trainer": "grain", "spec": spec, "chat": CHAT, **more}


def _turn(rng: np.random.Generator, speaker: str) -> list[tuple[int, str, str, int]]:
    text = rng.integers(20, 100, rng.integers(6, 10)).tolist()
    return [
        (_HEADERS[speaker], "p", "header", -1),
        (8, "p", "header_end", -1),
        *((i, speaker, "text", at) for at, i in enumerate(text)),
        (7, "p", "end", -1),
        (8, "p", "separator", -1),
    ]


def _speakers(rng: np.random.Generator) -> str:
    rounds = ["uata" if rng.random() < 0.3 else "ua" for _ in range(rng.integers(1, 4))]
    return ("s" if rng.random() < 0.5 else "") + "".join(rounds)


def random_chats(
    rng: np.random.Generator, *, n_packs: int, max_samples: int = 5, policy: str = "assistant"
) -> Chats:
    """Return correct packs of `1..max_samples` chats, padded, with the ends of answers trained."""
    names = ("input_ids", "labels", "segment_ids", "position_ids")
    packs: Packs = {name: [] for name in names}
    tokens: list[Token] = []
    for pack in range(n_packs):
        ids: list[int] = []
        labels: list[int] = []
        segments: list[int] = []
        positions: list[int] = []
        for sample in range(int(rng.integers(1, max_samples + 1))):
            start, answer = len(ids), -1
            pieces = [("", (1, "p", "begin", -1))]
            for speaker in _speakers(rng):
                pieces += [(speaker, piece) for piece in _turn(rng, speaker)]
            for speaker, (token, role, kind, at) in pieces:
                answer += speaker == "a" and kind == "text" and at == 0
                place = (pack, len(ids), sample)
                tokens.append(Token(*place, role, speaker, kind, at, answer))
                ids.append(token)
                labels.append(token if tokens[-1].is_target else -100)
            segments += [sample + 1] * (len(ids) - start)
            positions += range(len(ids) - start)
        tail = int(rng.integers(0, 4))
        packs["input_ids"].append(ids + [0] * tail)
        packs["labels"].append(labels + [-100] * tail)
        packs["segment_ids"].append(segments + [0] * tail)
        packs["position_ids"].append(positions + [0] * tail)
    packs["config"] = config(policy)
    return Chats(packs, tuple(tokens))


def plant(
    chats: Chats, rng: np.random.Generator, wants: Callable[[Token], bool], *, share: float = 0.3
) -> tuple[Chats, set[tuple[int, int]]]:
    """Flip some of the tokens that `wants` lets through, between target and none; return which."""
    packs = copy.deepcopy(chats.packs)
    places = {(t.pack, t.place) for t in chats.tokens if wants(t) and rng.random() < share}
    for pack, place in places:
        live = packs["labels"][pack][place] == -100
        packs["labels"][pack][place] = packs["input_ids"][pack][place] if live else -100
    return Chats(packs, chats.tokens), places


def tokens_of(batch: PackBatch, hits: Hits) -> set[tuple[int, int]]:
    """Return pack and place of every token that was hit."""
    return {
        (int(pack), int(token - batch.pack_offsets[pack]))
        for start, stop, pack in zip(hits.starts, hits.stops, hits.packs, strict=True)
        for token in range(start, stop)
    }


def find(rule: type[PackRule], packs: Packs | PackBatch) -> tuple[set[tuple[int, int]], Hits]:
    """Return the tokens that a rule reports, and its hits."""
    batch = packs if isinstance(packs, PackBatch) else make_batch(packs)
    hits = check(rule, batch)
    return tokens_of(batch, hits), hits


def one(ids: list[int], live: Iterable[int], policy: str = "assistant", **more: Any) -> Packs:
    """Return one pack with targets at some places; one sample if no lengths are given."""
    targets = set(live)
    labels = [token if place in targets else -100 for place, token in enumerate(ids)]
    lengths = more.pop("seq_lens", [len(ids)])
    told = {"trainer": "trl", **more}
    return {"input_ids": [ids], "labels": [labels], "seq_lens": [lengths], "config": config(policy, **told)}


def said(packs: Packs) -> dict[str, str]:
    """Return the messages of the rules that use roles, by code, from a whole run."""
    columns = {name: rows for name, rows in packs.items() if name != "config"}
    report = packlint.check(columns, **packs["config"], columns={})
    return {f.code: f.message for f in report.findings if f.code in _ROLE_RULES}


def by_place(chats: Chats, places: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Count places in first samples of packs, and in later ones."""
    samples = {(t.pack, t.place): t.sample for t in chats.tokens}
    later = [samples[place] > 0 for place in places]
    return len(later) - sum(later), sum(later)
