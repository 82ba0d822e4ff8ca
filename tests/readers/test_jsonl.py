"""JSON lines: samples, a round trip, and lines that are no rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.model.batch import Unit
from packlint.readers import jsonl
from packlint.readers.jsonl import JsonlReader
from packlint.readers.shard import Fault, Role, Settings, Shard
from packlint.readers.source import Source

SAMPLES = Path(__file__).parents[1] / "samples"
GOOD = b'{"input_ids": [1, 2], "labels": [-100, 2]}\n'

Lists = list[list[object]]


def open_one(path: Path, **columns: str) -> Shard:
    [shard] = JsonlReader().open(Source(str(path)), path.name, Settings(columns=columns))
    return shard


def read(shard: Shard, block_tokens: int = 8) -> tuple[list[int], dict[Role, Lists], list[Fault]]:
    numbers: list[int] = []
    columns: dict[Role, Lists] = {}
    faults: list[Fault] = []
    [part] = shard.parts()
    for raw in shard.rows(part, frozenset(Role), block_tokens):
        numbers += raw.row_numbers.tolist()
        faults += raw.faults
        for role, column in raw.columns.items():
            bounds = zip(column.offsets[:-1], column.offsets[1:], strict=True)
            columns.setdefault(role, []).extend(column.values[a:b].tolist() for a, b in bounds)
    return numbers, columns, faults


def sniff(path: Path) -> bool:
    return JsonlReader().sniff(Source(str(path)), path.read_bytes()[:4096])


def write(folder: Path, *lines: bytes) -> Path:
    path = folder / "data.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_sample_of_torchtune() -> None:
    path = SAMPLES / "torchtune_packed_sft" / "packs.jsonl"
    assert sniff(path)
    shard = open_one(path)
    numbers, columns, faults = read(shard, 300)
    assert (shard.layout.trainer, shard.layout.unit) == ("torchtune", Unit.PACK)
    assert (numbers, faults) == (list(range(7)), [])
    assert shard.parts()[0].n_rows == 7
    assert [len(row) for row in columns[Role.INPUT_IDS]] == [128] * 7
    assert sum(map(len, columns[Role.SEQ_LENS])) == 31
    assert columns.keys() == {Role.INPUT_IDS, Role.LABELS, Role.POSITION_IDS, Role.SEQ_LENS}


def test_sample_of_instructlab() -> None:
    path = SAMPLES / "instructlab_data_jsonl" / "data.jsonl"
    assert sniff(path)
    shard = open_one(path)
    _, columns, faults = read(shard)
    assert (shard.layout.trainer, shard.layout.unit, faults) == ("instructlab", Unit.SAMPLE, [])
    assert sum(map(len, columns[Role.INPUT_IDS])) == 798
    assert sum(label != -100 for row in columns[Role.LABELS] for label in row) == 313


@given(
    rows=st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6), min_size=1, max_size=9),
    block=st.integers(1, 10),
)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], block: int) -> None:
    lines = [json.dumps({"input_ids": row}).encode() + b"\n" for row in rows]
    numbers, columns, faults = read(open_one(write(tmp_path_factory.mktemp("x"), *lines)), block)
    assert (numbers, faults) == (list(range(len(rows))), [])
    assert columns[Role.INPUT_IDS] == rows


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (b'{"input_ids": [1, 2], "labels": [-100', "SHD001", "Expecting"),
        (b"[1, 2]", "SHD001", "the line holds a list, expected an object"),
        (b'{"labels": [1]}', "SHD001", "there is no input_ids"),
        (b'{"input_ids": null, "labels": [1]}', "SHD005", "input_ids is null"),
        (b'{"input_ids": [1, null], "labels": [1, 2]}', "SHD005", "input_ids[1] is null"),
        (b'{"input_ids": [1, 2.5], "labels": [1, 2]}', "SHD001", "input_ids[1] is the float 2.5"),
        (b'{"input_ids": [1, 2.0], "labels": [1, 2]}', "SHD001", "input_ids[1] is the float 2.0"),
        (b'{"input_ids": [NaN], "labels": [1]}', "SHD001", "input_ids[0] is NaN, expected integers"),
        (b'{"input_ids": [1, true], "labels": [1, 2]}', "SHD001", "input_ids[1] is a boolean"),
        (b'{"input_ids": ["1"], "labels": [1]}', "SHD001", "input_ids[0] is a string"),
        (b'{"input_ids": [[1]], "labels": [1]}', "SHD001", "input_ids[0] is a list, expected integers"),
        (b'{"input_ids": [{}], "labels": [1]}', "SHD001", "input_ids[0] is an object"),
        (b'{"input_ids": 7, "labels": [1]}', "SHD001", "input_ids is a single value, expected a list"),
        (b'{"input_ids": "7", "labels": [1]}', "SHD001", "input_ids is a single value"),
        (b'{"input_ids": [9223372036854775808], "labels": [1]}', "SHD001", "beyond int64"),
        (b'{"input_ids": [' + b"9" * 5000 + b'], "labels": [1]}', "SHD001", "limit"),
        (b'{"input_ids": ' + b"[" * 100_000, "SHD001", "nested too deeply"),
        (b'{"input_ids": [1], "labels": ["\xff"]}', "SHD001", "utf-8"),
        (b"\0\0\0", "SHD001", ""),
    ],
)
def test_a_bad_line_is_a_fault_of_its_own(tmp_path: Path, line: bytes, code: str, message: str) -> None:
    path = write(tmp_path, GOOD, b"\n", GOOD, line + b"\n", GOOD)
    numbers, columns, [fault] = read(open_one(path))
    assert numbers == [0, 2, 4]
    assert columns[Role.INPUT_IDS] == [[1, 2]] * 3
    assert (fault.code, fault.row) == (code, 3)
    assert fault.message.startswith(f"byte {2 * len(GOOD) + 1}: ")
    assert message in fault.message
    assert "\n" not in fault.message


def test_the_last_line(tmp_path: Path) -> None:
    whole = GOOD.rstrip()
    assert read(open_one(write(tmp_path, GOOD, whole)))[0] == [0, 1]
    for n_bytes in range(1, len(whole)):
        path = write(tmp_path, GOOD, whole[:n_bytes])
        numbers, _, [fault] = read(open_one(path))
        assert numbers == [0]
        assert fault.row == 1
        assert "the last line is cut off" in fault.message
        assert path.stat().st_size == len(GOOD) + n_bytes
    assert open_one(path).parts()[0].n_rows == 2


def test_many_bad_lines_are_counted_exactly(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, *[b"{}\n"] * 500, *[b'{"input_ids": null, "labels": []}\n'] * 3)
    numbers, _, faults = read(open_one(path))
    assert numbers == [0]
    assert len(faults) < 50
    assert sum(f.n_hits for f in faults if f.code == "SHD001") == 500
    assert sum(f.n_hits for f in faults if f.code == "SHD005") == 3


def test_one_odd_row_at_the_beginning_does_not_decide(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"input_ids": [1.5], "labels": null}\n', GOOD, GOOD)
    numbers, _, [fault] = read(open_one(path))
    assert (numbers, fault.row) == ([1, 2], 0)


def test_weights_may_be_floats_or_booleans(tmp_path: Path) -> None:
    lines = [
        b'{"input_ids": [1, 2], "loss_mask": [0, 0.5]}\n',
        b'{"input_ids": [1, 2], "loss_mask": [true, false]}\n',
        b'{"input_ids": [1, 2], "loss_mask": [0, NaN]}\n',
    ]
    numbers, columns, faults = read(open_one(write(tmp_path, *lines)))
    assert (numbers, faults) == ([0, 1, 2], [])
    assert columns[Role.LOSS_MASK][:2] == [[0.0, 0.5], [1.0, 0.0]]
    assert str(columns[Role.LOSS_MASK][2][1]) == "nan"


def test_two_masks_are_multiplied(tmp_path: Path) -> None:
    lines = [
        b'{"input_ids": [1, 2], "completion_mask": [0, 1], "assistant_masks": [1, 1]}\n',
        b'{"input_ids": [1, 2], "completion_mask": [0, 1], "assistant_masks": [1]}\n',
    ]
    _, columns, [fault] = read(open_one(write(tmp_path, *lines)))
    assert columns[Role.LOSS_MASK] == [[0, 1]]
    assert (fault.code, fault.row) == ("SHD002", 1)


def test_columns_of_other_names(tmp_path: Path) -> None:
    shard = open_one(write(tmp_path, b'{"tok": [1, 2], "lens": [2]}\n'), input_ids="tok", seq_lens="lens")
    assert read(shard)[1] == {Role.INPUT_IDS: [[1, 2]], Role.SEQ_LENS: [[2]]}


def test_columns_of_unlike_length_are_left_to_the_next_step(tmp_path: Path) -> None:
    columns = read(open_one(write(tmp_path, GOOD, b'{"input_ids": [1], "labels": [1, 2]}\n')))[1]
    assert columns == {Role.INPUT_IDS: [[1, 2], [1]], Role.LABELS: [[-100, 2], [1, 2]]}


def test_only_the_columns_asked_for_are_read(tmp_path: Path) -> None:
    shard = open_one(write(tmp_path, GOOD, b'{"input_ids": [3]}\n'))
    [raw] = shard.rows(shard.parts()[0], frozenset({Role.INPUT_IDS}), 100)
    assert raw.columns.keys() == {Role.INPUT_IDS}
    assert raw.faults == ()


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, GOOD, b'{"input_ids": [1' + b" " * 200 + b"]}\n", GOOD)
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 60)
    numbers, _, [fault] = read(open_one(path))
    assert numbers == [0, 2]
    assert (fault.row, "longer than 60 bytes" in fault.message) == (1, True)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GOOD, True),
        (b"\xef\xbb\xbf" + GOOD, True),
        (b"\n\n  " + GOOD, True),
        (b'{"labels": [' + b"-100, " * 3000 + b'1], "tokens": [1]}\n', True),
        (b'{"tokens": [1, 2', True),
        (b'{"text": "some words"}\n' + GOOD, False),
        (b'{"text": ["some", "words"]}\n', False),
        (b'{"bbox": [1, 2]}\n', False),
        (b"[1, 2]\n", False),
        (b"", False),
        (b"PAR1", False),
    ],
)
def test_sniff_goes_by_content(tmp_path: Path, content: bytes, expected: bool) -> None:
    assert sniff(write(tmp_path, content)) is expected


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    assert read(open_one(write(tmp_path, b"\xef\xbb\xbf" + GOOD)))[0] == [0]


def test_a_file_without_rows_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="no JSON object"):
        open_one(write(tmp_path, b'{"input_ids": [1, 2\n', b"\n"))
    with pytest.raises(UnreadableError, match="no column of token ids"):
        open_one(write(tmp_path, b'{"words": ["a"]}\n'))


@given(data=st.binary(max_size=80))
def test_any_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = write(tmp_path_factory.mktemp("x"), GOOD, data)
    shard = open_one(path)
    numbers, _, faults = read(shard)
    assert numbers[0] == 0
    assert len(numbers) + sum(f.n_hits for f in faults) <= shard.parts()[0].n_rows
