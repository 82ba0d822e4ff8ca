"""Rules about turns and their markers are silent on what real packers wrote, and do look at it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packlint
from packlint.chat.tokenizer import load_tokenizer
from packlint.report import Report
from tests.readers.test_samples import SAMPLES, TABLE, lint

pytest.importorskip("tokenizers")

RULES = ["BND007", "SPC007", "SPC008", "SPC010", "SMP009"]
TOKENIZER = SAMPLES / "_tokenizer"


def status(report: Report) -> dict[str, str]:
    return {rule.code: str(rule.status) for rule in report.rules if rule.code in RULES}


@pytest.mark.parametrize("name", TABLE)
def test_silent_under_the_right_trainer(name: str) -> None:
    sample = TABLE[name]
    report = lint(sample, **sample.settings, tokenizer=str(TOKENIZER), select=RULES)

    assert report.findings == ()
    assert report.internal_errors == ()
    assert status(report)["SPC008"] == "clean"


@pytest.mark.parametrize("name", [name for name, sample in TABLE.items() if sample.profile == "sft"])
def test_chats_are_looked_at(name: str) -> None:
    sample = TABLE[name]
    found = status(lint(sample, **sample.settings, tokenizer=str(TOKENIZER), select=RULES))

    wanted = "not_checked" if name == "olmo_core_packed_rows" else "clean"  # told apart by end tokens only
    assert (found["SPC007"], found["SPC010"]) == (wanted, "clean")


def unpacked(damage: dict[str, str]) -> dict[str, Any]:
    """Return the chats of a sample in memory, with some texts replaced before they are tokenized again."""
    tokenizer = load_tokenizer(TOKENIZER)
    with np.load(SAMPLES / "hf_flattening_batch" / "batch.npz", allow_pickle=False) as arrays:
        ids, positions = arrays["input_ids"].reshape(-1), arrays["position_ids"].reshape(-1)
    rows = []
    for row in np.split(ids, np.flatnonzero(positions == 0)[1:]):
        text = tokenizer.decode(row.tolist())
        for old, new in damage.items():
            assert old in text
            text = text.replace(old, new)
        rows.append(tokenizer.encode(text)[0])
    return {"input_ids": [[i for row in rows for i in row]], "seq_lens": [[len(row) for row in rows]]}


@pytest.mark.parametrize(
    ("damage", "code", "hits_per_sample"),
    [
        ({}, "", 0),
        ({"user\n": "user"}, "SPC010", 1),
        ({"<|im_end|>\n<|im_start|>assistant": "<|im_end|>\n"}, "SPC007", 1),
        ({"<|im_end|>\n<|im_start|>assistant": "\n<|im_start|>assistant"}, "SPC007", 1),
        ({"<|im_start|>user": "<|im_start|>"}, "SPC007", 1),
    ],
)
def test_damage_to_a_real_sample(damage: dict[str, str], code: str, hits_per_sample: int) -> None:
    columns = unpacked(damage)
    report = packlint.check(columns, trainer="trl", profile="sft", tokenizer=str(TOKENIZER), select=RULES)

    assert {f.code: f.n_hits for f in report.findings} == (
        {code: hits_per_sample * len(columns["seq_lens"][0])} if code else {}
    )
