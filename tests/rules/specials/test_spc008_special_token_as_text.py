"""SPC008: the text of special tokens, split into ordinary tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Severity
from packlint.model.id_places import find_ids
from packlint.model.markers import Spelling
from packlint.model.spellings import find_spellings, spelling_anchors
from packlint.testing import check, make_batch
from packlint_rules.specials.spc008_special_token_as_text import SpecialTokenAsText
from tests.rules.specials.chats import Turn, chats, pack_chats

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    pytest.importorskip("tokenizers")
    from packlint.chat.tokenizer import load_tokenizer

    return load_tokenizer(SAMPLES / "_tokenizer")


def texts_in(tokenizer: Any, *texts: str) -> dict[str, int]:
    rows = [tokenizer.encode_plain(text)[0] for text in texts]
    config = {"tokenizer": str(SAMPLES / "_tokenizer"), "profile": "sft", "trainer": "trl"}
    packs = {
        "input_ids": [[i for row in rows for i in row]],
        "seq_lens": [list(map(len, rows))],
        "config": config,
    }
    return dict(check(SpecialTokenAsText, packs).measured)


def test_markers_as_text(tokenizer: Any) -> None:
    turn = "<|im_start|>user\nHi<|im_end|>\n"

    assert texts_in(tokenizer, turn + turn, "plain", "x<|im_end|>.") == {"<|im_start|>": 2, "<|im_end|>": 3}


def test_a_bracket_that_shares_a_token_with_its_neighbour(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    from packlint.chat.spelling import spellings_of
    from packlint.chat.tokenizer import load_tokenizer
    from packlint.model.markers import Effect, Marker

    alphabet = {c: at for at, c in enumerate('<|>imenda.s/?)}{"\n')}
    inner = Tokenizer(models.BPE(vocab={**alphabet, ".<": 30}, merges=[(".", "<")]))
    inner.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
    inner.add_special_tokens(["<|imend|>", "</s>"])
    inner.save(str(tmp_path / "tokenizer.json"))
    loaded = load_tokenizer(tmp_path)
    marks = [Marker(ids=(i,), effect=Effect.CLOSE) for i in loaded.added_tokens.values()]

    found: dict[tuple[str, bool], list[str]] = {}
    for spelling in spellings_of(marks, loaded):
        name = (spelling.text, spelling.is_tag)
        found.setdefault(name, []).append(loaded.decode(spelling.ids).replace(" ", ""))

    assert found == {("<|imend|>", False): ["<|imend|>", "|imend|>"], ("</s>", True): ["</s>"]}


def test_tags_count_at_the_edges_of_a_sample(tokenizer: Any) -> None:
    assert texts_in(tokenizer, "<s>Hello there</s>", "some <s>struck text</s> in a page") == {
        "<s>": 1,
        "</s>": 1,
    }


def test_special_tokens_are_no_text(tokenizer: Any) -> None:
    ids, _ = tokenizer.encode("<s><|im_start|>user\nHi<|im_end|>\n</s>")
    packs = {"input_ids": [ids], "config": {"tokenizer": str(SAMPLES / "_tokenizer")}}

    assert len(check(SpecialTokenAsText, packs)) == 0


def test_the_tokenizer_is_left_as_it_was(tokenizer: Any) -> None:
    assert len(tokenizer.encode_plain("<|im_end|>")[0]) > 1
    assert tokenizer.encode("<|im_end|>")[0] == [4]


def test_without_a_tokenizer_nobody_knows() -> None:
    chat = {"markers": {"user": [3, 20], "assistant": [3, 21], "end": [4]}}
    batch = make_batch({"input_ids": [[3, 20, 4]], "config": {"chat": chat}})

    assert SpecialTokenAsText().unchecked(batch) == (
        "how the tokenizer splits special tokens is unknown; give --tokenizer"
    )
    assert len(check(SpecialTokenAsText, batch)) == 0


def test_a_warning_in_plain_text() -> None:
    rule = SpecialTokenAsText()
    pack = {"input_ids": [[3, 20, 4]]}

    assert rule.severity(make_batch({**pack, "config": {"profile": "sft"}}).shard) is Severity.ERROR
    assert rule.severity(make_batch({**pack, "config": {"profile": "pretrain"}}).shard) is Severity.WARNING


def test_a_text_does_not_reach_over_the_edge_of_a_sample() -> None:
    packs = pack_chats([[[Turn("user", [30, 31, 32, 33])]]])
    whole, cut = packs | {"seq_lens": [[9]]}, packs | {"seq_lens": [[5, 4]]}

    assert check(SpecialTokenAsText, whole).starts.tolist() == [3]
    assert len(check(SpecialTokenAsText, cut)) == 0


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 4), max_size=40),
    st.lists(
        st.lists(st.integers(0, 4), min_size=2, max_size=4).map(tuple), min_size=1, max_size=4, unique=True
    ),
)
def test_search_equals_a_slow_one(ids: list[int], wanted: list[tuple[int, ...]]) -> None:
    spellings = tuple(Spelling(token_id=9, text="x", ids=sequence) for sequence in wanted)
    tokens = np.array(ids, np.int32)
    places = find_ids(tokens, np.array(sorted(spelling_anchors(spellings))))
    candidates = sorted(
        (at, -len(sequence), i)
        for i, sequence in enumerate(wanted)
        for at in range(len(ids))
        if tuple(ids[at : at + len(sequence)]) == sequence
    )
    slow, reach = [], 0
    for at, minus_length, i in candidates:
        if at >= reach:
            slow.append((at, at - minus_length, i))
        reach = max(reach, at - minus_length)

    starts, stops, index = find_spellings(tokens, spellings, places)

    assert list(zip(starts.tolist(), stops.tolist(), index.tolist(), strict=True)) == slow


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(chats(), min_size=1, max_size=4), min_size=1, max_size=4), st.data())
def test_planted_texts_and_nothing_else(rows: list[list[list[Turn]]], data: st.DataObject) -> None:
    for row in rows:
        for chat in row:
            for turn in chat:
                if data.draw(st.booleans()):
                    turn.end = list(data.draw(st.sampled_from([(30, 31, 32, 33), (30, 31, 32, 34)])))
    packs = pack_chats(rows)
    wanted, base = [], 0
    for row in rows:
        at = base
        for turn in (turn for chat in row for turn in chat):
            at += len(turn.ids)
            if len(turn.end) > 1:
                wanted.append(at - 5)
        base += len(packs["input_ids"][0])

    assert check(SpecialTokenAsText, packs).starts.tolist() == wanted


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(chats(), min_size=1, max_size=30), min_size=1, max_size=2))
def test_silent_on_correct_chats(rows: list[list[list[Turn]]]) -> None:
    assert len(check(SpecialTokenAsText, pack_chats(rows))) == 0


def test_message() -> None:
    packs = pack_chats([[[Turn("user", [30, 31, 32, 33, 50, 30, 31, 32, 34])]]])
    columns = {name: packs[name] for name in ("input_ids", "seq_lens")}
    report = packlint.check(columns, select=["SPC008"], **packs["config"])

    assert report.findings[0].message == (
        "The texts of 2 special tokens stand as ordinary tokens: end (2); allowed: 0"
    )
