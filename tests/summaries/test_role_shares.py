"""Wrong tokens by place in the pack, and how sure a rule can be of them."""

from __future__ import annotations

import numpy as np
import pytest

from packlint.finding import Confidence
from packlint.model.batch import PackBatch
from packlint.model.spans import Spans
from packlint.summaries.role_shares import places_line, role_hits, share_line
from packlint.testing import make_batch
from tests.rules.targets.chats import config

IDS = [4, 41, 7, 5, 51, 7]
WRONG = Spans(np.array([1, 7, 20]), np.array([2, 11, 22]))


def batch_of(policy: str = "assistant", *, recorded: bool = True) -> PackBatch:
    """Return two packs of two samples of six tokens, told by lengths or by positions only."""
    record = {"seq_lens": [[6, 6]] * 2} if recorded else {"position_ids": [[*range(6), *range(6)]] * 2}
    told = config(policy, trainer="trl" if recorded else "transformers-flattening")
    return make_batch({"input_ids": [IDS * 2] * 2, "labels": [IDS * 2] * 2, **record, "config": told})


def test_wrong_and_judged_tokens_by_place() -> None:
    hits = role_hits(batch_of(), WRONG, np.array([4, 5, 6, 7]), more={"such": 3})

    assert hits.measured == {
        "wrong_first": 1,
        "wrong_later": 6,
        "judged_first": 10,
        "judged_later": 12,
        "such": 3,
    }
    assert (hits.starts.tolist(), hits.stops.tolist()) == ([1, 7, 20], [2, 11, 22])
    assert hits.segments.tolist() == [0, 1, 3]


def test_wrong_things_that_are_no_tokens() -> None:
    hits = role_hits(batch_of(), WRONG, np.array([4, 5, 6, 7]), n_wrong=np.array([1, 2, 3, 4]))

    assert (hits.measured["wrong_first"], hits.measured["wrong_later"]) == (4, 6)


def test_nothing_wrong_is_counted_too() -> None:
    hits = role_hits(batch_of(), Spans.empty(), np.array([4, 5, 6, 7]))

    assert len(hits) == 0
    assert (hits.measured["wrong_first"], hits.measured["judged_first"]) == (0, 10)


@pytest.mark.parametrize(
    ("policy", "recorded", "confidence"),
    [
        ("assistant", False, Confidence.CERTAIN),
        ("flagged", False, Confidence.CERTAIN),
        ("completion", False, Confidence.LIKELY),
        ("last_assistant", False, Confidence.LIKELY),
        ("completion", True, Confidence.CERTAIN),
        ("last_assistant", True, Confidence.CERTAIN),
    ],
)
def test_where_samples_are_inferred_what_depends_on_them_is_likely(
    policy: str, recorded: bool, confidence: Confidence
) -> None:
    hits = role_hits(batch_of(policy, recorded=recorded), WRONG, np.zeros(4, np.int64))

    assert hits.confidence is confidence


def test_lines() -> None:
    measured = {"wrong_first": 1, "wrong_later": 1200, "judged_first": 4, "judged_later": 2396}

    assert places_line(measured) == "in first samples 1 of 4, in later ones 1,200 of 2,396"
    assert share_line(measured, "such tokens") == f"50 % of 2,400 such tokens; {places_line(measured)}"
    assert share_line(dict.fromkeys(measured, 0), "x") == (
        "0 % of 0 x; in first samples 0 of 0, in later ones 0 of 0"
    )
