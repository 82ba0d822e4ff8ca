"""The tiny cases of `cases.jsonl`: each gives the stated finding and no other error; mended, it gives none.

`ELSEWHERE` says where those are that one table of packs cannot show.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import packlint
from packlint.finding import Severity
from packlint.report import Report

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "cases.jsonl").read_text().splitlines())
}
SPECIALS = {"bos_id": 1, "eos_ids": [2]}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Say how a case is put to packlint and what must come out.

    Args:
        columns: the packs, wrong.
        right: the packs, mended; none where the case gives no right form.
        settings: profile, trainer, spec.
        errors: codes of all findings of severity error.
        others: codes of milder findings that must be there.
        numbers: `(code, key, value)`: measured or counted by that finding.
        says: fragments of messages, by code.
    """

    columns: dict[str, Any]
    right: dict[str, Any] | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    errors: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    numbers: tuple[tuple[str, str, int], ...] = ()
    says: dict[str, str] = field(default_factory=dict)


def lengths(offsets: list[int]) -> list[int]:
    return [b - a for a, b in pairwise(offsets)]


def columns(case_id: str, **more: Any) -> dict[str, Any]:
    """Return the ids of a case and further columns of one pack."""
    return {"input_ids": [CASES[case_id]["ids"]], **{name: [value] for name, value in more.items()}}


def chat(**headers: int) -> dict[str, Any]:
    """Declare a chat format: one id begins the turn of each speaker, the end id ends it."""
    return {"markers": {**{name: [token] for name, token in headers.items()}, "end": SPECIALS["eos_ids"]}}


A1, B1, B2, B3, C1, C2, D1, F1, G1, H1, H3, K1, O1 = (
    CASES[name] for name in ("A1", "B1", "B2", "B3", "C1", "C2", "D1", "F1", "G1", "H1", "H3", "K1", "O1")
)
D1_LENGTHS = lengths(D1["truth"])
K1_IDS = [list(range(10 * i + 10, 10 * i + 10 + n)) for i, n in enumerate(K1["lens"])]

