"""Packed sets of Pai-Megatron-Patch: a writer after its source, recognition by content, and damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packlint.readers.megatron import MegatronReader, MegatronShard
from packlint.readers.megatron.pai import PaiShard
from packlint.readers.shard import Role, Settings, Shard
from packlint.readers.source import Source
from tests.readers.file_checks import (
    Lists,
    batches,
    counts,
    entries,
    read,
    reference,
    segments,
    survives_damage,
)
from tests.readers.test_megatron import write as write_sequences

PAD = 0


def pack(samples: list[tuple[list[int], int]], length: int) -> Lists:
    """Return sequences of tokens and labels as `Encoder.encode` packs samples, in their order.

    Args:
        samples: ids, and how many of them are the prompt.
        length: tokens per pack.
    """
    packs: Lists = []
    tokens: list[int] = []
    labels: list[int] = []
    for ids, n_prompt in samples:
        if len(tokens) + len(ids) > length:
            packs.append(filled(tokens, labels, length))
            tokens, labels = [], []
        tokens += [*ids[:-1], -1 - ids[-1]]
        labels += [-100] * (n_prompt - 1) + ids[n_prompt:] + [-100]
    packs.append(filled(tokens, labels, length))
    return packs


def filled(tokens: list[int], labels: list[int], length: int) -> list[int]:
    n_rest = length - len(tokens)
    return [*tokens, *[PAD] * n_rest, *labels, *[-100] * n_rest]


def write(folder: Path, samples: list[tuple[list[int], int]], length: int, dtype: str = "int32") -> Path:
    return write_sequences(folder / "toy_text_document", pack(samples, length), dtype)


def small_file(folder: Path) -> list[Path]:
    """Write a small valid input of the format."""
    path = write(folder, [([1, 5, 2], 1), ([1, 6, 7, 2], 2), ([1, 8, 2], 1)], 8)
    return [path, path.with_suffix(".bin")]


def open_one(path: Path, max_seq_len: int | None = None) -> Shard:
    [shard] = MegatronReader().open(Source(str(path)), path.name, Settings(max_seq_len=max_seq_len))
    return shard


def toy() -> list[tuple[list[int], int]]:
    prompts = reference("sft", "prompt_ids")
    return [(ids, len(prompt)) for ids, prompt in zip(reference("sft"), prompts, strict=True)]


def test_the_toy_data_packed_and_read(tmp_path: Path) -> None:
    path = write(tmp_path, toy(), 128)
    n_packs = len(pack(toy(), 128))
    [entry] = entries(path)
    assert (entry.format, entry.trainer) == ("megatron", "pai-megatron")
    assert counts(path) == [(n_packs, 24, 128 * n_packs, 128 * n_packs - 798, 313, 0)]
    [batch] = batches(path)
    assert sorted(segments(batch)) == sorted(reference("sft"))
    assert batch.spec.max_seq_len is not None
    assert batch.spec.max_seq_len.value == 128


_samples = st.lists(
    st.integers(2, 9).flatmap(
        lambda n: st.tuples(st.lists(st.integers(1, 90), min_size=n, max_size=n), st.integers(1, n - 1))
    ),
    min_size=1,
    max_size=9,
)


@given(
    samples=_samples,
    length=st.integers(9, 24),
    dtype=st.sampled_from(["int16", "int32", "int64"]),
    block=st.integers(1, 50),
    window=st.none() | st.integers(1, 9),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    samples: list[tuple[list[int], int]],
    length: int,
    dtype: str,
    block: int,
    window: int | None,
) -> None:
    shard = open_one(write(tmp_path_factory.mktemp("x"), samples, length, dtype), window)
    assert isinstance(shard, PaiShard)
    numbers, columns, faults = read(shard, block)
    packs = pack(samples, length)
    assert (numbers, faults) == (list(range(len(packs))), [])
    assert columns[Role.LABELS] == [row[length:] for row in packs]
    assert columns[Role.INPUT_IDS] == [[t if t >= 0 else -1 - t for t in row[:length]] for row in packs]
    starts = [[0, *(i + 1 for i, t in enumerate(row[:length]) if t < 0 and i + 1 < length)] for row in packs]
    assert columns[Role.CU_SEQLENS] == [[*row, length] for row in starts]
    lengths = [np.diff([*row, length]).tolist() for row in starts]
    assert columns[Role.SEQ_LENS] == lengths


@pytest.mark.parametrize(
    "sequences",
    [
        [[1, 2, 3, 4], [1, 2, 3, 4]],  # no negative ids
        [[1, -2, 3, 4], [1, -2, 3, 4]],  # no ignored labels
        [[1, 2, -100, -100], [1, 2, -100, -100]],  # labels, and no marks
        [[1, -2, -100, 2], [1, -2, -100]],  # lengths that differ
        [[1, -2, -100]],  # an odd length
        [[-100, -100, -100, -100]],  # labels only
        [[1, -2, -100, -200]],  # other negative labels
        [],
    ],
)
def test_other_sets_are_no_packs(tmp_path: Path, sequences: Lists) -> None:
    shard = open_one(write_sequences(tmp_path / "a", sequences, "int32"))
    assert isinstance(shard, MegatronShard)


def test_damage(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    survives_damage(files, lambda: MegatronReader().open(Source(str(files[0])), "a", Settings()), n_flips=150)
