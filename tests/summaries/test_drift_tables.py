"""The comparison as data: valid, bounded, the same for the same counts; figures against plain sums."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.composition import Composition
from packlint.summaries.drift import lengths
from packlint.summaries.drift.tables import MAX_CATEGORIES, MAX_MOVERS, OTHER, drift_table, with_texts
from packlint.testing import composition_of
from tests.packs import Packs, sft_packs, text_packs
from tests.rules.drift.samples import composition, draw

SCHEMA = json.loads((files("packlint.reporters") / "schema" / "report-v1.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator({**SCHEMA["properties"]["drift"], "$defs": SCHEMA["$defs"]})


def compared(reference: Composition, packed: Composition) -> dict[str, Any]:
    table = drift_table(reference, packed, reference_name="before", packed_name="now")
    VALIDATOR.validate(table)
    json.dumps(table, allow_nan=False)
    return table


def with_column(packs: Packs, seed: int) -> Packs:
    rng = np.random.default_rng(seed)
    n = sum(map(len, packs["seq_lens"]))
    names = ["web", "code", None, "a\x1b[31m"]
    return {**packs, "metadata": {"domain": [names[i] for i in rng.integers(0, 4, n)]}}


@given(sft_packs() | text_packs(), sft_packs() | text_packs(), st.integers(0, 9))
@settings(max_examples=40)
def test_any_two_sides_are_compared(a: Packs, b: Packs, seed: int) -> None:
    sides = composition_of(with_column(a, seed)), composition_of(with_column(b, seed + 1))

    table = compared(*sides)
    assert table["packed"]["n_samples"] == sum(map(len, b["seq_lens"]))
    for column in table["columns"].values():
        for side in ("reference", "packed"):
            for weighting in ("samples", "tokens"):
                assert sum(column[side][weighting]) == pytest.approx(1, abs=1e-4)


def test_nothing_is_compared_with_nothing() -> None:
    table = compared(Composition(), Composition())

    assert [table[name] for name in ("lengths", "tokens", "positions", "context", "weights")] == [None] * 5
    assert table["columns"] == {}


def test_the_same_is_not_apart() -> None:
    side = composition(draw(0, 5000))
    table = compared(side, side)

    found = {**table["columns"]["domain"]["distances"], **table["lengths"]["distances"]}
    assert {name: value for name, value in found.items() if "null" not in name and value} == {}


def test_order_of_merges_does_not_show() -> None:
    drawn = draw(1, 6000)
    parts = [composition(drawn.take(np.flatnonzero(drawn.packs % 3 == i))) for i in range(3)]
    one, other = parts[0].merge(parts[1]).merge(parts[2]), parts[2].merge(parts[0].merge(parts[1]))
    packed = composition(draw(2, 3000))

    assert json.dumps(compared(one, packed)) == json.dumps(compared(other, packed))


@pytest.mark.parametrize("longest", [1, 2, 40, 65_535, 1 << 20, (1 << 38) - 1])
def test_bins_are_few_and_hold_all(longest: int) -> None:
    side = Composition()
    side.add_samples(np.array([1, longest // 2, longest]))
    table = compared(side, side)["lengths"]

    assert len(table["reference"]) == len(table["edges"]) - 1 <= 40
    assert sum(table["reference"]) == pytest.approx(1, abs=1e-4)
    assert table["edges"][0] == 0
    assert table["edges"][-1] > longest
    assert all(a < b for a, b in zip(table["edges"], table["edges"][1:], strict=False))


def test_many_categories_end_in_one_of_others() -> None:
    drawn = draw(0, 20_000, n_categories=200)
    table = compared(composition(drawn), composition(drawn))["columns"]["domain"]

    assert len(table["categories"]) == MAX_CATEGORIES + 1
    assert table["categories"][-1] == OTHER
    assert table["n_categories"] == np.unique(drawn.codes).size
    assert sum(table["reference"]["targets"]) == pytest.approx(1, abs=1e-4)


def test_movers_and_specials() -> None:
    rows = [[1, *range(10 + i, 60 + i), 2] for i in range(100)]
    shifted = [[1, *range(30 + i, 80 + i), 2, 2] for i in range(100)]
    spec = {"config": {"spec": {"bos_id": 1, "eos_ids": [2]}}}
    sides = [
        composition_of({"input_ids": r, "seq_lens": [[len(row)] for row in r], **spec})
        for r in (rows, shifted)
    ]

    table = with_texts(compared(*sides), lambda ids: f"<{ids[0]}>")
    VALIDATOR.validate(table)
    movers = table["tokens"]["movers"]
    assert len(movers) == MAX_MOVERS
    assert [m["contribution"] for m in movers] == sorted(
        (m["contribution"] for m in movers), key=abs, reverse=True
    )
    assert all((m["contribution"] > 0) == (m["packed"] > m["reference"]) for m in movers)
    assert all(m["text"] == f"<{m['id']}>" for m in movers)
    assert {m["id"] for m in movers}.isdisjoint({1, 2})
    assert [(s["id"], s["purposes"], s["reference"], s["packed"]) for s in table["tokens"]["specials"]] == [
        (1, ["bos"], 1, 1),
        (2, ["eos"], 1, 2),
    ]


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=30), st.lists(st.integers(1, 3000), min_size=1))
@settings(max_examples=50)
def test_contexts_and_quantiles_token_by_token(a: list[int], b: list[int]) -> None:
    sides = [Composition(), Composition()]
    for side, values in zip(sides, (a, b), strict=True):
        side.add_samples(np.array(values))
    table = compared(*sides)

    for name, values in (("reference", a), ("packed", b)):
        seen = [n for tokens in values for n in range(1, tokens + 1)]
        for least, share in zip(table["context"]["lengths"], table["context"][name], strict=True):
            assert share == pytest.approx(sum(n >= least for n in seen) / len(seen), abs=1e-5)
        assert table["context"]["means"][name] == pytest.approx(sum(seen) / len(seen), rel=1e-5)
        for quantile in table["lengths"]["quantiles"]:
            wanted = np.quantile(values, quantile["fraction"], method="inverted_cdf")
            assert quantile[name] == wanted


def test_lengths_by_targets_are_those_of_their_samples() -> None:
    drawn = draw(4, 3000)
    drift = lengths.between(composition(drawn), composition(drawn))
    assert drift is not None

    by_length = np.bincount(drawn.lengths, drawn.targets)
    p, _ = drift.shares("targets")
    assert p == pytest.approx(by_length[drift.lengths] / by_length.sum())
    assert drift.means("tokens")[0] == pytest.approx((drawn.lengths**2).sum() / drawn.lengths.sum())
