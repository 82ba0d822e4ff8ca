"""Data in memory: batches by real collators, rows, loaders, tables, and data sets."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from packlint.errors import UnreadableError, UsageError
from packlint.model.contract import LabelAlignment
from packlint.readers.memory import items, open_memory
from packlint.readers.shard import Fault, Role, Settings, Shard

SAMPLES = Path(__file__).parents[1] / "samples"

Lists = list[list[Any]]
Read = tuple[list[int], dict[Role, Lists], list[Fault]]


class Tensor:
    """Behaves like a torch tensor as far as readers ask."""

    def __init__(self, values: Any, has_numpy_type: bool = True) -> None:
        self._values = np.asarray(values)
        self._has_numpy_type = has_numpy_type

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(self._values.astype(np.float32))

    def numpy(self) -> Any:
        if not self._has_numpy_type:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._values

    def __iter__(self) -> Iterator[Tensor]:
        raise AssertionError("tensors are not iterated over")


class Dataset:
    """Behaves like `datasets.Dataset` as far as readers ask."""

    def __init__(
        self, table: pa.Table, indices: list[int] | None = None, columns: list[str] | None = None
    ) -> None:
        self.data = self
        self.table = table
        self._indices = list(range(table.num_rows)) if indices is None else indices
        self._columns = columns

    def __len__(self) -> int:
        return len(self._indices)

    def with_format(self, kind: str, columns: list[str] | None = None) -> Dataset:
        assert kind == "arrow"
        return Dataset(self.table, self._indices, columns)

    def __getitem__(self, key: slice) -> pa.Table:
        return self.table.select(self._columns or []).take(self._indices[key])


def open_one(obj: object, **columns: str) -> Shard:
    [shard] = open_memory(obj, "batch", Settings(columns=columns))
    return shard


def read(shard: Shard, block_tokens: int = 1000) -> Read:
    numbers: list[int] = []
    columns: dict[Role, Lists] = {}
    faults: list[Fault] = []
    for part in shard.parts():
        for raw in shard.rows(part, frozenset(Role), block_tokens):
            numbers += raw.row_numbers.tolist()
            faults += raw.faults
            for role, column in raw.columns.items():
                assert column.n_rows == raw.row_numbers.size
                bounds = zip(column.offsets[:-1], column.offsets[1:], strict=True)
                columns.setdefault(role, []).extend(column.values[a:b].tolist() for a, b in bounds)
    return numbers, columns, faults


def load(sample: str, file: str = "batch.npz", prefix: str = "") -> dict[str, Any]:
    with np.load(SAMPLES / sample / file) as stored:
        return {k.removeprefix(prefix): stored[k] for k in stored if k.startswith(prefix)}


# --- batches by real collators ---


@pytest.mark.parametrize(
    ("sample", "n_tokens", "cuts"),
    [
        ("hf_flattening_batch", 150, [0, 40, 77, 114, 150]),
        ("trl_padding_free_batch", 350, [0, 46, 86, 125, 164, 202, 239, 276, 313, 350]),
    ],
)
def test_flattened_batches(sample: str, n_tokens: int, cuts: list[int]) -> None:
    batch = load(sample)
    shard = open_one(batch)
    numbers, columns, faults = read(shard)
    assert shard.layout.trainer == "transformers-flattening"
    assert (numbers, faults) == ([0], [])
    assert shard.parts()[0].n_rows == 1
    assert columns[Role.CU_SEQLENS] == [cuts]
    assert columns[Role.INPUT_IDS] == batch["input_ids"].tolist()
    assert {len(columns[role][0]) for role in columns if role.is_token_parallel} == {n_tokens}
    assert {Role.SEGMENT_IDS, Role.POSITION_IDS, Role.LABELS} <= columns.keys()


def test_maxtext() -> None:
    batch = load("maxtext_batch")
    shard = open_one(batch)
    numbers, columns, faults = read(shard)
    assert (shard.layout.trainer, shard.layout.alignment) == ("maxtext", LabelAlignment.PRESHIFTED)
    assert (numbers, faults) == (list(range(9)), [])
    assert columns[Role.LABEL_SEGMENT_IDS] == batch["targets_segmentation"].tolist()


@pytest.mark.parametrize("file", ["v1.npz", "v2.npz"])
def test_axolotl(file: str) -> None:
    batch = load("axolotl_multipack_batch", file)
    numbers, columns, faults = read(open_one(batch))
    assert (numbers, faults) == ([0, 1], [])
    assert columns[Role.ATTENTION_MASK] == batch["attention_mask"].tolist()


@pytest.mark.parametrize("prefix", ["default.", "reset."])
def test_megatron_rows_with_a_dense_mask(prefix: str) -> None:
    batch = load("megatron_gptdataset_rows", "rows.npz", prefix)
    shard = open_one(batch)
    numbers, columns, faults = read(shard, 100)
    assert (numbers, faults) == (list(range(15)), [])
    assert shard.layout.trainer == "megatron"
    assert shard.layout.dense_mask_blocks
    assert Role.ATTENTION_MASK not in columns
    assert columns[Role.DENSE_MASK] == batch["attention_mask"].tolist()
    assert columns[Role.LOSS_MASK] == batch["loss_mask"].tolist()


# --- shapes ---


def test_one_row() -> None:
    numbers, columns, faults = read(open_one({"input_ids": [1, 2, 3], "labels": np.array([-100, 2, 3])}))
    assert (numbers, faults) == ([0], [])
    assert columns == {Role.INPUT_IDS: [[1, 2, 3]], Role.LABELS: [[-100, 2, 3]]}


@pytest.mark.parametrize(
    "ids",
    [
        [[1, 2], [3]],
        [np.array([1, 2]), np.array([3])],
        [Tensor([1, 2]), Tensor([3])],
        ([1, 2], (3,)),
        np.array([[1, 2], [3]], object),
        np.array([np.array([1, 2]), np.array([3])], object),
    ],
)
def test_ragged_rows(ids: object) -> None:
    shard = open_one({"input_ids": ids, "seq_lens": [[1, 1], [1]], "id": [7, 8], "note": ["a", "b"]})
    numbers, columns, faults = read(shard)
    assert (numbers, faults) == ([0, 1], [])
    assert columns == {
        Role.INPUT_IDS: [[1, 2], [3]],
        Role.SEQ_LENS: [[1, 1], [1]],
        Role.SAMPLE_IDS: [[7], [8]],
    }


def test_types_are_kept() -> None:
    shard = open_one({"input_ids": np.array([[1, 2]], np.uint16), "loss_mask": np.ones((1, 2), np.bool_)})
    [raw] = shard.rows(shard.parts()[0], frozenset(Role), 10)
    assert raw.columns[Role.INPUT_IDS].values.dtype == np.uint16
    assert raw.columns[Role.LOSS_MASK].values.dtype == np.bool_


def test_tensors_and_other_mappings() -> None:
    batch = UserDict(
        input_ids=Tensor([[1, 2]]),
        loss_mask=Tensor([[0.0, 0.5]], has_numpy_type=False),
        max_length_q=Tensor(2),
    )
    _, columns, faults = read(open_one(batch))
    assert faults == []
    assert columns == {Role.INPUT_IDS: [[1, 2]], Role.LOSS_MASK: [[0.0, 0.5]]}


@pytest.mark.parametrize(
    "mask",
    [
        np.tri(2, dtype=bool)[None, None].repeat(2, 0),
        np.tri(2, dtype=bool)[None].repeat(2, 0),
        np.tri(2, dtype=np.int64)[None, None].repeat(2, 0),
        np.tri(2, dtype=bool)[None, None],
        [[[1, 0], [1, 1]]] * 2,
    ],
)
def test_dense_masks(mask: object) -> None:
    shard = open_one({"input_ids": [[1, 2], [3, 4]], "attention_mask": mask})
    [raw] = shard.rows(shard.parts()[0], frozenset(Role), 100)
    stored = raw.columns[Role.DENSE_MASK]
    assert stored.values.dtype == np.bool_
    assert stored.values.tolist() == [[[True, False], [True, True]]] * 2
    assert stored.offsets.tolist() == [0, 1, 2]


def test_dense_masks_of_unlike_size_are_not_stacked() -> None:
    rows = [{"input_ids": [1] * n, "attention_mask": np.tri(n, dtype=bool)} for n in (2, 2, 3)]
    shard = open_one(rows)
    shapes = [
        raw.columns[Role.DENSE_MASK].values.shape
        for raw in shard.rows(shard.parts()[0], frozenset(Role), 1000)
    ]
    assert shapes == [(2, 2, 2), (1, 3, 3)]


def test_positions_shared_by_all_rows() -> None:
    batch = {"input_ids": [[1, 2], [3, 4]], "position_ids": np.arange(2)[None]}
    assert read(open_one(batch))[1][Role.POSITION_IDS] == [[0, 1], [0, 1]]


# --- rows and loaders ---

ROWS = [{"input_ids": [1, 2], "len": 2}, {"input_ids": [3], "len": 1}, {"input_ids": [4, 5, 6], "len": 3}]
BATCHES = [{"input_ids": np.array([[1, 2], [3, 4]])}, {"input_ids": np.array([[5, 6]])}]


def test_a_list_of_rows() -> None:
    shard = open_one(ROWS)
    numbers, columns, _ = read(shard, 2)
    assert numbers == [0, 1, 2]
    assert columns[Role.INPUT_IDS] == [[1, 2], [3], [4, 5, 6]]
    assert shard.parts()[0].n_rows == 3


def test_a_loader_is_read_anew_each_time() -> None:
    class Loader:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return iter(BATCHES)

    shard = open_one(Loader())
    assert read(shard) == read(shard)
    assert read(shard)[0] == [0, 1, 2]
    assert read(shard)[1][Role.INPUT_IDS] == [[1, 2], [3, 4], [5, 6]]


def test_an_iterator_survives_a_look() -> None:
    shard = open_one(iter(ROWS * 10))
    [part] = shard.parts()
    look = shard.rows(part, frozenset(Role), 1)
    next(look)
    next(look)
    del look
    assert read(shard)[0] == list(range(30))
    assert read(shard)[0] == list(range(30))


def test_an_iterator_is_not_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "MAX_KEPT_BYTES", 400)
    shard = open_one(iter(ROWS * 100))
    assert len(read(shard)[0]) == 300
    with pytest.raises(UnreadableError, match="only once"):
        read(shard)


def test_an_iterator_is_pulled_lazily() -> None:
    pulled = []

    def source() -> Iterator[dict[str, Any]]:
        for i in range(1000):
            pulled.append(i)
            yield {"input_ids": [i] * 10}

    shard = open_one(source())
    next(shard.rows(shard.parts()[0], frozenset(Role), 100))
    assert len(pulled) < 20


@pytest.mark.parametrize("is_iterator", [True, False])
def test_a_loader_that_raises(is_iterator: bool) -> None:
    def source() -> Iterator[dict[str, Any]]:
        yield from ROWS * 5
        raise ValueError("worker died")

    class Loader:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return source()

    with pytest.raises(UnreadableError, match="item 15 could not be had: ValueError: worker died"):
        read(open_one(source() if is_iterator else Loader()))


# --- tables and data sets ---

TABLE = pa.table({"input_ids": [[1, 2], [3], [4, 5, 6]], "labels": [[1, 2], [3], [4, 5, 6]], "n": [1, 2, 3]})


@pytest.mark.parametrize("obj", [TABLE, TABLE.to_batches()[0], Dataset(TABLE)])
def test_tables(obj: object) -> None:
    shard = open_one(obj)
    numbers, columns, faults = read(shard, 2)
    assert (numbers, faults) == ([0, 1, 2], [])
    assert columns[Role.INPUT_IDS] == [[1, 2], [3], [4, 5, 6]]
    assert shard.format == "memory"
    assert shard.n_bytes == 0


def test_a_chunked_table_of_many_rows() -> None:
    table = pa.concat_tables([TABLE] * 7000)
    shard = open_one(table)
    numbers, columns, _ = read(shard, 5000)
    assert numbers == list(range(21000))
    assert columns[Role.LABELS] == [[1, 2], [3], [4, 5, 6]] * 7000
    assert len(shard.parts()) == 2


def test_an_indices_mapping_is_respected() -> None:
    shard = open_one(Dataset(TABLE, [2, 0]))
    assert read(shard)[1][Role.INPUT_IDS] == [[4, 5, 6], [1, 2]]


def test_a_dataset_dict_gives_a_shard_per_split() -> None:
    shards = list(open_memory({"train": Dataset(TABLE), "test": Dataset(TABLE, [1])}, "data", Settings()))
    assert [shard.name for shard in shards] == ["data/test", "data/train"]


def test_columns_of_other_names() -> None:
    for obj in (pa.table({"tok": [[1]]}), {"tok": [[1]]}, [{"tok": [1]}]):
        assert read(open_one(obj, input_ids="tok"))[1] == {Role.INPUT_IDS: [[1]]}


# --- what is wrong ---


@pytest.mark.parametrize(
    ("item", "code", "message"),
    [
        ({"labels": [1]}, "SHD001", "item 3: there is no input_ids"),
        ({"input_ids": [1]}, "SHD001", "there is no labels"),
        ({"input_ids": None, "labels": [1]}, "SHD005", "input_ids is null"),
        ({"input_ids": [1], "labels": None}, "SHD005", "labels is null"),
        ({"input_ids": [1, None], "labels": [1, 2]}, "SHD005", "input_ids[1] is null"),
        ({"input_ids": np.array([1.0]), "labels": [1]}, "SHD001", "input_ids holds float64"),
        ({"input_ids": [2**63], "labels": [1]}, "SHD001", "beyond int64"),
        ({"input_ids": 3, "labels": [1]}, "SHD001", "input_ids has 0 axes"),
        ({"input_ids": np.zeros((1, 1, 1), int), "labels": [1]}, "SHD001", "input_ids has 3 axes"),
        ("text", "SHD001", "it is a str, expected a mapping"),
    ],
)
def test_a_bad_item_is_a_fault_of_its_own(item: object, code: str, message: str) -> None:
    good = {"input_ids": [1, 2], "labels": [1, 2]}
    numbers, columns, [fault] = read(open_one([good, good, good, item, good]))
    assert numbers == [0, 1, 2, 4]
    assert columns[Role.INPUT_IDS] == [[1, 2]] * 4
    assert (fault.code, fault.row) == (code, 3)
    assert message in fault.message


def test_a_batch_with_too_few_labels() -> None:
    good = {"input_ids": [[1, 2], [3, 4]], "labels": [[1, 2], [3, 4]]}
    numbers, _, faults = read(open_one([good, good | {"labels": [[1, 2]]}, good]))
    assert numbers == [0, 1, 4, 5]
    assert [(f.code, f.row) for f in faults] == [("SHD002", 2), ("SHD002", 3)]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((2, 2, 2), bool), "has the shape (2, 2, 2) in a row"),
        (np.ones((3, 3), bool), "is 3 by 3 for 2 token ids"),
        (np.zeros((2, 2)), "holds float64, expected integers or booleans"),
        (np.full((2, 2), 5), "other numbers than 0 and 1"),
    ],
)
def test_a_bad_dense_mask(mask: Any, message: str) -> None:
    good = {"input_ids": [[1, 2]], "attention_mask": np.ones((1, 1, 2, 2), bool)}
    _, _, [fault] = read(open_one([good, good, {"input_ids": [[1, 2]], "attention_mask": mask[None]}]))
    assert message in fault.message


def test_rows_that_are_all_bad_give_blocks_too() -> None:
    good = {"input_ids": [1]}
    shard = open_one([good] + [{}] * 300)
    numbers, _, faults = read(shard)
    assert numbers == [0]
    assert sum(f.n_hits for f in faults) == 300


@pytest.mark.parametrize("obj", [3, "text", b"bytes", None, object()])
def test_other_objects_are_a_usage_error(obj: object) -> None:
    with pytest.raises(UsageError, match="cannot check a"):
        open_memory(obj, "x", Settings())


@pytest.mark.parametrize("obj", [[], {}, {"words": ["a"]}, [1, 2], pa.table({"a": [1]})])
def test_data_without_token_ids_is_unreadable(obj: object) -> None:
    with pytest.raises(UnreadableError):
        open_memory(obj, "x", Settings())
