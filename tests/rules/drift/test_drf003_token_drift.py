"""DRF003: text that comes in bursts is silent; special tokens do not count; foreign ids are named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.composition import Composition
from packlint.testing import composition_of
from packlint_rules.drift.drf003_token_drift import TokenDrift
from tests.rules.drift.samples import judge

VOCABULARY = 2000
SPEC = {"bos_id": 1, "eos_ids": [2], "pad_id": 0}


def texts(seed: int, n: int, shift: int = 0) -> list[list[int]]:
    """Draw texts of 60 tokens; each uses few words often, as real ones do."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, VOCABULARY + 1)
    words = rng.choice(VOCABULARY, (n, 15), p=weights / weights.sum()) + 10 + shift
    picked = rng.integers(0, 15, (n, 60))
    rows: list[list[int]] = np.take_along_axis(words, picked, axis=1).tolist()
    return rows


def of_texts(rows: list[list[int]], head: tuple[int, ...] = (), tail: tuple[int, ...] = ()) -> Composition:
    rows = [[*head, *row, *tail] for row in rows]
    packs = {"input_ids": rows, "seq_lens": [[len(row)] for row in rows], "config": {"spec": SPEC}}
    return composition_of(packs)


@pytest.mark.parametrize("n", [20, 200, 2000])
def test_other_texts_of_one_kind_are_silent(n: int) -> None:
    for seed in range(5):
        assert judge(TokenDrift, of_texts(texts(seed, n)), of_texts(texts(seed + 50, n))) == []


@given(st.integers(0, 99), st.integers(1, 300))
@settings(max_examples=15)
def test_the_same_texts_with_special_tokens_added_are_silent(seed: int, n: int) -> None:
    rows = texts(seed, n)
    mixed = [rows[i] for i in np.random.default_rng(seed).permutation(n)]

    assert judge(TokenDrift, of_texts(rows), of_texts(mixed, (1,), (2,))) == []
    assert judge(TokenDrift, of_texts(rows, tail=(2,)), of_texts(mixed, (1, 1))) == []


def test_of_the_very_samples_nothing_is_left_to_chance() -> None:
    rows = texts(0, 30)
    reference, lost = of_texts(rows), of_texts(rows[:20])
    reference.is_source = True

    assert judge(TokenDrift, reference, of_texts(rows[::-1], (1,), (2,))) == []
    (found,) = judge(TokenDrift, reference, lost)
    assert "within a side" not in found.message


def test_another_tokenizer_is_found() -> None:
    (found,) = judge(TokenDrift, of_texts(texts(0, 500)), of_texts(texts(0, 500, shift=1000)))

    assert "most moved ids" in found.message
    assert float(found.measured["js"]) > 0.5


@pytest.mark.parametrize("header", [11, 60, 1900])
def test_a_header_repeated_in_every_sample_is_named(header: int) -> None:
    rows = texts(0, 2000)
    (found,) = judge(TokenDrift, of_texts(rows), of_texts([[header] * 20 + row for row in rows]))

    assert found.message.split("packs / reference: ")[1].startswith(f"{header}: ")


def test_special_tokens_that_are_missing_from_some_are_said() -> None:
    reference = of_texts(texts(0, 300), tail=(2,))
    packed = of_texts(texts(0, 150, shift=1000), tail=(2,)).merge(of_texts(texts(1, 150, shift=1000)))

    (found,) = judge(TokenDrift, reference, packed)
    assert found.message.endswith("id 2 (eos) 0.5 / 1 a sample")


def test_nothing_but_special_tokens() -> None:
    empty = of_texts([[1, 2], [1, 2]])

    assert TokenDrift().unchecked(empty, of_texts(texts(0, 3)))
    assert TokenDrift().unchecked(Composition(), Composition())
    assert list(TokenDrift().judge(empty, empty, None)) == []  # type: ignore[arg-type]
