"""ORD003: shards against one another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.rule import Judgement
from packlint.testing import judge, judge_example
from packlint_rules.order.ord003_shard_skew import ShardSkew
from tests.orders import batch_of, cut_batches


def skewed(found: Sequence[PackBatch], **options: Any) -> Judgement | None:
    judged = judge(ShardSkew, found, **options)
    return judged[0] if judged else None


def shares(*webs: float, n_packs: int = 50, seed: int = 0, **told: Any) -> list[PackBatch]:
    """Return shards with these shares of samples of one domain, ten to a pack, all of one length."""
    rng = np.random.default_rng(seed)
    found = []
    for shard, web in enumerate(webs):
        domains = np.where(rng.random((n_packs, 10)) < web, "web", "code")
        found.append(batch_of([[4] * 10] * n_packs, domains.tolist(), shard=shard, **told))
    return found


def test_examples() -> None:
    assert judge_example(ShardSkew, ShardSkew.good[0]) == []
    assert judge_example(ShardSkew, ShardSkew.bad[0])


def test_one_shard_is_unlike_the_others() -> None:
    found = skewed(shares(0.5, 0.5, 0.9, 0.5))

    assert found is not None
    assert found.message.startswith("4 shards differ in domain (Cramér's V 0.3")
    assert found.message.endswith("points either way); at random: 0; allowed: 0.2")
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.CERTAIN)
    assert (found.n_hits, found.n_packs, found.measured["metadata_columns"]) == (4, 200, 1)
    assert found.locations[0].shard == "shard-2"
    note = found.locations[0].note
    assert re.fullmatch(r"(web 9|web 8|code 1|code 9)[\d.]* %, all shards [\d.]+ %", note)


def test_a_domain_per_shard_is_a_note() -> None:
    found = skewed(shares(1.0, 0.0, 1.0))

    assert found is not None
    assert found.severity is Severity.INFO
    assert "Cramér's V 1.00" in found.message
    assert ", one category each;" in found.message


@pytest.mark.parametrize("trainer", ["trl", "olmo-core", "litgpt"])
def test_a_note_where_the_trainer_shuffles(trainer: str) -> None:
    found = skewed(shares(0.2, 0.8, trainer=trainer))

    assert found is not None
    assert found.severity is Severity.INFO


def test_lengths_alone() -> None:
    found = skewed([batch_of([[4] * 8] * 40), batch_of([[32]] * 40, shard=1)])

    assert found is not None
    assert found.measured == {"metadata_columns": 0, "sample_length_effect": pytest.approx(1)}
    assert (found.severity, len(found.locations)) == (Severity.WARNING, 2)
    assert found.locations[0].note == "mean sample length 4, all shards 11"


def test_scanned_boundaries_are_likely_only() -> None:
    found = skewed(
        [
            batch_of([[4, n] * 2] * 40, shard=i, trainer=None, source=BoundarySource.BOUNDARY_TOKENS)
            for i, n in enumerate((4, 64))
        ]
    )

    assert found is not None
    assert found.confidence is Confidence.LIKELY


def test_one_shard_and_small_shards_say_nothing() -> None:
    assert skewed(shares(0.5, n_packs=200)) is None
    assert skewed(shares(*[0.0, 1.0] * 6, n_packs=15)) is None
    assert skewed(shares(*[0.0, 1.0] * 6, n_packs=15), min_shard_packs=10) is not None
    assert skewed([]) is None
    assert skewed([batch_of([], shard=0), batch_of([[]] * 9, shard=1)]) is None


def test_nothing_to_compare_is_not_checked() -> None:
    assert "no metadata" in (ShardSkew().unchecked(batch_of([[8]] * 9, source=None)) or "")
    assert ShardSkew().unchecked(batch_of([[8]], [["web"]], source=None)) is None
    assert ShardSkew().unchecked(batch_of([[8]], trainer="trl")) is None


@given(st.integers(0, 2**32), st.integers(2, 12), st.integers(16, 60), st.sampled_from([0.5, 0.05, 0.01]))
@settings(max_examples=50)
def test_silent_on_random_shards(seed: int, n_shards: int, n_packs: int, web: float) -> None:
    assert skewed(shares(*[web] * n_shards, n_packs=n_packs, seed=seed)) is None
    rng = np.random.default_rng(seed)
    packs = rng.lognormal(5, 1, (n_shards, n_packs, 3)).astype(int) + 1
    assert skewed([batch_of(part.tolist(), shard=i) for i, part in enumerate(packs)]) is None


@given(st.integers(0, 2**32), st.integers(2, 8), st.floats(0.25, 0.45))
@settings(max_examples=50)
def test_planted_skew_is_measured(seed: int, n_pairs: int, skew: float) -> None:
    """Half of the shards hold 0.5 + skew of a domain, half 0.5 - skew: V is 2 skew."""
    found = skewed(shares(*[0.5 + skew, 0.5 - skew] * n_pairs, n_packs=60, seed=seed))

    assert found is not None
    assert found.measured["domain_effect"] == pytest.approx(2 * skew, abs=0.06)


@given(st.data())
@settings(max_examples=20)
def test_batches_and_their_order_change_nothing(data: st.DataObject) -> None:
    rng = np.random.default_rng(4)
    parts, whole = [], []
    for shard in range(3):
        domains = np.where(rng.random((30, 4)) < (0.1, 0.5, 0.9)[shard], "web", "code").tolist()
        whole.append(batch_of([[3] * 4] * 30, domains, shard=shard))
        cuts = data.draw(st.lists(st.integers(0, 30), max_size=3))
        parts += cut_batches([[3] * 4] * 30, domains, cuts, shard=shard)

    assert skewed(data.draw(st.permutations(parts))) == skewed(whole) is not None
