"""Preference pairs as their producers write them: no false alarm; planted faults, counted exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import packlint
from packlint.errors import NoInputError, UnreadableError
from packlint.report import Report, RuleReport

BOS, EOS, USER, ASSISTANT, END, PAD = 1, 2, 4, 5, 7, 0
SETTINGS: dict[str, Any] = {
    "spec": {"bos_id": BOS, "eos_ids": [EOS], "vocab_size": 100, "pad_id": PAD},
    "chat": {"markers": {"user": [USER], "assistant": [ASSISTANT], "end": [END]}},
}
Ids = list[int]
Pair = tuple[Ids, Ids, Ids]
"""Prompt, chosen answer and rejected answer."""
Table = dict[str, list[Any]]


def pairs(n: int = 24, seed: int = 0, *, is_chat: bool = True) -> list[Pair]:
    """Return chats of one or two questions, or plain texts; the last question has two answers."""
    rng = np.random.default_rng(seed)

    def words(low: int, high: int) -> Ids:
        return rng.integers(20, 100, int(rng.integers(low, high))).tolist()  # type: ignore[no-any-return]

    found = []
    for number in range(n):
        earlier = [USER, *words(2, 6), END, ASSISTANT, *words(2, 6), END] if number % 3 == 0 else []
        asked = [*earlier, USER, *words(3, 9), END, ASSISTANT] if is_chat else words(3, 9)
        answers = [[*words(1, 12), *([END] if is_chat else []), EOS] for _ in range(2)]
        found.append(([BOS, *asked], answers[0], answers[1]))
    return found


# Producers, step by step as their code does it.


def sides(rows: list[tuple[dict[str, Ids], dict[str, Ids]]]) -> Table:
    table: Table = {}
    for both in rows:
        for side, columns in zip(("chosen", "rejected"), both, strict=True):
            for name, values in columns.items():
                table.setdefault(f"{side}_{name}", []).append(values)
    return table


def llama_factory(data: list[Pair], cutoff_len: int = 1 << 20) -> Table:
    """`PairwiseDatasetProcessor.preprocess_dataset` with `infer_seqlen`."""
    rows = []
    for prompt, *answers in data:
        longest = max(map(len, answers))
        if longest * 2 < cutoff_len:
            room = cutoff_len
        elif len(prompt) * 2 < cutoff_len:
            room = cutoff_len - len(prompt)
        else:
            room = int(cutoff_len * (longest / (len(prompt) + longest)))
        n_target = min(room, longest)
        front = prompt[: min(max(cutoff_len - n_target, 0), len(prompt))]
        both = [
            {
                "input_ids": front + answer[:n_target],
                "attention_mask": [1] * len(front + answer[:n_target]),
                "labels": [-100] * len(front) + answer[:n_target],
            }
            for answer in answers
        ]
        rows.append((both[0], both[1]))
    nothing = [None] * len(data)
    return {**sides(rows), "images": nothing, "videos": nothing, "audios": nothing}


def trl_dpo(data: list[Pair]) -> Table:
    """`DPOTrainer._prepare_dataset` from 0.29 on: the raw columns stay."""
    messages = [[{"role": "user", "content": "x"}] for _ in data]
    return {
        "prompt": messages,
        "chosen": messages,
        "rejected": messages,
        "prompt_ids": [prompt for prompt, _, _ in data],
        "chosen_ids": [chosen for _, chosen, _ in data],
        "rejected_ids": [rejected for _, _, rejected in data],
        "ref_chosen_logps": [-1.5] * len(data),
    }


def trl_dpo_before_0_29(data: list[Pair], max_prompt_length: int = 512) -> Table:
    """`DPOTrainer.tokenize_row` from 0.12 on: prompts lose their head, not their tail."""
    return {
        "prompt": ["x"] * len(data),
        "prompt_input_ids": [prompt[-max_prompt_length:] for prompt, _, _ in data],
        "chosen_input_ids": [chosen for _, chosen, _ in data],
        "rejected_input_ids": [rejected for _, _, rejected in data],
    }


def trl_orpo(data: list[Pair], pad_to: int = 0) -> Table:
    """`ORPOTrainer.tokenize_row`: a merged token leaves one of the prompts; padded for XLA only."""
    rows, prompts = [], []
    for number, (prompt, *answers) in enumerate(data):
        lengths = [len(prompt) - (number % 4 == 1), len(prompt) - (number % 4 == 2)]
        both = []
        for n, answer in zip(lengths, answers, strict=True):
            merged = (
                [] if n == len(prompt) else [98]
            )  # the prompt's last token and the answer's first letters
            ids = prompt[:n] + merged + answer
            both.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": [-100] * n + ids[n:]})
        rows.append((both[0], both[1]))
        prompts.append(prompt[: min(lengths)])
    table = sides(rows)
    table |= {"prompt_input_ids": prompts, "prompt_attention_mask": [[1] * len(prompt) for prompt in prompts]}
    fill = {"labels": -100, "input_ids": PAD, "attention_mask": 0}
    for name, column in table.items() if pad_to else ():
        kind = name.split("_", 1)[1]
        table[name] = [values + [fill[kind]] * (pad_to - len(values)) for values in column]
    return table


def open_instruct(data: list[Pair]) -> Table:
    """`preference_tulu_tokenize_and_truncate_v1`: every answer of both sides is a target."""
    table = {name: column for name, column in llama_factory(data).items() if column[0] is not None}
    for side in ("chosen", "rejected"):
        for ids, labels in zip(table[f"{side}_input_ids"], table[f"{side}_labels"], strict=True):
            is_answer = False
            for at, token in enumerate(ids):
                is_answer = token == ASSISTANT or (is_answer and token != USER)
                labels[at] = token if is_answer and token not in (USER, ASSISTANT) else -100
    return table


def colossalai(data: list[Pair]) -> Table:
    """`tokenize_rlhf`: masks of 0 and 1, and what they leave as text."""
    both = []
    for prompt, *answers in data:
        columns = [{"input_ids": prompt + a, "loss_mask": [0] * len(prompt) + [1] * len(a)} for a in answers]
        both.append((columns[0], columns[1]))
    text = ["x"] * len(data)
    return {**sides(both), "chosen_label_decode": text, "rejected_label_decode": text}


def rewards(data: list[Pair], ids: str = "{}_ids", mask: str = "", more: Table | None = None) -> Table:
    """`RewardTrainer`: whole conversations, nothing masked."""
    table: Table = dict(more or {})
    for at, side in enumerate(("chosen", "rejected"), start=1):
        table[ids.format(side)] = [row[0] + row[at] for row in data]
        if mask:
            table[mask.format(side)] = [[1] * len(row[0] + row[at]) for row in data]
    return table


def parquet(folder: Path, table: Table) -> Path:
    pq.write_table(pa.table(table), folder / "pairs.parquet", row_group_size=10)
    return folder


def lines(folder: Path, table: Table) -> Path:
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def in_memory(folder: Path, table: Table) -> list[dict[str, Any]]:
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


Store = Callable[[Path, Table], Any]
PRODUCERS: dict[str, tuple[Table, Store, str]] = {
    "LLaMA-Factory": (llama_factory(pairs()), parquet, "llama-factory-dpo"),
    "TRL": (trl_dpo(pairs()), parquet, "trl-dpo"),
    "TRL before 0.29": (trl_dpo_before_0_29(pairs()), parquet, "trl-dpo"),
    "ORPO": (trl_orpo(pairs(is_chat=False)), parquet, "trl-orpo"),
    "ORPO, padded": (trl_orpo(pairs(is_chat=False), pad_to=64), parquet, "trl-orpo"),
    "open-instruct": (open_instruct(pairs()), parquet, "llama-factory-dpo"),
    "torchtune": (
        {name: v for name, v in llama_factory(pairs()).items() if "labels" in name or "input_ids" in name},
        in_memory,
        "",
    ),
    "ColossalAI": (colossalai(pairs()), lines, ""),
    "reward model": (rewards(pairs()), parquet, "trl-reward"),
    "reward model 0.24": (
        rewards(pairs(), "{}_input_ids", "{}_attention_mask"),
        parquet,
        "trl-reward",
    ),
    "reward model before 0.24": (
        rewards(pairs(), "input_ids_{}", "attention_mask_{}"),
        parquet,
        "trl-reward",
    ),
    "Axolotl": (
        rewards(
            pairs(),
            "{}_ids",
            "attention_mask_{}",
            {"labels_chosen": [1.0] * 24, "labels_rejected": [0.0] * 24},
        ),
        parquet,
        "trl-reward",
    ),
}


def rule(report: Report, code: str) -> RuleReport:
    return next(entry for entry in report.rules if entry.code == code)


def found(report: Report, *, above: str = "info") -> list[tuple[str, int]]:
    return [(f.code, f.n_hits) for f in report.findings if f.severity.value != above]


@pytest.mark.parametrize("producer", PRODUCERS)
def test_what_producers_write_gives_no_alarm(producer: str, tmp_path: Path) -> None:
    table, store, trainer = PRODUCERS[producer]
    is_chat = "ORPO" not in producer
    report = packlint.check(store(tmp_path, table), **(SETTINGS if is_chat else {"spec": SETTINGS["spec"]}))

    assert found(report) == []
    [entry] = report.inputs
    assert (entry.unit, entry.trainer, entry.n_packs, entry.n_segments) == ("pair", trainer, 24, 48)
    assert (report.profile.name, report.profile.source) == ("preference", "inferred")
    is_reward = "reward" in producer or producer == "Axolotl"
    assert rule(report, "SMP009").status.value == ("not_checked" if is_reward else "clean")
    data = pairs(is_chat=is_chat)
    n_answers = sum(len(chosen) + len(rejected) for _, chosen, rejected in data)
    n_prompts = sum(2 * len(prompt) for prompt, _, _ in data)
    n_merged = 0 if is_chat else 12
    assert entry.n_tokens - entry.n_padding == n_prompts + n_answers
    if producer != "open-instruct":
        assert entry.n_targets == (0 if is_reward else n_answers + n_merged)


# Faults, planted in what LLaMA-Factory writes unless said otherwise.


def check(table: Table, **more: Any) -> Report:
    return packlint.check(pa.table(table), **{**SETTINGS, **more})


def places(report: Report, code: str) -> list[tuple[int, int, int, int]]:
    return [
        (place.pack, place.segment, place.start, place.stop)
        for finding in report.findings
        if finding.code == code
        for place in finding.locations
    ]


def test_prompts_that_differ() -> None:
    table = llama_factory(pairs())
    table["chosen_input_ids"][5][3] = 99
    n = len(table["chosen_input_ids"][5])
    report = check(table)

    assert found(report) == [("SMP009", 2)]
    assert places(report, "SMP009") == [(5, 0, 0, n), (5, 1, n, n + len(table["rejected_input_ids"][5]))]
    assert (
        "2 samples have no partner of the same masked prompt beside it, of 48" in report.findings[0].message
    )


@pytest.mark.parametrize("nothing", [None, []])
@pytest.mark.parametrize("store", [parquet, lines, in_memory])
def test_sides_that_are_missing(nothing: Ids | None, store: Store, tmp_path: Path) -> None:
    table = llama_factory(pairs())
    for side, rows in (("rejected", (3, 7)), ("chosen", (7, 9))):
        for name in ("input_ids", "attention_mask", "labels"):
            for row in rows:
                table[f"{side}_{name}"][row] = nothing
    report = packlint.check(store(tmp_path, table), **SETTINGS)

    n = [len(table["chosen_input_ids"][3]), len(table["rejected_input_ids"][9])]
    assert found(report) == [("SMP009", 3)]
    assert sorted(places(report, "SMP009")) == [(3, 0, 0, n[0]), (7, -1, 0, 0), (9, 0, 0, n[1])]
    message = next(f.message for f in report.findings if f.code == "SMP009")
    assert message.startswith("2 samples have no partner")
    assert message.endswith("of 44; rows with neither side: 1; allowed: 0")


def test_a_side_that_is_missing_where_no_loss_is_stored() -> None:
    table = rewards(pairs())
    table["rejected_ids"][4] = None
    report = check(table)

    assert found(report) == [("SMP009", 1)]
    assert rule(report, "SMP009").reasons == (
        "targets: the shard stores no labels and no loss mask (in 24 of 24 rows)",
    )


def test_a_completion_that_is_missing_takes_its_prompt_along() -> None:
    table = trl_dpo(pairs())
    table["chosen_ids"][4] = []
    report = check(table)

    prompt, _, rejected = pairs()[4]
    assert found(report) == [("SMP009", 1)]
    assert places(report, "SMP009") == [(4, 0, 0, len(prompt + rejected))]
    assert report.inputs[0].n_segments == 47


def test_short_and_empty_prompts_that_stand_apart() -> None:
    data = [([], [20, END, EOS], [20, 21, END, EOS]), ([BOS], [22, END, EOS], [23, END, EOS])]
    report = check(trl_dpo(data), chat={})

    assert found(report) == []
    assert rule(report, "SMP009").status.value == "clean"


def test_a_prompt_of_one_token_and_none_at_all() -> None:
    short = llama_factory([([BOS], [22, END, EOS], [23, END, EOS])])
    assert found(check(short, chat={})) == []

    bare = llama_factory([([], [22, END, EOS], [23, END, EOS])])
    assert found(check(bare, chat={})) == [("SMP009", 2)]


def test_loss_on_one_prompt() -> None:
    table = llama_factory(pairs())
    prompt = pairs()[6][0]
    for row in (6, 8):
        table["rejected_labels"][row][1:4] = table["rejected_input_ids"][row][1:4]
    report = check(table)

    assert found(report) == [("SMP009", 4), ("TGT002", 2)]
    assert rule(report, "TGT002").n_tokens == 6
    n = len(table["chosen_input_ids"][6])
    assert places(report, "TGT002")[0] == (6, 1, n + 1, n + 4)
    assert len(prompt) > 4


def test_loss_on_all_prompts() -> None:
    table = llama_factory(pairs())
    for side in ("chosen", "rejected"):
        table[f"{side}_labels"] = [list(ids) for ids in table[f"{side}_input_ids"]]
    report = check(table)

    # Nothing predicts the first token of a sequence: no target crosses a boundary, there is none.
    assert dict(found(report)) == {"SMP009": 48, "TGT002": 48}
    for name in [name for name in table if "attention" in name]:
        del table[name]  # no trainer is known any more
    for told in (report, check(table)):
        assert rule(told, "TGT007").status.value == "clean"


def test_loss_on_padding() -> None:
    table = trl_orpo(pairs(is_chat=False), pad_to=64)
    table["chosen_labels"][3][-2:] = [PAD, PAD]
    report = check(table, chat={})

    assert found(report) == [("TGT001", 1)]
    assert rule(report, "TGT001").n_tokens == 2
    assert places(report, "TGT001")[0][0] == 3


def test_rows_of_one_length_are_no_length_of_packs() -> None:
    report = check(llama_factory([([BOS, 20], [22, EOS], [23, EOS])] * 9), spec={}, chat={})

    assert "max_seq_len" not in report.spec


def test_answers_that_the_limit_cut() -> None:
    report = check(
        llama_factory(pairs(), cutoff_len=24), spec={**SETTINGS["spec"], "max_seq_len": 24}, chat={}
    )

    assert report.inputs[0].n_tokens < sum(2 * len(p) + len(c) + len(r) for p, c, r in pairs())
    assert [code for code, _ in found(report) if code != "SMP009"] == []


def test_a_sample_in_several_pairs_is_no_repeat_but_a_pair_is() -> None:
    rng = np.random.default_rng(1)
    prompt = [BOS, USER, *rng.integers(20, 100, 40).tolist(), END, ASSISTANT]
    answers = [[*rng.integers(20, 100, 9).tolist(), END, EOS] for _ in range(4)]
    ranking = [(prompt, answers[0], other) for other in answers[1:]]

    assert found(check(llama_factory(ranking))) == []
    assert found(check(llama_factory([*ranking, ranking[0]]))) == [("SMP002", 1)]


# What else may stand in such a table.


def test_labels_of_another_length_than_their_ids(tmp_path: Path) -> None:
    for store in (parquet, lines, in_memory):
        table = llama_factory(pairs())
        table["chosen_labels"][2].append(-100)
        table["rejected_labels"][2].pop()  # together they would fit
        table["rejected_attention_mask"][4] = None
        (tmp_path / store.__name__).mkdir()
        report = packlint.check(store(tmp_path / store.__name__, table), **SETTINGS)

        n, n_ids = len(table["chosen_labels"][2]), len(table["chosen_input_ids"][2])
        notes = {f.code: f.locations[0].note for f in report.findings if f.code.startswith("SHD")}
        assert notes == {
            "SHD002": f"chosen_labels has {n} values for {n_ids} chosen_input_ids",
            "SHD005": "null in column rejected_attention_mask",
        }
        assert report.inputs[0].n_packs == 22


def test_a_row_that_lacks_a_key(tmp_path: Path) -> None:
    rows = in_memory(tmp_path, llama_factory(pairs()))
    rows[5] = {name: value for name, value in rows[5].items() if not name.startswith("rejected")}
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))

    for data in (tmp_path, rows):
        report = packlint.check(data, **SETTINGS)
        assert found(report) == [("SMP009", 1)]
        assert places(report, "SMP009")[0][:2] == (5, 0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"rejected_input_ids": None},
            "chosen_input_ids is half of a preference pair, and there is no rejected",
        ),
        ({"rejected_labels": None}, "column chosen_labels stands without rejected_labels"),
        (
            {"chosen_attention_mask": None},
            "column rejected_attention_mask stands without chosen_attention_mask",
        ),
        (
            {"chosen_input_ids": [["a"]] * 24},
            "column chosen_input_ids holds lists of strings, which cannot be",
        ),
        ({"rejected_input_ids": [[[1]]] * 24}, "rejected_input_ids holds lists of lists of integers"),
        ({"chosen_labels": [1.0] * 24}, "column chosen_labels holds single floats, which cannot be labels"),
        (
            {"chosen_cu_seq_lens_q": [[0, 3]] * 24},
            "chosen_cu_seq_lens_q says that a side holds several samples",
        ),
    ],
)
def test_tables_that_are_refused(change: Table, reason: str, tmp_path: Path) -> None:
    table = {**llama_factory(pairs()), **change}
    report = packlint.check(
        parquet(tmp_path, {n: column for n, column in table.items() if column is not None})
    )

    assert [finding.code for finding in report.findings] == ["SHD001"]
    assert reason in report.findings[0].message


def test_half_a_table_of_pairs(tmp_path: Path) -> None:
    table = {
        name: column for name, column in llama_factory(pairs()).items() if not name.startswith("rejected")
    }

    with pytest.raises(
        UnreadableError, match="chosen_input_ids is half of a preference pair, and there is no"
    ):
        packlint.check(in_memory(tmp_path, table))
    # Lines with such a list are no tokens for all we know: the numbers of answers are lists of integers too.
    with pytest.raises(NoInputError, match="no file here is of a format"):
        packlint.check(lines(tmp_path, {"chosen_ids": [[12]], "text": ["x"]}))


@pytest.mark.parametrize("name", ["pairs.npz", "pairs.safetensors"])
def test_readers_that_join_no_pairs_say_so(name: str, tmp_path: Path) -> None:
    arrays = {f"{side}_input_ids": np.arange(12).reshape(2, 6) for side in ("chosen", "rejected")}
    if name.endswith("npz"):
        np.savez(tmp_path / name, **arrays)  # type: ignore[arg-type]
    else:
        pytest.importorskip("safetensors.numpy").save_file(arrays, tmp_path / name)
    report = packlint.check(tmp_path / name)

    assert [finding.code for finding in report.findings] == ["SHD001"]
    assert "hold a preference pair in one row, which is read from Parquet" in report.findings[0].message


def test_ordinary_rows_with_columns_of_a_pair_beside_them() -> None:
    table = llama_factory(pairs())
    table["input_ids"] = [row[:3] for row in table["chosen_input_ids"]]
    report = check(table, chat={})

    assert (report.inputs[0].unit, report.inputs[0].n_tokens) == ("pack", 72)
    assert report.profile.name == "pretrain"
    assert not any("chosen" in line for line in report.inputs[0].evidence[1:])


def test_one_side_by_request() -> None:
    report = check(llama_factory(pairs()), columns={"input_ids": "rejected_input_ids"}, chat={})

    assert report.inputs[0].unit == "pack"
    assert report.inputs[0].n_tokens == sum(len(p) + len(r) for p, _, r in pairs())


def test_the_profile_is_inferred_of_pairs_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table(trl_dpo(pairs())), tmp_path / "pairs.parquet")
    pq.write_table(pa.table({"input_ids": [[1, 20, 2]] * 4}), tmp_path / "packs.parquet")

    profile = packlint.check(tmp_path / "pairs.parquet").profile
    assert profile.name == "preference"
    assert "side by side" in profile.why
    assert packlint.check(tmp_path).profile.name == "sft"
    assert packlint.check(tmp_path / "packs.parquet").profile.name == "pretrain"
    assert packlint.check(tmp_path / "pairs.parquet", profile="sft").profile.name == "sft"


def test_batches_of_a_loader() -> None:
    """`DataCollatorForPreference` of TRL 0.24: prompts padded on the left, answers on the right."""
    table = trl_dpo_before_0_29(pairs())
    batches = []
    for first in range(0, 24, 8):
        batch = {}
        for name in ("prompt", "chosen", "rejected"):
            rows = table[f"{name}_input_ids"][first : first + 8]
            width, is_left = max(map(len, rows)), name == "prompt"
            pad = [[PAD] * (width - len(row)) for row in rows]
            off, on = [[0] * len(p) for p in pad], [[1] * len(row) for row in rows]
            for key, parts in (("input_ids", (pad, rows)), ("attention_mask", (off, on))):
                ordered = parts if is_left else parts[::-1]
                batch[f"{name}_{key}"] = np.array([a + b for a, b in zip(*ordered, strict=True)])
        batches.append(batch)
    report = packlint.check(batches, **SETTINGS)

    [entry] = report.inputs
    assert found(report) == []
    assert (entry.unit, entry.n_packs, entry.n_segments) == ("pair", 24, 48)
    assert entry.n_targets == sum(len(c) + len(r) for _, c, r in pairs())
    assert entry.n_padding == sum(
        int((batch[f"{name}_attention_mask"] == 0).sum()) * (1 + (name == "prompt"))
        for batch in batches
        for name in ("prompt", "chosen", "rejected")
    )


def test_pairs_as_reference_of_packed_pairs() -> None:
    """XTuner packs both sides of a pair as one item; each is led back to its own row and side."""
    data = pairs()
    samples = [side for prompt, chosen, rejected in data for side in (prompt + chosen, prompt + rejected)]
    packs = {
        "input_ids": [[token for sample in samples[i : i + 4] for token in sample] for i in range(0, 40, 4)],
        "seq_lens": [[len(sample) for sample in samples[i : i + 4]] for i in range(0, 40, 4)],
    }
    report = packlint.check(packs, reference=pa.table(llama_factory(data)), **SETTINGS)

    lost = next(finding for finding in report.findings if finding.code == "SMP001")
    assert lost.n_hits == 8
    assert rule(report, "SMP005").status.value == "clean"
    backwards = packlint.check(pa.table(trl_dpo(data)), reference={"input_ids": samples}, **SETTINGS)
    assert found(backwards) == []
