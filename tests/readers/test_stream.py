"""Documents, windows and blocks of a stream against brute force, whatever the block and section sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError, UsageError
from packlint.model.batch import Unit
from packlint.model.spec import DatasetSpec
from packlint.readers.shard import Role, Settings
from packlint.readers.source import Source
from packlint.readers.stream import (
    Held,
    Marks,
    Stored,
    Stream,
    StreamKind,
    StreamShard,
    WindowRule,
    check_documents,
    documents,
    marks,
    open_stream,
    rows,
    wanted_window,
)
from tests.readers.stream_checks import Lists, chained, read, windows

KIND = StreamKind(format="toy", producer="toy", trainer="llm-c", documents="ends", loss="loss")

_documents = st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=12)


def shard(
    tokens: list[int],
    ends: list[int] | None = None,
    window: WindowRule | None = None,
    told: Marks | None = None,
    loss: list[int] | None = None,
) -> StreamShard:
    record, faults = None, ()
    if ends is not None:
        record, faults = check_documents(Held(np.array(ends, np.uint64)), len(tokens), "ends")  # type: ignore[assignment]
    stream = Stream(
        tokens=Held(np.array(tokens, np.uint16)),
        documents=record,
        loss=None if loss is None else Held(np.array(loss, np.uint8)),
        marks=told or Marks(),
    )
    return open_stream(
        KIND, "toy", stream, spec=DatasetSpec(), evidence=[], n_bytes=0, window=window, faults=faults
    )


def ends_of(found: Lists) -> list[int]:
    return np.cumsum([len(document) for document in found], dtype=np.int64).tolist() if found else []


# --- documents ---


@settings(deadline=None)
@given(found=_documents, block=st.integers(1, 20))
def test_documents_are_rows(found: Lists, block: int) -> None:
    stream = shard(chained(found), ends_of(found))
    numbers, columns, faults = read(stream, block)
    assert stream.layout.unit is Unit.DOCUMENT
    assert (numbers, faults) == (list(range(len(found))), [])
    assert columns.get(Role.INPUT_IDS, []) == found
    assert columns.get(Role.DOCUMENT_STARTS, []) == [[0]] * len(found)


@settings(deadline=None)
@given(found=_documents, window=st.none() | st.integers(1, 12))
def test_sections_change_nothing(found: Lists, window: int | None) -> None:
    rule = None if window is None else WindowRule(length=window, step=window)
    whole = read(shard(chained(found), ends_of(found), rule))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "SECTION_TOKENS", 7)
        patch.setattr("packlint.readers.stream.shard.SECTION_TOKENS", 7)
        patch.setattr(documents, "_SCAN_DOCUMENTS", 3)
        assert read(shard(chained(found), ends_of(found), rule)) == whole


def test_long_documents_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "PIECE_TOKENS", 4)
    found = [[9], list(range(9)), [], [8] * 4]
    numbers, columns, _ = read(shard(chained(found), ends_of(found)))
    assert numbers == [0, 1, 1, 1, 2, 3]
    assert columns[Role.INPUT_IDS] == [[9], [0, 1, 2, 3], [4, 5, 6, 7], [8], [], [8] * 4]


def test_only_documents_above_64_mi_tokens_are_cut() -> None:
    assert rows.PIECE_TOKENS == marks.MAX_STRETCH_TOKENS == 64 << 20


def test_the_loss_goes_with_the_tokens() -> None:
    for window in (None, WindowRule(length=2, step=2), WindowRule(length=3, step=1)):
        stream = shard([5, 6, 7], [2, 3], window, loss=[0, 1, 1])
        columns = read(stream)[1]
        assert stream.layout.columns[Role.LOSS_MASK] == "loss"
        pairs = {5: 0, 6: 1, 7: 1}
        assert columns[Role.LOSS_MASK] == [[pairs[t] for t in row] for row in columns[Role.INPUT_IDS]]


@pytest.mark.parametrize(
    ("ends", "expected", "code", "message"),
    [
        ([2, 3], [[0, 1], [2], [3, 4]], "SHD006", "ends ends at token 3, but there are 5 tokens"),
        ([], [[0, 1, 2, 3, 4]], "SHD006", "ends ends at token 0, but there are 5 tokens"),
        ([2, 7, 9], [[0, 1], [2, 3, 4]], "SHD006", "ends ends at token 9, but there are 5 tokens"),
        ([3, 2, 5], [[0, 1, 2, 3, 4]], "SHD001", "ends: entry 1 is 2, less than the 3 before it"),
        ([1 << 63], [[0, 1, 2, 3, 4]], "SHD001", "entry 0 is 9223372036854775808, less than the 0"),
    ],
)
def test_wrong_ends_are_reported(ends: list[int], expected: Lists, code: str, message: str) -> None:
    stream = shard([0, 1, 2, 3, 4], ends)
    _, columns, [fault] = read(stream)
    assert columns[Role.INPUT_IDS] == expected
    assert (Role.DOCUMENT_STARTS in stream.layout.columns) == (code == "SHD006")
    assert fault.code == code
    assert message in fault.message


@settings(deadline=None)
@given(ends=st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9)), base=st.integers(0, 9))
def test_any_ends_give_rows_that_cover_the_stream(ends: list[int], base: int) -> None:
    found, _ = check_documents(Held(np.array(ends, np.uint64)), 6, "ends", base=base, unit=2)
    if found is not None:
        edges = found.edges(0, found.n_documents)
        assert edges[0] == 0
        assert edges[-1] == 6
        assert (np.diff(edges) >= 0).all()


# --- windows ---


@settings(deadline=None)
@given(found=_documents, length=st.integers(1, 12), block=st.integers(1, 20))
def test_windows_against_brute_force(found: Lists, length: int, block: int) -> None:
    stream = shard(chained(found), ends_of(found), WindowRule(length=length, step=length))
    numbers, columns, faults = read(stream, block)
    cut, starts = windows(found, length)
    assert stream.layout.unit is Unit.PACK
    assert (numbers, faults) == (list(range(len(cut))), [])
    assert columns.get(Role.INPUT_IDS, []) == cut
    assert columns.get(Role.DOCUMENT_STARTS, []) == starts


@settings(deadline=None)
@given(
    found=_documents,
    length=st.integers(1, 6),
    step=st.integers(1, 8),
    keeps=st.booleans(),
    block=st.integers(1, 9),
)
def test_windows_that_overlap_or_leave_gaps(
    found: Lists, length: int, step: int, keeps: bool, block: int
) -> None:
    tokens = chained(found)
    rule = WindowRule(length=length, step=step, keeps_last=keeps)
    numbers, columns, _ = read(shard(tokens, ends_of(found), rule), block)
    places = range(0, len(tokens), step)
    cut = [list(range(a, min(a + length, len(tokens)))) for a in places]
    whole = [row for row in cut if len(row) == length]
    done = whole[-1][-1] + 1 if whole else 0
    if keeps and done < len(tokens) and len(whole) < len(cut):
        whole.append(cut[len(whole)])
    first = set(ends_of(found))
    assert len(numbers) == len(whole) == rule.n_rows(len(tokens))
    assert columns.get(Role.INPUT_IDS, []) == [[tokens[i] for i in row] for row in whole]
    starts = [[i for i, at in enumerate(row) if i == 0 or at in first] for row in whole]
    assert columns.get(Role.DOCUMENT_STARTS, []) == starts


def test_what_is_left_is_said() -> None:
    rule = WindowRule(length=4, step=4, manner="as toys cut")
    assert rule.evidence(8) == "windows of 4 tokens in file order, as toys cut"
    assert rule.evidence(9).endswith(
        "the 1 tokens after the last whole window make a shorter last row, and training drops them"
    )


def test_a_wanted_window_must_be_positive_and_may_be_absurd() -> None:
    assert wanted_window(Settings(), manner="") is None
    with pytest.raises(UsageError, match="max_seq_len"):
        wanted_window(Settings(max_seq_len=0), manner="")
    with pytest.raises(UsageError, match="cannot be cut"):
        WindowRule(length=1, step=0)
    huge = wanted_window(Settings(max_seq_len=1 << 200), extra=1, manner="")
    assert read(shard([1, 2, 3], None, huge))[1][Role.INPUT_IDS] == [[1, 2, 3]]


# --- blocks ---


@settings(deadline=None)
@given(tokens=st.lists(st.integers(0, 5), max_size=40), block=st.integers(1, 9), size=st.integers(1, 6))
@pytest.mark.parametrize("told", [Marks(), Marks(ends=(1,)), Marks(ends=(1, 2)), Marks(begins=(3, 4))])
def test_blocks_end_where_documents_do(tokens: list[int], told: Marks, block: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "BLOCK_ROW_TOKENS", size)
        patch.setattr("packlint.readers.stream.shard.BLOCK_ROW_TOKENS", size)
        patch.setattr("packlint.readers.stream.shard.SECTION_TOKENS", 2 * size)
        patch.setattr(marks, "_FIRST_SCAN_TOKENS", 1)
        stream = shard(tokens, told=told)
        numbers, columns, _ = read(stream, block)
    cut = columns.get(Role.INPUT_IDS, [])
    assert Role.DOCUMENT_STARTS not in stream.layout.columns
    assert chained(cut) == tokens
    assert numbers == sorted(set(numbers))
    begins = np.cumsum([0, *map(len, cut)])[:-1].tolist()
    for number, begin in zip(numbers, begins, strict=True):
        nominal = number * size
        places = range(nominal, len(tokens) + 1)
        is_start = [p for p in places if _begins_document(tokens, p, told)] if told else [nominal]
        assert begin == is_start[0]


def _begins_document(tokens: list[int], place: int, told: Marks) -> bool:
    if place in (0, len(tokens)):
        return True
    return tokens[place - 1] in told.ends or tokens[place] in told.begins


def test_blocks_do_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BLOCK_ROW_TOKENS", 4)
    monkeypatch.setattr("packlint.readers.stream.shard.BLOCK_ROW_TOKENS", 4)
    monkeypatch.setattr(marks, "MAX_STRETCH_TOKENS", 10)
    cut = read(shard([0] * 50, told=Marks(ends=(7,))))[1][Role.INPUT_IDS]
    assert chained(cut) == [0] * 50
    assert max(map(len, cut)) == 14


def test_which_tokens_were_told() -> None:
    assert Marks.told(Settings()) == Marks()
    assert Marks.told(Settings(eos_ids=(2,), bos_id=1)) == Marks(ends=(2,))
    assert Marks.told(Settings(bos_id=1)) == Marks(begins=(1,))
    assert Marks.told(Settings(eos_ids=(2,), bos_id=1), prepended=True) == Marks(begins=(2, 1))


def test_an_empty_stream_still_reports() -> None:
    stream = shard([], [3])
    assert [fault.code for fault in read(stream)[2]] == ["SHD006"]
    assert sum(part.n_rows for part in stream.parts()) == 0


def test_a_file_that_shrank_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("set") / "toy.bin"
    path.write_bytes(bytes(64))
    stored = Stored(Source(str(path)), "<u2", 0, 32)
    assert stored.view().size == 32
    path.write_bytes(bytes(10))
    with pytest.raises(UnreadableError, match=r"toy\.bin"):
        Stored(stored.source, "<u2", 0, 32).view()
