"""ORD001: what batches are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.model.batch import PackBatch
from packlint.rule import Judgement
from packlint.testing import judge, judge_example
from packlint_rules.order.ord001_homogeneous_batches import HomogeneousBatches
from tests.orders import batch_of, best_fit, cut_batches, dealt, greedy


def homogeneous(found: PackBatch | Sequence[PackBatch], **options: Any) -> Judgement | None:
    judged = judge(HomogeneousBatches, [found] if isinstance(found, PackBatch) else found, **options)
    return judged[0] if judged else None


def pure(*domains: str, **told: Any) -> PackBatch:
    """Return packs of one domain each, all samples of one length."""
    return batch_of([[4, 4]] * len(domains), [[domain] * 2 for domain in domains], **told)


def test_examples() -> None:
    assert judge_example(HomogeneousBatches, HomogeneousBatches.good[0]) == []
    assert judge_example(HomogeneousBatches, HomogeneousBatches.bad[0])


def test_domains_one_after_the_other() -> None:
    found = homogeneous(pure(*["web"] * 100, *["code"] * 100))

    assert found is not None
    assert found.message == (
        "neighbouring packs are alike in domain (Cramér's V 1.00, code 50 points either way); shuffled: 0;"
        " allowed: 0.2"
    )
    assert found.measured == {"metadata_columns": 1, "domain_effect": pytest.approx(0.99, abs=0.01)}
    assert (found.n_hits, found.n_packs, found.confidence) == (200, 200, Confidence.LIKELY)


def test_certain_where_the_trainer_keeps_the_order() -> None:
    found = homogeneous(pure(*["web"] * 100, *["code"] * 100, trainer="megatron-sft"))

    assert found is not None
    assert found.confidence is Confidence.CERTAIN


def test_the_size_of_the_batch_decides() -> None:
    in_turns = pure(*(["web"] * 8 + ["code"] * 8) * 32)

    per_8, per_64 = homogeneous(in_turns, packs_per_batch=8), homogeneous(in_turns, packs_per_batch=64)

    assert per_64 is None
    assert per_8 is not None
    assert "packs of one batch (8) are alike in domain (Cramér's V 1.00" in per_8.message
    assert per_8.n_hits == 64


def test_ranks_that_read_stretches_of_their_own_mix() -> None:
    batch = pure(*["web"] * 128, *["code"] * 128)

    assert homogeneous(batch, packs_per_batch=4, n_ranks=2) is not None
    assert homogeneous(batch, packs_per_batch=4, n_ranks=2, contiguous=True) is None


def test_lengths_alone_where_no_domain_is_known() -> None:
    found = homogeneous(batch_of([*[[2] * 8] * 100, *[[16]] * 100]))

    assert found is not None
    assert found.measured == {"metadata_columns": 0, "sample_length_effect": pytest.approx(0.99, abs=0.01)}
    assert "sample length (eta 1.00, 182 % either way)" in found.message


def test_rows_without_boundaries_are_judged_by_domain_only() -> None:
    batch = batch_of([[8]] * 128, [["web"]] * 64 + [["code"]] * 64, source=None)
    bare = batch_of([[8]] * 128, source=None)

    found = homogeneous(batch)

    assert found is not None
    assert set(found.measured) == {"metadata_columns", "domain_effect"}
    assert HomogeneousBatches().unchecked(batch) is None
    assert "no metadata" in (HomogeneousBatches().unchecked(bare) or "")


@pytest.mark.parametrize("trainer", ["trl", "llama-factory", "megatron", "olmo-core"])
def test_not_checked_where_the_trainer_shuffles(trainer: str) -> None:
    batch = pure(*["web"] * 64, trainer=trainer)
    asked = HomogeneousBatches(HomogeneousBatches.Options(judges_stored_order=True))

    reason = HomogeneousBatches().unchecked(batch)

    assert reason is not None
    assert reason.startswith(f"{trainer} shuffles packs when it reads")
    assert asked.unchecked(batch) is None


@pytest.mark.parametrize("trainer", [None, "grain", "megatron-sft", "modded-nanogpt"])
def test_checked_where_it_may_keep_the_order(trainer: str | None) -> None:
    assert HomogeneousBatches().unchecked(pure("web", trainer=trainer)) is None


def test_few_packs_and_one_domain_say_nothing() -> None:
    assert homogeneous(pure(*["web"] * 31, *["code"] * 32)) is None
    assert homogeneous(pure(*["web"] * 200)) is None
    assert homogeneous(pure()) is None
    assert homogeneous([]) is None
    assert homogeneous(batch_of([[]] * 80)) is None
    assert homogeneous(pure(*["web"] * 200, "code")) is None, "one pack of a kind"


@given(st.integers(0, 2**32), st.sampled_from([1, 4, 16]), st.sampled_from([2, 3, 12]))
@settings(max_examples=50)
def test_silent_on_shuffled_packs(seed: int, size: int, n_domains: int) -> None:
    rng = np.random.default_rng(seed)
    domains = rng.choice(n_domains, 400, p=rng.dirichlet(np.ones(n_domains)))
    lengths = rng.lognormal(5, 1.2, (400, 3)).astype(int) + 1
    batch = batch_of(lengths.tolist(), [[f"d{d}"] * 3 for d in domains])

    assert homogeneous(batch, packs_per_batch=size) is None


@given(st.integers(0, 2**32), st.integers(100, 400), st.floats(0.5, 1.0), st.sampled_from([1, 2, 8]))
@settings(max_examples=50)
def test_planted_shares_are_measured(seed: int, n: int, purity: float, size: int) -> None:
    """The first half holds `purity` of one domain, the second of the other: V is 2 purity - 1."""
    rng = np.random.default_rng(seed)
    n -= n % (2 * size)
    first = rng.random((n, 40)) < np.where(np.arange(n) < n // 2, purity, 1 - purity)[:, None]
    domains = np.where(first, "web", "code")
    found = homogeneous(batch_of([[4] * 40] * n, domains.tolist()), packs_per_batch=size)

    planted = 2 * purity - 1
    if planted < 0.1:
        assert found is None
    elif planted > 0.3 and n >= 200:
        assert found is not None
        assert found.measured["domain_effect"] == pytest.approx(planted, abs=0.06)


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=20)
def test_batches_of_a_shard_and_order_of_shards_change_nothing(seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    packs = [[int(n)] * 4 for n in np.sort(rng.integers(1, 50, 160))]
    domains = [[str(d)] * 4 for d in rng.integers(0, 3, 160)]
    whole = [batch_of(packs[:80], domains[:80]), batch_of(packs[80:], domains[80:], shard=1)]
    cuts = st.lists(st.integers(0, 80), max_size=3)
    parts = cut_batches(packs[:80], domains[:80], data.draw(cuts))
    parts += cut_batches(packs[80:], domains[80:], data.draw(cuts), shard=1)

    assert homogeneous(data.draw(st.permutations(parts))) == homogeneous(whole) != None  # noqa: E711


def test_length_buckets_and_sorted_domains_of_a_real_packer() -> None:
    rng = np.random.default_rng(0)
    domain = rng.choice(["web", "code", "book"], 5000, p=[0.6, 0.3, 0.1])
    lengths = np.clip(rng.lognormal(5, 1, 5000), 8, 2000).astype(np.int64)
    by_bucket = np.lexsort((rng.random(5000), np.log2(lengths).astype(int)))
    by_domain = np.argsort(domain, kind="stable")

    bucketed = homogeneous(dealt(greedy, lengths[by_bucket], domain[by_bucket].tolist()), packs_per_batch=8)
    by_source = homogeneous(
        dealt(best_fit, lengths[by_domain], domain[by_domain].tolist()), packs_per_batch=8
    )
    mixed = homogeneous(dealt(greedy, lengths, domain.tolist()), packs_per_batch=8)

    assert mixed is None
    assert bucketed is not None
    assert by_source is not None
    assert bucketed.measured["sample_length_effect"] == pytest.approx(0.96, abs=0.04)
    assert bucketed.measured["domain_effect"] == pytest.approx(0, abs=0.1)
    assert float(by_source.measured["domain_effect"]) > 0.75
