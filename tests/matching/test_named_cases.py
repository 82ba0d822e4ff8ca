"""Single cases by name: what is said, of which sample, and where."""

from __future__ import annotations

import random

import numpy as np

import packlint
from tests.matching.packers import Packs, as_packs, draw_samples, first_fit, reconcile
from tests.matching.test_faults import Planted, books, change_first, cut_tail, keep, lose


def test_what_is_said_points_at_the_sample() -> None:
    rng = random.Random(1)
    samples = draw_samples(rng, n_samples=10, vocabulary=1000, low=60)
    planted = Planted()
    for i, sample in enumerate(samples):
        {3: lose, 5: cut_tail, 7: change_first}.get(i, keep)(planted, i, sample, rng)
    found = books(planted, samples, rng)
    [lost] = found.worst_places(np.where(found.is_lost, found.samples.n_tokens, 0), "tokens")
    assert lost.shard == "reference"
    assert "row 3 of the reference" in lost.note
    [cut] = found.worst_places(np.where(found.is_truncated, found.missing, 0), "tokens missing")
    assert (cut.shard, cut.amount) == ("shard-0", planted.missing[5][0])
    assert "sample 5 of reference" in cut.note
    [altered] = found.worst_places(np.where(found.is_altered, found.altered, 0), "tokens changed")
    assert "sample 7 of reference" in altered.note


def test_a_change_beside_the_first_and_the_last_token_is_inside() -> None:
    samples = [list(range(10, 60)), list(range(100, 150))]
    changed = [[10, 999, *samples[0][2:]], [*samples[1][:-2], 998, 149]]
    found = reconcile(as_packs([changed]), samples)
    assert found.altered.tolist() == found.missing.tolist() == [1, 1]
    assert found.altered_at == {"inside": 2}


def test_a_copy_too_many_may_be_what_is_left_of_a_longer_sample() -> None:
    whole = list(range(10, 50))
    samples = [whole, [*whole, *range(100, 140)], list(range(200, 240))]
    found = reconcile(as_packs([[whole, whole, samples[2]]]), samples)
    assert found.copies.tolist() == [1, 0, 1]
    assert found.is_truncated.tolist() == [False, True, False]
    assert (found.balance.lost, found.balance.repeated) == (40, 0)
    assert (found.begins[1], found.ends[1]) == (True, False)


def test_what_follows_a_cut_sample_by_chance_as_it_would_go_on_is_not_of_it() -> None:
    cut, whole = list(range(10, 70)), [50, *range(100, 140)]
    [row] = as_packs([[cut[:40], whole]]).rows
    assert row[40] == cut[40], "the cut sample would go on like the one that follows"
    found = reconcile(Packs(rows=[row]), [cut, whole])
    assert found.covered.tolist() == [40, 41]
    assert found.missing.tolist() == [20, 0]


def test_a_reference_of_other_data_is_foreign() -> None:
    rng = random.Random(2)
    samples = draw_samples(rng, n_samples=20, vocabulary=1000, low=40)
    others = [[token + 2000 for token in sample] for sample in samples]
    found = reconcile(as_packs(first_fit(samples, 256)), others)
    assert found.is_foreign
    assert found.why_not is not None
    assert found.balance.gap == 0
    assert found.balance.unknown == sum(map(len, samples))


def test_an_undeclared_token_between_documents_of_a_stream_is_the_packers() -> None:
    """No boundary is recorded, and nobody said that 3 ends documents."""
    rng = np.random.default_rng(5)
    reference = [rng.integers(10, 5000, rng.integers(20, 90)).tolist() for _ in range(40)]
    stream = [i for row in reference for i in (*row, 3)]
    packs = [stream[at : at + 256] for at in range(0, len(stream), 256)]

    report = packlint.check({"input_ids": packs}, reference={"input_ids": reference}, select=["SMP"])

    books = report.drift["conservation"]
    assert (books["special_tokens_added"], books["unknown_tokens"], books["lost_tokens"]) == (40, 0, 0)


def test_fragments_that_fill_a_pack_do_not_hide_the_end_token() -> None:
    """Most segments of a split build are pieces: what ends the others is the end token."""
    rng = np.random.default_rng(6)
    reference = [rng.integers(10, 5000, 700).tolist() for _ in range(20)]
    short = [rng.integers(10, 5000, 30).tolist() for _ in range(40)]
    rows = [[*row, 3] for row in reference]
    pieces = [row[at : at + 128] for row in rows for at in range(0, len(row), 128)]
    full = [piece for piece in pieces if len(piece) == 128]
    rest = [piece for piece in pieces if len(piece) < 128] + [[*row, 3] for row in short]
    pairs = [(rest[i], rest[i + 1]) for i in range(0, len(rest) - 1, 2)]
    packs = {
        "input_ids": [*full, *([*a, *b] for a, b in pairs)],
        "seq_lens": [*([len(row)] for row in full), *([len(a), len(b)] for a, b in pairs)],
    }

    report = packlint.check(packs, reference={"input_ids": [*reference, *short]}, select=["SMP"])

    assert {f.code for f in report.findings} <= {"SMP004", "SMP006"}
    assert report.drift["conservation"]["special_tokens_added"] == 60


def test_a_run_that_begins_early_by_chance_hides_no_longer_one() -> None:
    """A header that two samples share, after a token with which a third, cut sample ends."""
    rng = np.random.default_rng(0)

    def text(n: int) -> list[int]:
        return [int(i) for i in rng.integers(100, 30000, n)]

    head = text(40)
    first = [*head, *text(400)]
    other = [*text(5), 7, *head, *text(400)]
    third = [*text(199), 7, *text(100)]
    packs = {"input_ids": [third[:200], first[:200], other[:200]], "seq_lens": [[200]] * 3}

    report = packlint.check(packs, reference={"input_ids": [third, first, other]}, select=["SMP"])

    assert {f.code for f in report.findings} <= {"SMP003", "SMP006"}
    assert report.drift["conservation"]["lost_tokens"] == len(third) + len(first) + len(other) - 600


def test_a_token_by_chance_before_a_tail_takes_nothing_from_the_head() -> None:
    """Samples that differ in their last token, with tails behind the token that their heads end with."""
    rng = np.random.default_rng(0)

    def text(n: int) -> list[int]:
        return [int(i) for i in rng.integers(100, 30000, n)]

    one = text(360)
    other = [*one[:-1], 7]
    before = [[*text(199), one[199]], [*text(199), one[199]]]
    packs = [one[:200], before[0], one[200:], other[:200], before[1], other[200:]]

    columns = {"input_ids": packs, "seq_lens": [[len(pack)] for pack in packs]}
    reference = {"input_ids": [one, other, *([*row, *text(50)] for row in before)]}
    report = packlint.check(columns, reference=reference, select=["SMP"])

    messages = {f.code: f.message for f in report.findings}
    assert messages["SMP003"].startswith("2 of 4 samples were packed in part")
    assert messages["SMP004"].startswith("2 of 4 samples")
    assert "SMP002" not in messages
