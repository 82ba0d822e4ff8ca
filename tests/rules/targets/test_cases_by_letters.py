"""Cases of `cases.jsonl` whose roles are given as letters: roles made by hand, no chat format needed."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packlint.model.batch import PackBatch
from packlint.model.roles import Role, Roles, Turns
from packlint.registry import find_rule
from packlint.rule import PackRule
from packlint.testing import check, make_batch
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
