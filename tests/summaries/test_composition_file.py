"""Saved compositions: the same bytes for the same data; a file of anyone's is refused with the place."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UsageError
from packlint.summaries.composition import Composition
from packlint.summaries.composition_file import is_composition, read_composition, write_composition
from packlint.testing import composition_of
from tests.packs import random_packs

PLAIN = composition_of(random_packs(np.random.default_rng(3), n_packs=9)).to_dict() | {
    "categories": {"domain": {"is_overfull": False, "by_name": {"web": [1, 4, 0, 16, 0, 0]}}}
}


def changed(path: str, value: Any) -> dict[str, Any]:
    plain = copy.deepcopy(PLAIN)
    *names, last = path.split(".")
    node: Any = plain
    for name in names:
        node = node[int(name)] if isinstance(node, list) else node[name]
    node[int(last) if isinstance(node, list) else last] = value
    return plain


def test_written_and_read(tmp_path: Path) -> None:
    composition = Composition.from_dict(PLAIN)
    write_composition(composition, tmp_path / "a.json")
    write_composition(read_composition(tmp_path / "a.json"), tmp_path / "b.json")

    assert read_composition(tmp_path / "b.json") == composition
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert is_composition(tmp_path / "a.json")


def test_is_small(tmp_path: Path) -> None:
    composition = Composition()
    composition.add_samples(np.random.default_rng(0).integers(1, 4096, 1_000_000))
    write_composition(composition, tmp_path / "a.json")

    assert (tmp_path / "a.json").stat().st_size < 40_000


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1]", b'{"schema": 1}', b'{"input_ids": [1]}\n', b"\x93NUMPY", b"\xff\xfe{"]
)
def test_other_files_are_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)

    assert not is_composition(path)
    with pytest.raises(UsageError, match=r"^a\.json: "):
        read_composition(path)


def test_folders_and_missing_files(tmp_path: Path) -> None:
    assert not is_composition(tmp_path)
    assert not is_composition(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be read"):
        read_composition(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be written"):
        write_composition(Composition(), tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("schema", "packlint/composition/v2", "schema: wanted packlint/composition/v1"),
        ("n_packs", -1, "n_packs: wanted a whole number"),
        ("n_packs", True, "n_packs: wanted a whole number"),
        ("n_packs", 1.5, "n_packs: wanted a whole number"),
        ("n_packs", 2**70, "n_packs: wanted a whole number"),
        ("lengths", [], "lengths: wanted a table"),
        ("lengths.steps.0", -3, "lengths.steps: wanted a list of whole numbers"),
        ("lengths.steps.1", 0, "lengths.steps: wanted rising numbers"),
        ("lengths.steps.1", 2**39, "lengths.steps: wanted"),
        ("lengths.counts", [1], "lengths.counts: wanted"),
        ("lengths.counts.0", 0, "lengths.counts: wanted counts from 1"),
        ("lengths.counts.0", 2**59, "lengths.counts: wanted counts from 1"),
        ("tokens.halves.0.steps.0", 2**30, "tokens.halves[0].steps: wanted"),
        ("tokens.halves", [], "tokens.halves: wanted two halves"),
        ("target_positions", [1] * 99, "target_positions: wanted at most"),
        ("target_positions", [5, 0], "target_positions: wanted at most"),
        ("categories.domain.by_name.web", [1, 2], "categories.domain.by_name.web: wanted 6 numbers"),
        ("categories.domain.by_name.web.1", "4", "categories.domain.by_name.web[1]: wanted a whole"),
        ("categories.domain.is_overfull", 0, "is_overfull: wanted true or false"),
        ("categories.domain.is_overfull", True, "by_name: wanted at most"),
        ("special_ids", {"what": [1]}, "wanted pad or bos"),
        ("special_ids", {"pad": [-1]}, "special_ids.pad: wanted"),
        ("extra", 1, "wanted no key 'extra'"),
        ("n_unbounded", 10**6, "n_unbounded exceeds the packs"),
        ("n_inferred", 10**6, "n_inferred exceeds the samples"),
        ("n_without_targets", 1, "targets are not of all samples"),
        ("n_without_targets", 10**6, "n_without_targets exceeds"),
        ("pack_targets", {"steps": [], "counts": []}, "pack_targets are not all targets"),
        ("targets_by_length", {"steps": [], "counts": []}, "targets_by_length are not all targets"),
        ("target_positions", [10**9], "target_positions exceed"),
    ],
)
def test_faults_are_named_with_their_place(path: str, value: Any, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        Composition.from_dict(changed(path, value), "old.json")

    assert str(raised.value).startswith("old.json: ")
    assert said in str(raised.value)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("name", PLAIN)
def test_every_key_is_needed(name: str) -> None:
    with pytest.raises(UsageError, match=f"wanted the key {name}"):
        Composition.from_dict({key: value for key, value in PLAIN.items() if key != name})


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"schema": NaN}', '{"n": ' + "9" * 5000 + "}", '{"schema": "packlint/composition/v1"'],
    ids=["deep", "nan", "digits", "cut"],
)
def test_damaged_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)

    with pytest.raises(UsageError, match=r"^a\.json: "):
        read_composition(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from([*PLAIN, "lengths.steps", "tokens.halves.1", "categories.domain.by_name"]), JSON)
@settings(max_examples=200)
def test_anything_else_is_read_or_refused(path: str, value: Any) -> None:
    plain = changed(path, value)
    try:
        read = Composition.from_dict(plain)
    except UsageError:
        return
    assert json.loads(json.dumps(read.to_dict())) == plain
