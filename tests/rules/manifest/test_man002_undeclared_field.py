"""MAN002: fields that a manifest leaves open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.manifest import FIELDS, Manifest
from packlint.rule import Judgement
from packlint.testing import judge, make_batch
from packlint_rules.manifest.man002_undeclared_field import UndeclaredField

ALL: dict[str, Any] = dict.fromkeys(FIELDS, "something")


def undeclared(*manifests: Manifest) -> Judgement | None:
    found = judge(UndeclaredField, [make_batch({"input_ids": [[1]]})], manifests=manifests)
    return found[0] if found else None


def test_the_ten_fields() -> None:
    assert len(FIELDS) == 10
    assert undeclared(Manifest(name="m", fields=ALL)) is None
    assert undeclared() is None, "MAN001 says that there is none"


@pytest.mark.parametrize("name", FIELDS)
def test_each_by_itself(name: str) -> None:
    found = undeclared(Manifest(name="m", fields={key: 0 for key in FIELDS if key != name}))

    assert found is not None
    assert found.message == f"1 field is declared nowhere: {FIELDS[name]}"
    assert found.measured == {"undeclared": name, "manifests": 1}


@given(st.lists(st.sets(st.sampled_from(sorted(FIELDS))), min_size=1, max_size=7))
@settings(max_examples=60)
def test_exactly_what_is_left_open(open_fields: list[set[str]]) -> None:
    manifests = [
        Manifest(name=f"m{i}", fields={key: 0 for key in FIELDS if key not in missing})
        for i, missing in enumerate(open_fields)
    ]

    found = undeclared(*manifests)

    union = set().union(*open_fields)
    assert (0 if found is None else found.n_hits) == sum(map(len, open_fields))
    if found:
        assert found.measured["undeclared"] == ", ".join(name for name in FIELDS if name in union)
        lacking = {place.shard: place.amount for place in found.locations}
        assert len(lacking) == min(5, sum(map(bool, open_fields)))
        assert all(len(open_fields[int(name[1:])]) == amount for name, amount in lacking.items())
