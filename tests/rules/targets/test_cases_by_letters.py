"""Cases of `cases.jsonl` whose roles are given as letters: as they are, and written in real chat formats.

As they are, no marker stands between the roles, so that roles are made by hand. Written in a chat format,
with its real special tokens, roles are found by packlint, and the whole rule set runs.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packlint
from packlint.finding import Finding, Severity
from packlint.model.batch import PackBatch
from packlint.model.roles import Role, Roles, Turns
from packlint.registry import find_rule
from packlint.rule import PackRule
from packlint.testing import check, make_batch
from tests.chat.renderings import Message
from tests.chat.toy import rendered, save, toy
from tests.rules.targets.chats import config, tokens_of

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parents[2] / "cases.jsonl").read_text().splitlines())
}
LETTERS = {"u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL, "p": Role.UNKNOWN}
END = 2
CODES = ("TGT001", "TGT002", "TGT003", "TGT004", "TGT005", "TGT006", "TGT009", "TGT012", "TGT013")


def roles_of(letters: str, ids: list[int]) -> Roles:
    """Return one turn per run of letters; an end id at the end of an answer ends it."""
    runs = [(role, len(list(run))) for role, run in groupby(LETTERS[letter] for letter in letters)]
    codes = np.array([role for role, _ in runs], np.uint8)
    stops = np.cumsum([n for _, n in runs])
    starts = stops - [n for _, n in runs]
    is_closed = (np.array(ids)[stops - 1] == END) & (codes == Role.ASSISTANT)
    bodies = stops - is_closed
    return Roles(
        n_tokens=len(ids),
        starts=starts,
        codes=codes,
        parts=np.zeros(codes.size, np.uint8),
        turn_of_run=np.arange(codes.size),
        turns=Turns(
            roles=codes,
            headers=starts,
            header_stops=starts,
            starts=starts,
            stops=bodies,
            ends=np.where(is_closed, bodies, -1),
            separators=stops,
            separator_stops=stops,
            segments=np.zeros(codes.size, np.int64),
            numbers=np.arange(codes.size),
            is_closed=is_closed,
            is_called=np.zeros(codes.size, np.bool_),
        ),
    )


def batch_of(name: str, policy: str) -> PackBatch:
    case: dict[str, Any] = CASES[name]
    n_real = len(case["roles"].rstrip("p"))
    packs = {
        "input_ids": [case["ids"]],
        "labels": [case["labels"]],
        "segment_ids": [[1] * n_real + [0] * (len(case["ids"]) - n_real)],
        "config": config(policy, spec={"bos_id": 1, "eos_ids": [END]}),
    }
    batch = make_batch(packs)
    batch._cache["roles"] = roles_of(case["roles"], case["ids"])
    return batch


@pytest.mark.parametrize("policy", ["completion", "assistant"])
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("C2", {"TGT012": {3}}),
        ("E1", {"TGT005": {3, 4}, "TGT001": {7}}),
        ("F1", {"TGT009": {4}}),
    ],
)
def test_case(name: str, found: dict[str, set[int]], policy: str) -> None:
    batch = batch_of(name, policy)
    if policy == "completion":
        found = {code: places for code, places in found.items() if code != "TGT005"}

    for code in CODES:
        rule = find_rule(code)
        assert issubclass(rule, PackRule)
        places = {place for _, place in tokens_of(batch, check(rule, batch))}
        assert places == found.get(code, set()), code


SPEAKERS = {"u": "user", "a": "assistant", "t": "tool"}
END_TEXTS = {"chatml": "<|im_end|>", "llama-3": "<|eot_id|>"}


def errors(columns: dict[str, Any], tokenizer: Path, **spec: int) -> dict[str, Finding]:
    """Return the findings of severity error of a whole run, by code."""
    report = packlint.check(
        columns,
        profile={"extends": "sft", "targets": "assistant"},
        trainer="transformers",
        tokenizer=str(tokenizer),
        spec=spec,
    )
    return {f.code: f for f in report.findings if f.severity is Severity.ERROR}


def written(name: str, chat_format: str, folder: Path) -> tuple[dict[str, Any], int]:
    """Return the packs of a case in a chat format, each of its tokens a digit, and the id of its end marker.

    What is a target is so as the case says; its end id is the format's end marker, with the same label. Ends
    of answers that the case does not have are targets, as they should be.
    """
    case: dict[str, Any] = CASES[name]
    tokenizer, _ = toy(chat_format, "byte-level", str(folder))
    end = tokenizer.added_tokens[END_TEXTS[chat_format]]
    tokens = list(zip(case["ids"], case["roles"], (label != -100 for label in case["labels"]), strict=True))
    said = [t for t in tokens if t[0] not in (1, END) and t[1] != "p"]
    last_end = next(live for token, role, live in tokens if token == END and role == "a")
    texts = [(role, len(list(run))) for role, run in groupby(role for _, role, _ in said)]
    digits = iter("0123456789")
    messages = [Message(SPEAKERS[role], "".join(next(digits) for _ in range(n))) for role, n in texts]
    chat = rendered(chat_format, messages, tokenizer)
    is_text = np.isin(chat.roles, [Role.USER, Role.ASSISTANT, Role.TOOL])
    assert is_text.sum() == len(said)
    live = np.zeros(chat.ids.size, np.bool_)
    live[is_text] = [is_live for _, _, is_live in said]
    ends = np.flatnonzero((chat.ids == end) & np.isin(chat.turns, chat.turns[chat.roles == Role.ASSISTANT]))
    live[ends] = True
    live[ends[-1]] = last_end
    padding = [live for _, role, live in tokens if role == "p"]
    pad = end if case["ids"][-1] == END else 0
    ids, mask = [*chat.ids.tolist(), *[pad] * len(padding)], [*live.tolist(), *padding]
    columns = {
        "input_ids": [ids],
        "labels": [[i if is_live else -100 for i, is_live in zip(ids, mask, strict=True)]],
        "attention_mask": [[1] * chat.ids.size + [0] * len(padding)],
    }
    return columns, end


@pytest.mark.parametrize("chat_format", END_TEXTS)
@pytest.mark.parametrize(
    ("name", "found"),
    [("C2", {"TGT012": 1}), ("E1", {"TGT005": 2, "TGT001": 1}), ("F1", {"TGT009": 1})],
)
def test_case_in_a_chat_format(name: str, found: dict[str, int], chat_format: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    columns, end = written(name, chat_format, tmp_path)

    pad = {"pad_id": end} if name == "F1" else {"pad_id": 0}
    errs = errors(columns, save(chat_format, "byte-level", tmp_path / "again"), **pad)

    assert {code: finding.n_tokens for code, finding in errs.items()} == found
    if name == "F1":
        assert CASES[name]["find"] in errs["TGT009"].message


def test_spans_from_the_rendering_of_a_prefix(tmp_path: Path) -> None:
    """I1: reasoning is written in the last turn only: a prefix is longer than its part of the whole."""
    pytest.importorskip("tokenizers")
    tokenizer, _ = toy("chatml", "byte-level", str(tmp_path))
    asked, again = Message("user", "1"), Message("user", "23")
    first, last = Message("assistant", "4", thinking="5"), Message("assistant", "6", thinking="7")
    whole = rendered("chatml", [asked, Message("assistant", "4"), again, last], tokenizer).ids
    prefix = rendered("chatml", [asked, first], tokenizer).ids
    assert whole[: prefix.size].tolist() != prefix.tolist()
    header = len(tokenizer.encode("<|im_start|>assistant\n")[0])
    start = rendered("chatml", [asked], tokenizer).ids.size + header
    body = rendered("chatml", [asked, Message("assistant", "4"), again], tokenizer).ids.size + header
    right = set(range(start, start + 2)) | set(range(body, whole.size - 1))
    late = set(range(start, prefix.size)) | right

    def labels(live: set[int]) -> dict[str, Any]:
        ids = whole.tolist()
        return {"input_ids": [ids], "labels": [[i if at in live else -100 for at, i in enumerate(ids)]]}

    folder = save("chatml", "byte-level", tmp_path / "again")
    assert errors(labels(right), folder) == {}
    assert errors(labels(late), folder)["TGT004"].n_tokens == 2
