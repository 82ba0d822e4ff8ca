"""SPC010: line breaks around turns that the template writes and the packs lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.testing import check, make_batch
from packlint_rules.specials.spc010_foreign_rendering import ForeignRendering
from tests.packs import Packs
from tests.rules.specials.chats import CHAT, END, NEWLINE, OPEN, Turn, chats, pack_chats

U, A = Turn("user", [50, 51, 52]), Turn("assistant", [60, 61, 62])


def one(*pieces: Turn | list[int]) -> Packs:
    ids = [i for piece in pieces for i in (piece.ids if isinstance(piece, Turn) else piece)]
    packs = pack_chats([[[]]])
    return packs | {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "seq_lens": [[len(ids)]]}


def counts(packs: Packs) -> tuple[int, int, int]:
    hits = check(ForeignRendering, packs)
    return hits.measured["headers"], hits.measured["gaps"], len(hits)


def test_a_header_without_its_line_break() -> None:
    assert counts(one(U, A.header, A.text, [END])) == (1, 0, 1)


def test_two_turns_without_a_line_break_between() -> None:
    assert counts(one(U.ids[:-1], A)) == (0, 1, 1)


def test_another_token_between_two_turns() -> None:
    assert counts(one(U.ids[:-1], [8], A)) == (0, 1, 1)
    assert counts(one(U, [8], A)) == (0, 1, 1)


@pytest.mark.parametrize(
    "pieces",
    [
        (U, A),
        (U, A.ids[:-1]),  # nothing follows
        (U, A.header),  # cut
        (U.ids[:-1], [60, 61, 62], A),  # text without a header: SPC007
        (U, A.header, [NEWLINE, END]),
        ([50, 51],),
    ],
)
def test_no_fault(pieces: Any) -> None:
    hits = check(ForeignRendering, one(*pieces))

    assert len(hits) == 0


def test_a_separator_that_is_not_due_may_be_missing() -> None:
    packs = one(U.ids[:-1], A.header, A.text, [END])
    packs["config"]["chat"] = {"markers": CHAT["markers"]}
    batch = make_batch(packs)

    assert len(check(ForeignRendering, batch)) == 0
    assert ForeignRendering().unchecked(batch) == (
        "the chat format has no line break around turns that could be missing"
    )


@pytest.mark.parametrize(
    ("name", "user", "answer", "bare"),
    [
        ("chatml", "<|im_start|>user\nHi<|im_end|>\n", "<|im_start|>assistant\nrain<|im_end|>\n", (2, 1)),
        (
            "llama-3",
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>",
            "<|start_header_id|>assistant<|end_header_id|>\n\nrain<|eot_id|>",
            (2, 0),
        ),
        (
            "gemma",
            "<start_of_turn>user\nHi<end_of_turn>\n",
            "<start_of_turn>model\nrain<end_of_turn>\n",
            (2, 1),
        ),
        ("phi-3", "<|user|>\nHi<|end|>\n", "<|assistant|>\nrain<|end|>\n", (2, 1)),
    ],
)
@pytest.mark.parametrize("kind", ["byte-level", "sentencepiece"])
def test_formats(tmp_path: Path, name: str, user: str, answer: str, bare: tuple[int, int], kind: str) -> None:
    pytest.importorskip("tokenizers")
    from packlint.chat.tokenizer import load_tokenizer
    from tests.chat.toy import save

    folder = save(name, kind, tmp_path / "tokenizer")
    config = {"tokenizer": str(folder), "chat": {"format": name}, "trainer": "trl", "profile": "sft"}

    def packs(text: str) -> Packs:
        ids, _ = load_tokenizer(folder).encode(text)
        return {"input_ids": [ids], "seq_lens": [[len(ids)]], "config": config}

    assert counts(packs(user + answer)) == (0, 0, 0)
    assert counts(packs((user + answer).replace("\n", ""))) == (*bare, sum(bare))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(chats(), min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_planted_faults_and_nothing_else(rows: list[list[list[Turn]]], data: st.DataObject) -> None:
    headers = gaps = 0
    for chat in (chat for row in rows for chat in row):
        for at, turn in enumerate(chat):
            if data.draw(st.booleans()):
                turn.tail = []
                headers += 1
            if data.draw(st.booleans()):
                turn.separator = data.draw(st.sampled_from([[], [8]]))
                gaps += at + 1 < len(chat)

    assert counts(pack_chats(rows)) == (headers, gaps, headers + gaps)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(chats(), min_size=1, max_size=30), min_size=1, max_size=2))
def test_silent_on_correct_chats(rows: list[list[list[Turn]]]) -> None:
    assert counts(pack_chats(rows)) == (0, 0, 0)


def test_message() -> None:
    packs = one([OPEN, 21, 50, END], A)
    columns = {name: packs[name] for name in ("input_ids", "seq_lens")}
    report = packlint.check(columns, select=["SPC010"], **packs["config"])

    assert report.findings[0].message == (
        "1 header and 1 end marker of 2 turns lack the line break that declared writes; allowed: 0"
    )
