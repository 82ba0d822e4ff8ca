"""The look-up of samples by 128 bits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from packlint.summaries.samples import SampleIndex, Samples


def samples_of(hashes: list[tuple[int, int]]) -> Samples:
    n = len(hashes)
    first, second = (np.array([pair[half] for pair in hashes], np.uint64) for half in (0, 1))
    return Samples(
        names=("reference",),
        shards=np.zeros(n, np.int32),
        rows=np.arange(n),
        hashes=(first, second),
        heads=np.zeros(n, np.int32),
        n_tokens=np.full(n, 5),
        tails=np.ones(n, np.int32),
        n_targets=np.full(n, 5),
    )


few_hashes = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(st.lists(few_hashes, max_size=20), st.lists(few_hashes, max_size=10))
def test_the_first_sample_of_a_content_is_found(
    hashes: list[tuple[int, int]], queries: list[tuple[int, int]]
) -> None:
    """Halves collide all the time here, as they never do in life."""
    index = SampleIndex.of(samples_of(hashes))
    first, second = (np.array([query[half] for query in queries], np.uint64) for half in (0, 1))
    expected = [hashes.index(query) if query in hashes else -1 for query in queries]
    assert index.find(first, second).tolist() == expected
    assert index.contents.tolist() == [hashes.index(pair) for pair in hashes]


def test_special_tokens_and_names() -> None:
    samples = samples_of([(1, 2), (3, 4)])
    assert samples.n_specials.tolist() == [1, 1]
    assert samples.name_of(1) == "reference"
    assert len(samples) == 2