TABLE = {
    "A1": Case(
        columns=columns(
            "A1", attention_mask=A1["attn"], position_ids=A1["pos"], seq_lens=lengths(A1["truth"])
        ),
        right=columns(
            "A1",
            segment_ids=A1["right"]["seg"],
            position_ids=A1["right"]["pos"],
            seq_lens=lengths(A1["truth"]),
        ),
        settings={"profile": "sft", "trainer": "transformers", "spec": SPECIALS},
        errors={"ISO001", "BND003"},
        numbers=(("ISO001", "leaked_pairs", 16), ("ISO001", "exposed_tokens", 4)),
    ),
    "B1": Case(
        columns=columns("B1", position_ids=B1["pos"], attention_mask=[1] * 6 + [0, 0]),
        settings={
            "profile": "sft",
            "trainer_contract": {"isolates_by": ["position_ids"], "reads_padding_segments": True},
            "spec": SPECIALS,
        },
        others={"BND005"},
        numbers=(("BND005", "n_hits", 2), ("BND005", "n_tokens", 2)),
    ),
    "B2": Case(
        columns=columns("B2", seq_lens=lengths(B2["truth"])),
        settings={
            "profile": "sft",
            "trainer_contract": {"isolates_by": ["boundary_tokens"], "scans_for_end_token": True},
            "spec": SPECIALS,
        },
        errors={"BND007"},
        numbers=(("BND007", "n_hits", 1),),
        says={"BND007": "1 sample in two or more, in pack 0 before token 3"},
    ),
    "B3": Case(
        columns=columns("B3", seq_lens=lengths(B3["truth"])),
        settings={
            "profile": "pretrain",
            "trainer_contract": {"isolates_by": ["boundary_tokens"], "scans_for_end_token": True},
            "spec": {**SPECIALS, "max_sample_len": B3["limit"]},
        },
        errors={"BND001"},
    ),
    "C1": Case(
        columns=columns("C1", labels=C1["labels"]),
        settings={"profile": "sft", "trainer": "transformers", "spec": SPECIALS},
        errors={"TGT010"},
        says={"TGT010": "t+2"},
    ),
    "C2": Case(
        columns=columns("C2", labels=C2["labels"], seq_lens=[6]),
        right=columns("C2", labels=[-100] * 3 + C2["ids"][3:], seq_lens=[6]),
        settings={
            "profile": "sft",
            "trainer": "trl",
            "spec": SPECIALS,
            "chat": chat(user=1, assistant=52),
        },
        errors={"TGT012"},
        numbers=(("TGT012", "n_hits", 1), ("TGT012", "clipped", 1)),
    ),
    "D1": Case(
        columns=columns("D1", labels=D1["targets"], seq_lens=D1_LENGTHS),
        right=columns("D1", labels=D1["right"]["targets"], seq_lens=D1_LENGTHS),
        settings={
            "profile": "sft",
            "trainer_contract": {"isolates_by": ["seq_lens"], "label_alignment": "preshifted"},
            "spec": {**SPECIALS, "label_alignment": "preshifted"},
        },
        errors={"TGT007"},
        numbers=(("TGT007", "n_hits", 1),),
    ),
    "E1-padding": Case(
        columns=columns("E1", labels=CASES["E1"]["labels"], attention_mask=[1] * 7 + [0]),
        settings={"profile": "sft", "trainer": "transformers", "spec": SPECIALS},
        errors={"TGT001"},
        numbers=(("TGT001", "n_tokens", 1),),
    ),
    "F1": Case(
        columns=columns("F1", labels=F1["labels"], attention_mask=[1] * 5 + [0, 0]),
        settings={
            "profile": "sft",
            "trainer": "transformers",
            "spec": {**SPECIALS, "pad_id": 2},
            "chat": chat(user=1, assistant=51),
        },
        errors={"TGT009"},
        others={"SPC006"},
        numbers=(("SPC006", "n_hits", 1),),
        says={"TGT009": F1["find"]},
    ),
    "G1": Case(
        columns=columns("G1", labels=G1["labels"], seq_lens=lengths(G1["truth"])),
        settings={
            "profile": "sft",
            "trainer": "trl",
            "spec": {**SPECIALS, "max_sample_len": 5},
            "chat": chat(user=1, assistant=55),
        },
        others={"TGT008"},
        numbers=(("TGT008", "n_hits", 1),),
    ),
    "H1": Case(
        columns=columns("H1", seq_lens=lengths(H1["truth"])),
        settings={"profile": "pretrain", "trainer": "trl", "spec": SPECIALS},
        errors={"SPC003"},
        numbers=(("SPC003", "n_hits", 1),),
    ),
    "H3": Case(
        columns=columns("H3", seq_lens=lengths(H3["truth"])),
        settings={"profile": "pretrain", "trainer": "trl", "spec": SPECIALS},
        errors={"SPC005"},
        numbers=(("SPC005", "n_hits", 1),),
    ),
    "K1": Case(
        columns={
            "input_ids": [ids + [0] * (K1["L"] - len(ids)) for ids in K1_IDS],
            "seq_lens": [[n] for n in K1["lens"]],
            "attention_mask": [[1] * n + [0] * (K1["L"] - n) for n in K1["lens"]],
        },
        settings={
            "profile": "pretrain",
            "trainer_contract": {"isolates_by": ["attention_mask"]},
            "spec": {"max_seq_len": K1["L"], "packed": True},
            "columns": {},
        },
        others={"FIL001", "FIL002", "FIL007"},
        numbers=(("FIL002", "packs", 6), ("FIL002", "bound", 3)),
        says={"FIL001": "24 of 48", "FIL002": "no packer can use fewer than 3"},
    ),
    "O1": Case(
        columns={"input_ids": [list(range(10, 10 + O1["L"]))], "seq_lens": [O1["lens"]]},
        right={"input_ids": [list(range(10, 10 + O1["L"]))], "seq_lens": [[O1["L"]]]},
        settings={"profile": "long-context", "trainer": "torchtune"},
        errors={"CTX001", "CTX002"},
        says={"CTX002": "the longest sample has 2 tokens in rows of 32"},
    ),
}
for number, (cu, fault) in enumerate(zip(CASES["B5"]["cu"], CASES["B5"]["find"], strict=True)):
    TABLE[f"B5-{number}"] = Case(
        columns={"input_ids": [list(range(10, 18))], "cu_seqlens": [cu]},
        right={"input_ids": [list(range(10, 18))], "cu_seqlens": [[0, 4, 8]]},
        settings={"profile": "sft", "trainer": "transformers-flattening"},
        errors={"BND002"},
        says={"BND002": fault},
    )

BY_LETTERS = "tests/rules/targets/test_cases_by_letters.py"
ELSEWHERE = {
    "C2": f"roles as given, and in real chat formats: {BY_LETTERS}",
    "E1": f"roles as given, and in real chat formats: {BY_LETTERS}",
    "F1": f"roles as given, and in real chat formats: {BY_LETTERS}",
    "H4": "no pack shows that a document was cut: SPC009 needs the sources",
    "I1": f"no pack holds two renderings; what a span from the wrong one does to labels: {BY_LETTERS}",
    "J1": "no pack shows what was lost: SMP003 needs the sources",
    "M1": "no fault of a pack: DRF005 compares shares of the loss",
    "N2": "no fault of a pack: DRF001 compares shares of domains",
}


def test_every_case_has_a_place() -> None:
    assert {name.split("-")[0] for name in TABLE} | ELSEWHERE.keys() == CASES.keys()


def codes(report: Report, *severities: Severity) -> set[str]:
    return {finding.code for finding in report.findings if finding.severity in severities}


@pytest.mark.parametrize("name", TABLE)
def test_case(name: str) -> None:
    case = TABLE[name]
    report = packlint.check(case.columns, **case.settings)

    assert codes(report, Severity.ERROR) == case.errors
    assert case.others <= codes(report, Severity.WARNING, Severity.INFO)
    by_code = {finding.code: finding for finding in report.findings}
    for code, key, value in case.numbers:
        finding = by_code[code]
        counted = finding.measured[key] if key in finding.measured else getattr(finding, key)
        assert (code, key, counted) == (code, key, value)
    for code, fragment in case.says.items():
        assert fragment in by_code[code].message


@pytest.mark.parametrize("name", [name for name, case in TABLE.items() if case.right])
def test_mended_case(name: str) -> None:
    case = TABLE[name]
    settings = {**case.settings}
    if name == "A1":
        settings["trainer"] = "grain"
    report = packlint.check(case.right, **settings)

    assert codes(report, Severity.ERROR) == set()
