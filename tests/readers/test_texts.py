"""Rows of text become the ids that transformers and TRL make of them."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")

from packlint.chat.tokenizer import Tokenizer, load_tokenizer
from packlint.errors import UnreadableError, UsageError
from packlint.readers.layouts import ColumnKind, Element
from packlint.readers.metadata import read_metadata
from packlint.readers.reference import open_reference
from packlint.readers.shard import Fault, RawRows, Role, Settings, Shard
from packlint.readers.texts import encode, find_text
from packlint.readers.texts.columns import TextKind
from tests.readers.file_checks import SAMPLES, read, reference

TOKENIZER = SAMPLES / "_tokenizer"
FORMATS = ("parquet", "arrow", "jsonl", "jsonl.gz", "jsonl.zst")

Rows = list[dict[str, Any]]


def toy() -> Tokenizer:
    return load_tokenizer(TOKENIZER)


def store(rows: Rows, form: str, folder: Path) -> Path:
    path = folder / f"data.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
    elif form == "arrow":
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=5)
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows).encode()
        packed = {
            "jsonl": lambda: text,
            "jsonl.gz": lambda: gzip.compress(text),
            "jsonl.zst": lambda: _zstd(text),
        }
        path.write_bytes(packed[form]())
    return path


def _zstd(text: bytes) -> bytes:
    found: bytes = pa.Codec("zstd").compress(text, asbytes=True)
    return found


def opened(path: Path, tokenizer: Path = TOKENIZER) -> Shard:
    shards, errors = open_reference([str(path)], Settings(max_seq_len=8, eos_ids=(2,)), str(tokenizer))
    assert errors == []
    [shard] = shards
    return shard


def with_template(folder: Path, template: str) -> Path:
    """Return a copy of the toy tokenizer with another chat template, which is a file of its own."""
    folder.mkdir(exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).write_bytes((TOKENIZER / name).read_bytes())
    (folder / "chat_template.jinja").write_text(template)
    return folder


def ids_of(shard: Shard, block_tokens: int = 64) -> tuple[list[int], list[list[int]], list[Fault]]:
    numbers, columns, faults = read(shard, block_tokens)
    return numbers, columns.get(Role.INPUT_IDS, []), faults


@pytest.mark.parametrize("form", FORMATS)
def test_texts_give_back_the_documents(form: str, tmp_path: Path) -> None:
    rows: Rows = [
        {"text": toy().decode(row), "domain": f"d{i % 3}"} for i, row in enumerate(reference("docs"))
    ]
    shard = opened(store(rows, form, tmp_path))
    assert ids_of(shard) == (list(range(24)), reference("docs"), [])
    assert Role.LABELS not in shard.layout.columns
    columns = [read_metadata(shard, part, ["domain"])["domain"] for part in shard.parts()]
    codes = [column.categories.names[code] for column in columns for code in column.categories.codes.tolist()]
    assert codes == [row["domain"] for row in rows]


@pytest.mark.parametrize("form", FORMATS)
def test_prompts_and_completions_give_back_the_chats(form: str, tmp_path: Path) -> None:
    pairs = zip(reference("sft", "prompt_ids"), reference("sft", "completion_ids"), strict=True)
    rows = [{"prompt": toy().decode(prompt), "completion": toy().decode(answer)} for prompt, answer in pairs]
    shard = opened(store(rows, form, tmp_path))
    numbers, columns, faults = read(shard)
    assert (numbers, faults) == (list(range(24)), [])
    assert columns[Role.INPUT_IDS] == reference("sft")
    assert columns[Role.LABELS] == reference("sft", "labels")


CHAT = [
    {"role": "user", "content": "short prompt"},
    {"role": "assistant", "content": "seven é 🙂 text"},
    {"role": "user", "content": "window"},
    {"role": "assistant", "content": "sequence"},
]


@pytest.mark.parametrize("form", FORMATS)
def test_generated_text_of_messages_is_learnt(form: str, tmp_path: Path) -> None:
    shard = opened(store([{"messages": CHAT}, {"messages": CHAT[:1]}], form, tmp_path))
    _, columns, faults = read(shard)
    assert faults == []
    texts = [toy().decode(ids) for ids in columns[Role.INPUT_IDS]]
    assert texts[0].startswith(
        "<|im_start|>user\nshort prompt<|im_end|><|im_start|>assistant\nseven é 🙂 text<|im_end|>"
    )
    learnt = [toy().decode([i for i in row if i >= 0]) for row in columns[Role.LABELS]]
    assert learnt == ["seven é 🙂 text<|im_end|>sequence<|im_end|>", ""]


@pytest.mark.parametrize("form", FORMATS)
def test_prompts_of_messages_end_where_the_answer_begins(form: str, tmp_path: Path) -> None:
    shard = opened(store([{"prompt": CHAT[:3], "completion": CHAT[3:]}], form, tmp_path))
    _, columns, _ = read(shard)
    assert toy().decode([i for i in columns[Role.LABELS][0] if i >= 0]) == "sequence<|im_end|>"


def test_a_template_without_marks_gives_no_labels(tmp_path: Path) -> None:
    plain = with_template(
        tmp_path / "plain", "{% for m in messages %}{{ m.content }}{% endfor %}{{ eos_token }}"
    )
    shard = opened(store([{"messages": CHAT}], "parquet", tmp_path), plain)
    assert Role.LABELS not in shard.layout.columns
    assert toy().decode(ids_of(shard)[1][0]).endswith("sequence</s>")


def test_a_prompt_that_the_template_writes_in_two_ways(tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %} mask{% endif %}"
    )
    path = store([{"prompt": CHAT[:1], "completion": CHAT[3:]}], "parquet", tmp_path)
    _, columns, _ = read(opened(path, with_template(tmp_path / "t", template)))
    assert toy().decode(columns[Role.INPUT_IDS][0]) == "short promptsequence"
    learnt = [i for i in columns[Role.LABELS][0] if i >= 0]
    assert learnt
    assert "sequence".endswith(toy().decode(learnt))


def test_specials_of_the_tokenizer_stand_around_texts_and_not_around_chats(tmp_path: Path) -> None:
    from tokenizers import Tokenizer as Inner
    from tokenizers import processors

    folder = with_template(tmp_path / "bos", "{% for m in messages %}{{ m.content }}{% endfor %}")
    inner = Inner.from_file(str(folder / "tokenizer.json"))
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair=None, special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    inner.enable_truncation(3)
    inner.enable_padding(length=64)
    inner.save(str(folder / "tokenizer.json"))
    plain = toy().encode("short prompt")[0]
    (tmp_path / "text").mkdir()
    assert ids_of(opened(store([{"text": "short prompt"}], "parquet", tmp_path / "text"), folder))[1] == [
        [1, *plain, 2]
    ]
    shard = opened(store([{"messages": [{"content": "short prompt"}]}], "jsonl", tmp_path), folder)
    assert ids_of(shard)[1] == [plain]
    _, columns, _ = read(
        opened(store([{"prompt": "short", "completion": " prompt"}], "parquet", tmp_path), folder)
    )
    answer = toy().encode(" prompt")[0]
    assert columns[Role.LABELS] == [[-100] * (1 + len(plain) - len(answer)) + [*answer, 2]]


def test_rows_that_cannot_be_tokenized_are_faults(tmp_path: Path) -> None:
    lines = [
        '{"prompt": "a", "completion": "b"}',
        "",
        '{"prompt": 3, "completion": "x"}',
        '{"prompt": "a"}',
        '{"prompt": null, "completion": "x"}',
        "{broken",
        '{"prompt": "\\ud800", "completion": "x"}',
        '{"prompt": "c", "completion": "d"}',
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    numbers, _, faults = ids_of(opened(path))
    assert numbers == [0, 7]
    assert [(fault.row, fault.code) for fault in faults] == [
        (2, "SHD001"),
        (3, "SHD005"),
        (4, "SHD005"),
        (5, "SHD001"),
        (6, "SHD001"),
    ]


def test_a_template_that_refuses_a_row_is_a_fault_of_that_row(tmp_path: Path) -> None:
    refusal = "{% if messages[0].role != 'user' %}{{ raise_exception('begin with the user') }}{% endif %}"
    folder = with_template(tmp_path / "t", refusal + "{{ messages[0].content }}")
    rows: Rows = [{"messages": CHAT}, {"messages": CHAT[1:]}, {"messages": CHAT[2:]}]
    numbers, _, faults = ids_of(opened(store(rows, "parquet", tmp_path), folder))
    assert numbers == [0, 2]
    assert [(fault.row, fault.message) for fault in faults] == [(1, "chat template: begin with the user")]


def test_a_template_that_runs_away_ends_the_part(tmp_path: Path) -> None:
    folder = with_template(tmp_path / "t", "{% if messages|length > 1 %}{{ 'x' * 10**9 }}{% endif %}ok")
    rows: Rows = [{"messages": CHAT[:1]}, *[{"messages": CHAT}] * 5]
    shard = opened(store(rows, "jsonl", tmp_path), folder)
    found: list[RawRows] = []
    with pytest.raises(UnreadableError, match="row 3: the chat template runs away"):
        found.extend(shard.rows(shard.parts()[0], frozenset(Role), 1))
    assert [number for raw in found for number in raw.row_numbers.tolist()] == [0]
    assert [fault.row for raw in found for fault in raw.faults] == [1, 2, 3]


def test_templates_are_told_of_tools_and_of_the_day(tmp_path: Path) -> None:
    template = (
        "{{ tools[0].name }} {{ thinking }} {{ messages[0].calls is defined }} {{ strftime_now('%d %b %Y') }}"
    )
    rows = [
        {
            "messages": [{"role": "user", "content": "x", "calls": None}],
            "tools": json.dumps([{"name": "look"}]),
            "chat_template_kwargs": {"thinking": "no"},
        }
    ]
    shard = opened(store(rows, "parquet", tmp_path), with_template(tmp_path / "t", template))
    assert toy().decode(ids_of(shard)[1][0]) == "look no False 26 Jul 2024"
    assert any("is told 2024-07-26" in line for line in shard.layout.evidence)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    path = store([{"messages": CHAT}], "parquet", tmp_path)
    with pytest.raises(UsageError, match=r"data\.parquet holds text \(column messages\).*--tokenizer FILE"):
        open_reference([str(path)], Settings())
    folder = with_template(tmp_path / "none", "")
    with pytest.raises(UsageError, match="no chat template"):
        open_reference([str(path)], Settings(), str(folder))
    folder = with_template(tmp_path / "bad", "{% for %}")
    with pytest.raises(UsageError, match=r"chat template in chat_template\.jinja: line 1: "):
        open_reference([str(path)], Settings(), str(folder))


def test_tokens_win_over_text(tmp_path: Path) -> None:
    shard = opened(store([{"text": "a", "input_ids": [5, 6]}], "parquet", tmp_path))
    assert ids_of(shard)[1] == [[5, 6]]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({"text": "s"}, TextKind.TEXT),
        ({"text": "s", "messages": "m"}, TextKind.MESSAGES),
        ({"prompt": "s", "messages": "m"}, TextKind.MESSAGES),
        ({"prompt": "s", "completion": "s", "text": "s"}, TextKind.PROMPT),
        ({"prompt": "m", "completion": "m"}, TextKind.PROMPT),
        ({"prompt": "m", "completion": "s"}, None),
        ({"messages": "s"}, None),
        ({}, None),
    ],
)
def test_which_columns_are_text(names: dict[str, str], kind: TextKind | None) -> None:
    kinds = {"s": ColumnKind(Element.STRING, 0), "m": ColumnKind(Element.STRUCT, 1)}
    found = find_text({name: kinds[of] for name, of in names.items()})
    assert (found and found.kind) == kind


@given(st.lists(st.text(max_size=12), min_size=1, max_size=12), st.integers(1, 40))
@settings(max_examples=25)
def test_batches_do_not_show(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], n_tokens: int
) -> None:
    path = store([{"text": text} for text in texts], "jsonl", tmp_path_factory.mktemp("texts"))
    wanted = [toy().encode(text)[0] for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "BATCH_CHARS", 20)
        assert ids_of(opened(path), n_tokens) == (list(range(len(texts))), wanted, [])


def test_threads_share_a_shard(tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": f"window {i}"}, *CHAT[1:2]]} for i in range(56)]
    shard = opened(store(rows, "parquet", tmp_path))
    alone = ids_of(shard)[1]

    def one(part: Any) -> list[list[int]]:
        return [
            raw.columns[Role.INPUT_IDS].values.tolist() for raw in shard.rows(part, frozenset(Role), 1 << 20)
        ]

    with ThreadPoolExecutor(4) as pool:
        found = [row for part in pool.map(one, shard.parts()) for row in part]
    assert list(chain.from_iterable(found)) == list(chain.from_iterable(alone))
