"""Chats that real packers wrote, under the right trainer: the rules that use roles are silent, not blind."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packlint
from packlint.report import Report
from tests.readers.test_samples import TABLE

pytest.importorskip("tokenizers")

SAMPLES = Path(__file__).parents[2] / "samples"
CODES = tuple(f"TGT{number:03}" for number in (2, 3, 4, 5, 6, 9, 12, 13, 16))
CHATS = [name for name, sample in TABLE.items() if sample.profile == "sft"]
UNPACKED = {
    "axolotl_prepared",
    "instructlab_data_jsonl",
    "mds_sft_input_ids_labels",
    "neox_text_label_pair",
    "olmo_core_sft_numpy",
}
"""Rows are samples there, so that no place in a pack can matter."""


@cache
def data_of(name: str) -> Any:
    sample = TABLE[name]
    if sample.format != "memory":
        return str(SAMPLES / sample.path)
    arrays = np.load(SAMPLES / sample.path)
    prefix = sample.prefix
    return {key.removeprefix(prefix): arrays[key] for key in arrays.files if key.startswith(prefix)}


def run(name: str, policy: str) -> Report:
    told = copy.deepcopy(TABLE[name].settings)
    told |= {"tokenizer": str(SAMPLES / "_tokenizer"), "profile": {"extends": "sft", "targets": policy}}
    return packlint.check(data_of(name), select=list(CODES), **told)


@pytest.mark.parametrize("policy", ["completion", "assistant", "last_assistant", "flagged"])
@pytest.mark.parametrize("name", CHATS)
def test_silent(name: str, policy: str) -> None:
    report = run(name, policy)

    assert [finding.message for finding in report.findings] == []
    status = {rule.code: rule.status for rule in report.rules if rule.code in CODES}
    looked = {code for code, said in status.items() if said == "clean"}
    assert looked >= set(CODES) - {"TGT016"}
    assert ("TGT016" in looked) is (name not in UNPACKED)
