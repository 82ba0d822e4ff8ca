"""Segments read from each sample are the unpacked data: token by token where the packer keeps samples whole.

End tokens that a packer adds or strips are left out of the comparison; all else must be equal.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from packlint.config import parse_config
from packlint.conventions import reader_settings
from packlint.engine.plan import plan_shards
from packlint.readers import open_memory, open_shards
from packlint.readers.canonical import build
from tests.readers.file_checks import SAMPLES, Lists, reference, segments
from tests.readers.test_samples import TABLE, Sample

END = 2
PARTLY = {
    "axolotl_multipack_batch_v1": (5, 0),
    "axolotl_multipack_batch_v2": (5, 0),
    "hf_flattening_batch": (4, 0),
    "mds_concat_tokens": (16, 11),
    "mds_tokens_bytes_int64": (16, 11),
    "megatron_gptdataset_rows_default": (12, 26),
    "megatron_gptdataset_rows_reset": (12, 26),
    "megatron_multimodal_modes": (6, 0),
    "nanogpt_bin": (23, 2),
    "seqio_packed_tfrecord": (48, 0),
    "tinyllama_litpkds": (23, 2),
    "trl_padding_free_batch": (9, 0),
    "xtuner_varlen_arrow": (11, 23),
}
"""Whole samples and pieces of samples, where they are not 24 and 0."""


def segments_of(sample: Sample) -> Lists:
    """Return the tokens of every segment of a sample."""
    config = parse_config({**sample.settings}, "test")
    settings = reader_settings(config)
    path = SAMPLES / sample.path
    if sample.format == "memory":
        with np.load(path, allow_pickle=False) as arrays:
            kept = {
                n.removeprefix(sample.prefix): arrays[n] for n in arrays.files if n.startswith(sample.prefix)
            }
        shards = list(open_memory(kept, "memory", settings))
    else:
        shards, _ = open_shards([str(path)], settings)
    found: Lists = []
    for plan in plan_shards(shards, config, config.spec).shards:
        for part in plan.shard.parts():
            for raw in plan.shard.rows(part, plan.roles, 100):
                batch, _ = build(raw, plan.reading)
                found += segments(batch) if batch is not None else []
    return found


def bare(tokens: list[int]) -> tuple[int, ...]:
    """Return tokens without an end token at either end."""
    first, last = int(tokens[:1] == [END]), len(tokens) - int(tokens[-1:] == [END])
    return tuple(tokens[first:last])


def is_piece(tokens: tuple[int, ...], rows: set[tuple[int, ...]]) -> bool:
    size = len(tokens)
    return any(tokens == row[i : i + size] for row in rows for i in range(len(row) - size + 1))


@pytest.mark.parametrize("name", TABLE)
def test_segments_are_the_unpacked_rows(name: str) -> None:
    found = [bare(tokens) for tokens in segments_of(TABLE[name])]
    kinds = [[*reference("docs")], [*reference("sft")]]
    if name == "seqio_packed_tfrecord":
        kinds = [[*reference("sft", "prompt_ids"), *reference("sft", "completion_ids")]]
    rows = max(
        ({bare(row) for row in kind} for kind in kinds), key=lambda rows: sum(t in rows for t in found)
    )

    whole = Counter(tokens for tokens in found if tokens in rows)
    pieces = [tokens for tokens in found if tokens not in rows]

    assert (whole.total(), len(pieces)) == PARTLY.get(name, (24, 0))
    assert max(whole.values()) == 1
    assert all(is_piece(tokens, rows) for tokens in pieces)
