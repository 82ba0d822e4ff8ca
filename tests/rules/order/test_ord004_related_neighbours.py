"""ORD004: who shares a pack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.model.spec import Policy
from packlint.rule import Judgement
from packlint.testing import judge, judge_example
from packlint_rules.order.ord004_related_neighbours import RelatedNeighbours
from tests.orders import batch_of, best_fit, cut_batches, dealt, greedy


def related(found: PackBatch | Sequence[PackBatch], **options: Any) -> Judgement | None:
    judged = judge(RelatedNeighbours, [found] if isinstance(found, PackBatch) else found, **options)
    return judged[0] if judged else None


def packs(categories: Sequence[Sequence[str | None]], **told: Any) -> PackBatch:
    return batch_of([[4] * len(pack) for pack in categories], categories, **told)


def test_examples() -> None:
    assert judge_example(RelatedNeighbours, RelatedNeighbours.good[0]) == []
    assert judge_example(RelatedNeighbours, RelatedNeighbours.bad[0])


def test_a_domain_per_pack() -> None:
    found = related(packs([["web"] * 4, ["code"] * 4] * 50))

    assert found is not None
    assert found.message == "of two samples in one pack 100 % are of one domain; shuffled: 50 %"
    assert found.measured == {"domain_effect": pytest.approx(1)}
    assert (found.n_hits, found.n_packs, found.severity) == (100, 100, None)
    assert found.confidence is Confidence.CERTAIN
    assert RelatedNeighbours.meta.severity is Severity.INFO


def test_answers_to_one_prompt() -> None:
    """Four answers to each prompt side by side, sixteen samples to a pack: a fifth of all pairs."""
    prompts = [f"p{i // 4}" for i in range(1600)]
    found = related(packs([prompts[i : i + 16] for i in range(0, 1600, 16)]))

    assert found is not None
    assert found.message == "of two samples in one pack 20 % are of one domain; shuffled: 0.19 %"
    assert found.measured["domain_effect"] == pytest.approx(np.sqrt(0.2), abs=0.01)


def test_samples_without_a_category_are_left_out() -> None:
    assert related(packs([["web", None, "web"], [None, "code", "code"]] * 50)) is not None
    assert related(packs([["web", None, None], [None, None, "code"]] * 50)) is None


def test_pairs_are_meant_in_preference_sets() -> None:
    pairs = [["web"] * 4, ["code"] * 4] * 50

    assert related(packs(pairs, policy=Policy(pairs_samples=True))) is None


def test_few_packs_single_samples_and_one_category_say_nothing() -> None:
    assert related(packs([["web"] * 4, ["code"] * 4] * 7)) is None
    assert related(packs([["web"], ["code"]] * 50)) is None
    assert related(packs([["web"] * 4] * 50)) is None
    assert related(packs([])) is None
    assert related([]) is None


def test_not_checked_without_metadata() -> None:
    assert RelatedNeighbours().unchecked(batch_of([[4, 4]])) is not None
    assert RelatedNeighbours().unchecked(packs([["web"]])) is None


def test_packers_of_shuffled_samples() -> None:
    """Sources that differ in length by three times meet more often, most in best fit; not enough to say."""
    rng = np.random.default_rng(0)
    domain = rng.choice(3, 6000, p=[0.6, 0.3, 0.1])
    lengths = np.clip(np.exp(rng.normal(np.array([4.0, 5.2, 6.6])[domain], 0.8)), 8, 2000).astype(np.int64)
    names = [("web", "code", "book")[d] for d in domain]

    assert related(dealt(greedy, lengths, names)) is None
    assert related(dealt(best_fit, lengths, names)) is None
    by_domain = np.argsort(domain, kind="stable")
    assert related(dealt(greedy, lengths[by_domain], [names[i] for i in by_domain])) is not None


@given(st.integers(0, 2**32), st.integers(16, 200), st.sampled_from([2, 5, 300]))
@settings(max_examples=50)
def test_silent_on_shuffled_samples(seed: int, n_packs: int, n_categories: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12, n_packs)
    categories = [[f"c{c}" for c in rng.integers(0, n_categories, size)] for size in sizes]

    assert related(packs(categories)) is None
    assert related(packs(categories), max_effect=0.0, max_lift=1e9) is None, "not even beyond chance"


@given(st.integers(0, 2**32), st.floats(0.8, 1.0))
@settings(max_examples=50)
def test_planted_relation_is_measured(seed: int, purity: float) -> None:
    """Half of the packs hold `purity` of one category, half of the other: V is 2 purity - 1."""
    rng = np.random.default_rng(seed)
    first = rng.random((200, 20)) < np.where(np.arange(200) % 2, purity, 1 - purity)[:, None]
    found = related(packs(np.where(first, "web", "code").tolist()), max_effect=0.5)

    assert found is not None
    assert found.measured["domain_effect"] == pytest.approx(2 * purity - 1, abs=0.05)


@given(st.data())
@settings(max_examples=20)
def test_batches_and_their_order_change_nothing(data: st.DataObject) -> None:
    categories = [["web"] * 3, ["code"] * 3] * 40
    cuts = data.draw(st.lists(st.integers(0, 80), max_size=4))
    parts = cut_batches([[2] * 3] * 80, categories, cuts)

    assert related(data.draw(st.permutations(parts))) == related(batch_of([[2] * 3] * 80, categories))
