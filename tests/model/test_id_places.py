"""Places of ids are those of a plain loop, whatever the ids, their distances and the width of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.id_places import find_ids

IDS = st.sampled_from([0, 1, 2, 5, 60, 70, 200, 255, 300, 60_000])


@given(
    st.lists(IDS, max_size=40), st.sets(IDS), st.sets(IDS), st.sampled_from([np.uint16, np.int32, np.int64])
)
@settings(max_examples=300)
def test_places_are_those_of_a_loop(values: list[int], asked: set[int], some: set[int], dtype: Any) -> None:
    tokens = np.array(values, dtype)

    found = find_ids(tokens, np.array(sorted(asked), np.int64))

    wanted = np.array(sorted(some), np.int64)
    assert found.places.tolist() == [i for i, value in enumerate(values) if value in asked]
    assert found.ids.tolist() == [value for value in values if value in asked]
    assert found.of(wanted).tolist() == [i for i, value in enumerate(values) if value in asked & some]
    assert found.token_range == ((min(values), max(values)) if values else (0, -1))
    assert found.knows(wanted) == (some <= asked)
