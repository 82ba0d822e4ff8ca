"""What real packers wrote, against what they were given: the books balance, and what is missing is known.

`shared/FORMATS.md` and the README of each sample say what its packer does; where it is not "24 whole copies",
the table says why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from packlint.config import parse_config
from packlint.conventions import reader_settings
from packlint.engine.plan import plan_shards
from packlint.executors import local
from packlint.matching import compare, plan_samples
from packlint.readers import open_memory, open_shards
from packlint.readers.shard import Shard
from packlint.summaries.reconciliation import Balance, Reconciliation
from tests.readers.file_checks import SAMPLES, Lists, reference
from tests.readers.test_samples import TABLE


@dataclass(frozen=True, kw_only=True)
class Expected:
    """State what became of the samples.

    Args:
        copies: whole copies.
        lost: samples in no pack.
        truncated: samples packed in part.
        split: samples in several packs.
        lost_tokens: tokens that are missing, special tokens at the ends of packed samples not counted.
        specials_added: special tokens added, less those stripped.
        why: what the packer does.
    """

    copies: int = 24
    lost: int = 0
    truncated: int = 0
    split: int = 0
    lost_tokens: int = 0
    specials_added: int = 0
    why: str = ""


WHOLE = Expected()
_FIRST_ROWS = "a batch of the first packs only, the others are not in the file"
_WINDOWS = Expected(
    copies=12,
    truncated=1,
    split=11,
    lost_tokens=19,
    specials_added=-1,
    why="windows of 33 that share a token: the last 20 of 500 are dropped, an end id among them",
)
_CONCATENATED = Expected(
    copies=16,
    lost=2,
    truncated=1,
    split=5,
    lost_tokens=51,
    specials_added=-1,
    why="cut every 64 tokens, the last 52 of 500 dropped: two whole samples, and the tail of another",
)
DIFFERENT = {
    "trl_padding_free_batch": Expected(copies=9, lost=15, lost_tokens=448, why=_FIRST_ROWS),
    "axolotl_multipack_batch_v1": Expected(copies=5, lost=19, lost_tokens=615, why=_FIRST_ROWS),
    "axolotl_multipack_batch_v2": Expected(copies=5, lost=19, lost_tokens=615, why=_FIRST_ROWS),
    "hf_flattening_batch": Expected(copies=4, lost=20, lost_tokens=648, why=_FIRST_ROWS),
    "megatron_multimodal_modes": Expected(copies=6, lost=18, lost_tokens=369, why="made of 6 documents"),
    "xtuner_varlen_arrow": Expected(
        copies=11,
        lost=1,
        truncated=1,
        split=11,
        lost_tokens=29,
        specials_added=-1,
        why="cut every 64 tokens, the last 30 of 798 dropped: a whole sample, and the tail of another",
    ),
    "automodel_packed": Expected(
        specials_added=-24, why="input_ids are tokens[:-1] of each sample: the end id is a label only"
    ),
    "megatron_int32_noeod": Expected(specials_added=-24, why="packed without --append-eod"),
    "fms_fsdp_arrow": Expected(specials_added=-24, why="stored without end ids, the loader adds them"),
    "megatron_gptdataset_rows_default": _WINDOWS,
    "megatron_gptdataset_rows_reset": _WINDOWS,
    "mds_concat_tokens": _CONCATENATED,
    "mds_tokens_bytes_int64": _CONCATENATED,
    "nanogpt_bin": Expected(copies=23, split=1, why="cut into train.bin and val.bin inside a document"),
    "tinyllama_litpkds": Expected(copies=23, split=1, why="two chunk files, cut inside a document"),
    "seqio_packed_tfrecord": Expected(copies=48, why="prompts and completions are packed apart"),
}


def samples_of(name: str) -> Lists:
    """Return the rows that a sample was packed from."""
    if name == "seqio_packed_tfrecord":
        return [*reference("sft", "prompt_ids"), *reference("sft", "completion_ids")]
    return reference("sft" if TABLE[name].profile == "sft" else "docs")


def shards_of(name: str) -> tuple[list[Shard], Any]:
    """Return the shards of a sample, and the settings of its user."""
    sample = TABLE[name]
    config = parse_config(sample.settings, "test")
    settings, path = reader_settings(config), SAMPLES / sample.path
    if sample.format != "memory":
        return list(open_shards([str(path)], settings)[0]), config
    with np.load(path, allow_pickle=False) as arrays:
        names = [key for key in arrays.files if key.startswith(sample.prefix)]
        kept = {key.removeprefix(sample.prefix): arrays[key] for key in names}
    return list(open_memory(kept, "memory", settings)), config


def reconciled(name: str, block_tokens: int = 1 << 17) -> Reconciliation:
    """Return what became of the rows that a sample was packed from."""
    shards, config = shards_of(name)
    plans = plan_shards(shards, config, config.spec).shards
    settings = reader_settings(parse_config({}, "test"))
    unpacked = list(open_memory({"input_ids": samples_of(name)}, "reference", settings))
    comparison = compare(plan_samples(unpacked, config.spec), plans, block_tokens=block_tokens)
    results = local.run(plans, (), survey=comparison.survey(), block_tokens=block_tokens)
    return comparison.settle(plans, results)[0]


@pytest.mark.parametrize("name", TABLE)
def test_what_a_packer_lost_is_known_and_nothing_else_is_missing(name: str) -> None:
    expected = DIFFERENT.get(name, WHOLE)
    found = reconciled(name)
    said = Expected(
        copies=int(found.copies.sum()),
        lost=int(found.is_lost.sum()),
        truncated=int(found.is_truncated.sum()),
        split=int(found.is_split.sum()),
        lost_tokens=found.balance.lost,
        specials_added=found.balance.specials_added,
        why=expected.why,
    )
    assert said == expected
    assert (found.balance.gap, found.balance.unknown, found.balance.replaced) == (0, 0, 0)
    assert not found.repeated.any()
    assert not found.altered.any()
    assert not found.invented_ends.any()
    assert int(found.copies.max()) == 1


@pytest.mark.parametrize("name", TABLE)
def test_books_close(name: str) -> None:
    expected = DIFFERENT.get(name, WHOLE)
    n_reference = sum(map(len, samples_of(name)))
    books: Balance = reconciled(name).balance
    assert books.reference == n_reference
    assert books.packed == n_reference - expected.lost_tokens + expected.specials_added


@pytest.mark.parametrize(
    ("name", "pack_tokens", "stored_tokens"),
    [
        ("xtuner_varlen_arrow", 64, 768),
        ("mds_concat_tokens", 64, 448),
    ],
)
def test_what_is_cut_and_lost_is_what_cutting_a_stream_gives(
    name: str, pack_tokens: int, stored_tokens: int
) -> None:
    """Where documents lie in the stream tells what is whole, cut, or beyond its end, but for the end id."""
    stops = np.cumsum([len(row) for row in samples_of(name)])
    starts = np.concatenate([[0], stops[:-1]])
    cores = stops - 1
    is_lost = starts >= stored_tokens
    n_crossed = (np.minimum(cores, stored_tokens) - 1) // pack_tokens - starts // pack_tokens
    is_cut = ~is_lost & (n_crossed > 0)
    is_truncated = ~is_lost & (cores > stored_tokens)
    found = reconciled(name)
    assert int(found.is_lost.sum()) == int(is_lost.sum())
    assert int(found.is_split.sum()) == int(is_cut.sum())
    assert int(found.is_truncated.sum()) == int(is_truncated.sum())
    assert int(found.n_cuts.sum()) == int(n_crossed[is_cut].sum())


@pytest.mark.parametrize("name", ["trl_bfd", "mds_concat_tokens", "xtuner_varlen_arrow", "maxtext_batch"])
def test_batches_do_not_matter(name: str) -> None:
    once, often = reconciled(name), reconciled(name, block_tokens=40)
    assert once.balance == often.balance
    assert np.array_equal(once.copies, often.copies)
    assert np.array_equal(once.covered, often.covered)
