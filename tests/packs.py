"""Correct packs at random, to plant faults in and to demand silence on.

Special ids: pad 0, bos 1, eos 2; ordinary ids 10..99; vocabulary 100.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import strategies as st

__all__ = ["BOS", "EOS", "PAD", "SPEC", "VOCAB", "random_packs", "sft_packs", "text_packs", "with_config"]

PAD, BOS, EOS, VOCAB = 0, 1, 2, 100
SPEC = {"pad_id": PAD, "bos_id": BOS, "eos_ids": [EOS], "vocab_size": VOCAB}

Packs = dict[str, Any]


def random_packs(
    rng: np.random.Generator,
    *,
    n_packs: int,
    max_segments: int = 5,
    max_sample_len: int = 12,
    padded: bool = True,
    trained_prompts: bool = False,
) -> Packs:
    """Return correct packs: whole samples `bos prompt… answer… eos`, one padded tail, exact records.

    Columns: input_ids, labels (unshifted), seq_lens (padding not covered), position_ids (from 0 in each
    segment, going on through the padding), segment_ids (1..n, 0 on padding), attention_mask (equal to them).
    """
    rows = [
        [rng.integers(4, max_sample_len + 1) for _ in range(rng.integers(1, max_segments + 1))]
        for _ in range(n_packs)
    ]
    width = max(sum(lengths) for lengths in rows)
    names = ("input_ids", "labels", "position_ids", "segment_ids", "seq_lens")
    packs: Packs = {name: [] for name in names}
    for lengths in rows:
        ids: list[int] = []
        labels: list[int] = []
        positions: list[int] = []
        segments: list[int] = []
        for number, length in enumerate(lengths, start=1):
            body = rng.integers(10, VOCAB, int(length) - 2).tolist()
            prompt = 0 if trained_prompts else int(rng.integers(1, length - 2))
            sample = [BOS, *body, EOS]
            ids += sample
            labels += [-100] * (1 + prompt) + sample[1 + prompt :]
            positions += range(int(length))
            segments += [number] * int(length)
        tail = width - len(ids) if padded else 0
        packs["input_ids"].append(ids + [PAD] * tail)
        packs["labels"].append(labels + [-100] * tail)
        packs["position_ids"].append(positions + list(range(positions[-1] + 1, positions[-1] + 1 + tail)))
        packs["segment_ids"].append(segments + [0] * tail)
        packs["seq_lens"].append([int(length) for length in lengths])
    packs["attention_mask"] = copy.deepcopy(packs["segment_ids"])
    packs["layout"] = {"lengths_cover_padding": False, "padding": "segment_id", "nothing": 0}
    packs["config"] = {"profile": "sft", "trainer": "grain", "spec": dict(SPEC)}
    return packs


def with_config(packs: Packs, **config: Any) -> Packs:
    """Return a deep copy of the packs with other settings."""
    changed = copy.deepcopy(packs)
    changed["config"] = {**changed["config"], **config}
    return changed


@st.composite
def sft_packs(draw: st.DrawFn, max_packs: int = 5, padded: bool | None = None) -> Packs:
    """Draw correct packs of prompts and answers, held to the profile `sft`."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tail = draw(st.booleans()) if padded is None else padded
    return random_packs(rng, n_packs=draw(st.integers(1, max_packs)), padded=tail)


@st.composite
def text_packs(draw: st.DrawFn, max_packs: int = 5) -> Packs:
    """Draw correct packs of plain text without labels, held to the profile `pretrain`."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    packs = random_packs(rng, n_packs=draw(st.integers(1, max_packs)), trained_prompts=True)
    del packs["labels"]
    return with_config(packs, profile="pretrain")
