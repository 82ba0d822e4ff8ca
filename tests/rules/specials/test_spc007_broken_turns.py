"""SPC007: turns that are not closed, not named, not wrapped, or without a header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Hits
from packlint.testing import check, make_batch
from packlint_rules.specials.spc007_broken_turns import BrokenTurns
from tests.packs import Packs
from tests.rules.specials.chats import END, NEWLINE, OPEN, Turn, chats, pack_chats

U, A, S = Turn("user", [50, 51, 52]), Turn("assistant", [60, 61, 62]), Turn("system", [70, 71, 72])


def one(*pieces: Turn | list[int]) -> Packs:
    ids = [i for piece in pieces for i in (piece.ids if isinstance(piece, Turn) else piece)]
    packs = pack_chats([[[]]])
    return packs | {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "seq_lens": [[len(ids)]]}


def places(hits: Hits) -> list[tuple[int, int]]:
    return list(zip(hits.starts.tolist(), hits.stops.tolist(), strict=True))


def test_an_answer_that_is_not_closed() -> None:
    hits = check(BrokenTurns, one(U, A.header, A.text, U, A))

    assert places(hits) == [(8, 13)]
    assert (hits.measured["unclosed"], hits.measured["turns"]) == (1, 4)


def test_text_behind_a_closed_turn() -> None:
    hits = check(BrokenTurns, one(U, [60, 61, 62], [END], U, A))

    assert places(hits) == [(8, 11)]
    assert hits.measured["stray"] == 1


def test_a_header_that_names_nobody() -> None:
    bare = check(BrokenTurns, one(U, [OPEN, NEWLINE, 60, 61, END, NEWLINE]))
    empty = check(BrokenTurns, one(U, [OPEN, END, NEWLINE]))

    assert (bare.measured["stray"], places(bare)) == (
        1,
        [(8, 12)],
    )  # declared formats have named headers only
    assert len(empty) == 0


@pytest.mark.parametrize(
    "pieces",
    [
        (U, A.header, A.text),  # cut at its end
        (A.text, [END, NEWLINE], U, A),  # cut at its head
        (U, U, A, A),  # nothing says that roles alternate
        (S, U, A, [NEWLINE, NEWLINE]),
        (U, A, [END, END, END]),
        (U, A, [7, 7, 7, 7, 7]),  # filling
        (U, A.header, A.text, [2], U),  # closed by an end of text
        ([60, 61, 62, 63],),
        ([],),
    ],
)
def test_no_fault(pieces: Any) -> None:
    packs = one(*pieces)
    packs["config"]["spec"]["eos_ids"] = [END, 2]

    assert len(check(BrokenTurns, packs)) == 0


def test_samples_told_apart_by_end_tokens_are_not_judged() -> None:
    packs = one(U, A)
    del packs["seq_lens"], packs["attention_mask"]

    assert BrokenTurns().unchecked(make_batch(packs)) == "samples were told apart by end tokens only"


def toy(tmp_path: Path, name: str, template: str = "") -> Any:
    pytest.importorskip("tokenizers")
    from tests.chat.toy import save

    folder = save(name, "byte-level", tmp_path / name, template)
    from packlint.chat.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(folder)

    def judge(text: str) -> dict[str, int]:
        ids, _ = tokenizer.encode(text)
        config = {"tokenizer": str(folder), "chat": {"format": name}, "trainer": "trl", "profile": "sft"}
        hits = check(BrokenTurns, {"input_ids": [ids], "seq_lens": [[len(ids)]], "config": config})
        return {kind: n for kind, n in hits.measured.items() if n and kind != "turns"} | {"hits": len(hits)}

    return judge


def test_chatml_as_text(tmp_path: Path) -> None:
    judge = toy(tmp_path, "chatml")
    user, answer = "<|im_start|>user\nWhat is it?<|im_end|>\n", "<|im_start|>assistant\nrain<|im_end|>\n"
    result = "<|im_start|>user\n<tool_response>\nsun\n</tool_response><|im_end|>\n"

    assert judge(user + answer + user + answer) == {"hits": 0}
    assert judge(user + answer + result + answer) == {"hits": 0}
    assert judge(user + user + answer) == {"hits": 0}
    assert judge("<|im_start|>critic\nWhat?<|im_end|>\n" + answer) == {"hits": 0}
    assert judge(user.replace("user", "") + answer) == {"nameless": 1, "hits": 1}
    assert judge(user + answer + result.replace("\n</tool_response>", "") + answer) == {
        "unwrapped": 1,
        "hits": 1,
    }
    assert judge(user + answer.replace("<|im_start|>assistant\n", "I see: it is") + user) == {
        "stray": 1,
        "hits": 1,
    }
    assert judge(user.replace("<|im_end|>", "") + answer) == {"unclosed": 1, "hits": 1}


def test_formats_whose_markers_pair(tmp_path: Path) -> None:
    judge = toy(tmp_path, "mistral")
    user, answer = "[INST] What is it?", "[/INST] It is rain</s>"

    assert judge("<s>" + user + answer + user + answer) == {"hits": 0}
    assert judge("<s>" + user + user + answer) == {"repeated": 1, "hits": 1}
    assert judge("<s>" + user + answer + answer) == {"repeated": 1, "hits": 1}
    assert judge("<s>" + user + answer.removesuffix("</s>") + user + answer) == {"unclosed": 1, "hits": 1}


def test_templates_that_say_that_roles_alternate(tmp_path: Path) -> None:
    said = "{{ raise_exception('Conversation roles must alternate') }}<start_of_turn>"
    user, answer = "<start_of_turn>user\nWhat?<end_of_turn>\n", "<start_of_turn>model\nrain<end_of_turn>\n"

    assert toy(tmp_path / "1", "gemma", said)("<bos>" + user + user + answer) == {"repeated": 1, "hits": 1}
    assert toy(tmp_path / "2", "gemma")("<bos>" + user + user + answer) == {"hits": 0}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(chats(), min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_planted_faults_are_counted_and_nothing_else(
    rows: list[list[list[Turn]]], data: st.DataObject
) -> None:
    unclosed, stray, wanted = 0, 0, []
    packs = pack_chats(rows)
    width = len(packs["input_ids"][0])
    for row in rows:
        for chat in row:
            for at, turn in enumerate(chat):
                fault = data.draw(st.sampled_from(["", "", "unclosed", "stray"]))
                is_last = at + 1 == len(chat)
                if fault == "unclosed" and turn.role == "assistant" and not is_last:
                    turn.end, turn.separator = [], []
                    unclosed += 1
                elif fault == "stray" and at and chat[at - 1].end and chat[at - 1].header:
                    turn.header, turn.tail = [], []
                    stray += 1
    planted = pack_chats(rows)
    base = 0
    for row in rows:
        at = base
        for chat in row:
            for turn in chat:
                if not turn.header:
                    wanted.append((at, at + len(turn.text)))
                elif not turn.end:
                    wanted.append((at, at + len(turn.ids)))
                at += len(turn.ids)
        base += len(planted["input_ids"][0])
    assert len(planted["input_ids"][0]) <= width

    hits = check(BrokenTurns, planted)

    assert places(hits) == wanted
    assert (hits.measured["unclosed"], hits.measured["stray"]) == (unclosed, stray)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(chats(), min_size=1, max_size=30), min_size=1, max_size=2))
def test_silent_on_correct_chats(rows: list[list[list[Turn]]]) -> None:
    packs = pack_chats(rows)

    assert len(check(BrokenTurns, packs)) == 0


def test_message() -> None:
    packs = one(U, A.header, A.text, U, [60, 61, 62, END, NEWLINE], A)
    columns = {name: packs[name] for name in ("input_ids", "seq_lens")}
    report = packlint.check(columns, select=["SPC007"], **packs["config"])

    assert report.findings[0].message == (
        "2 broken among 4 turns: 1 not closed before the next one begins;"
        " 1 without a header: text right behind a closed turn; allowed: 0"
    )
    assert np.array_equal([place.start for place in report.findings[0].locations], [8, 21])


@pytest.mark.parametrize(
    ("text", "n_unclosed"),
    [
        ("[User]a[Assistant][tool calls begin]x[tool outputs begin][tool output begin]y[tool output end]"
         "[tool outputs end]z[end of sentence]", 0),
        ("[User]a[Assistant]b[User]c[Assistant]d[end of sentence]", 1),
    ],
)  # fmt: skip
def test_a_call_that_its_template_leaves_open(text: str, n_unclosed: int, tmp_path: Path) -> None:
    """DeepSeek V3 ends a single call with neither of its end marks; its results follow."""
    pytest.importorskip("tokenizers")
    from packlint.chat.tokenizer import load_tokenizer
    from tests.chat.toy import save

    written = "[begin of sentence]" + text
    written = written.replace("[", "<\uff5c").replace("]", "\uff5c>").replace(" ", "\u2581")
    ids = load_tokenizer(save("deepseek", "byte-level", tmp_path)).encode(written)[0]

    report = packlint.check(
        {"input_ids": [ids], "seq_lens": [[len(ids)]]},
        tokenizer=tmp_path,
        chat={"format": "deepseek"},
        select=["SPC007"],
    )

    assert sum(finding.n_hits for finding in report.findings) == n_unclosed
