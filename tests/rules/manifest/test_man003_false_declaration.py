"""MAN003: declared values that do not hold, and sidecars whose readers say so."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Severity
from packlint.model.batch import PackBatch
from packlint.model.manifest import Manifest
from packlint.rule import Judgement
from packlint.summaries.figures import COUNTS, ShardFigures
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.manifest.man003_false_declaration import FalseDeclaration
from tests.packs import Packs, random_packs, sft_packs

SAMPLES = Path(__file__).parents[2] / "samples"


def false(
    packs: Packs | list[PackBatch],
    fields: dict[str, Any] | None = None,
    counts: dict[str, int] | None = None,
    options: dict[str, Any] | None = None,
    **more: Any,
) -> Judgement | None:
    batches = packs if isinstance(packs, list) else [make_batch(packs)]
    shards = frozenset(batch.shard.index for batch in batches)
    manifest = Manifest(name="m", fields=fields or {}, counts=counts or {}, **{"shards": shards, **more})
    found = judge(FalseDeclaration, batches, manifests=(manifest,), **(options or {}))
    return found[0] if found else None


def measured(packs: Packs) -> ShardFigures:
    figures = ShardFigures()
    for batch in make_batches(packs):
        figures.add(batch)
    return figures


def true_fields(packs: Packs) -> dict[str, Any]:
    figures = measured(packs).of([0])
    return {
        "max_seq_len": figures.longest,
        "boundary_tokens": [2],
        "cross_document_attention": False,
        "attention_mask_type": "block_causal",
        "loss_mask_rule": "completion",
        "padding_fraction": figures.padding_fraction,
        "samples_per_pack": figures.samples_per_pack,
    }


PACKS = random_packs(np.random.default_rng(3), n_packs=6, max_segments=5)
WRONG: dict[str, tuple[Any, str]] = {
    "max_seq_len": (7, "max_seq_len 7 (the longest pack has"),
    "boundary_tokens": ([9], ""),
    "cross_document_attention": (True, "cross_document_attention True (samples are kept apart)"),
    "attention_mask_type": ("causal", "attention mask causal (the trainer builds block_causal)"),
    "loss_mask_rule": ("all", "loss mask rule all (real tokens are left out)"),
    "padding_fraction": (0.99, "padding_fraction 0.99 (measured"),
    "samples_per_pack": (17.0, "samples_per_pack 17 (measured"),
}


def test_true_fields_are_silent() -> None:
    assert false(PACKS, true_fields(PACKS)) is None


@pytest.mark.parametrize("name", [name for name in WRONG if name != "boundary_tokens"])
def test_each_wrong_field_alone(name: str) -> None:
    value, says = WRONG[name]

    found = false(PACKS, {**true_fields(PACKS), name: value})

    assert found is not None
    assert found.n_hits == 1
    assert found.message.startswith(f"1 declared value does not hold: {says}")


def test_boundary_token_that_stands_nowhere() -> None:
    packs = {
        **PACKS,
        "input_ids": [[min(i, 9) + 10 if i == 2 else i for i in row] for row in PACKS["input_ids"]],
    }
    packs["config"] = {**PACKS["config"], "spec": {"eos_ids": [2], "pad_id": 0}}

    found = false(packs, {"boundary_tokens": [2]})

    assert found is not None
    assert found.message == (
        "1 declared value does not hold: boundary token 2 (stands at 0 % of the boundaries)"
    )


def test_separators_may_follow_the_end_token() -> None:
    packs = {
        "input_ids": [[11, 2, 9, 12, 2, 9]],
        "seq_lens": [[3, 3]],
        "config": {"trainer": "trl", "spec": {"eos_ids": [2]}},
    }

    assert false(packs, {"boundary_tokens": [2]}) is None


def test_the_end_token_must_be_of_the_sample_before_the_boundary() -> None:
    packs = {
        "input_ids": [[11, 2, 12, 13, 14]],
        "seq_lens": [[2, 1, 2]],
        "config": {"trainer": "trl", "spec": {"eos_ids": [2]}},
    }

    assert false(packs, {"boundary_tokens": [2]}) is None
    assert false(packs, {"boundary_tokens": [2]}, options={"min_boundary_fraction": 0.6}) is not None


@pytest.mark.parametrize("words", ["block-diagonal, as written", "all but names"])
def test_words_of_ones_own_are_not_checked(words: str) -> None:
    assert (
        false(PACKS, {"attention_mask_type": words, "loss_mask_rule": words, "packing_algorithm": words})
        is None
    )


@pytest.mark.parametrize(("slots", "fires"), [(8, False), (9, True), (7, True)])
def test_packs_padded_to_another_length(slots: int, fires: bool) -> None:
    packs = {"input_ids": [[1, 5, 2, 0, 0, 0, 0, 0]] * 2, "attention_mask": [[1, 1, 1, 0, 0, 0, 0, 0]] * 2}

    assert (false(packs, {"max_seq_len": slots}) is not None) == fires


def test_slots_that_the_packer_adds_are_allowed() -> None:
    packs = {
        "input_ids": [[1, 5, 2, 1, 6, 2, 0, 0, 0]] * 2,
        "attention_mask": [[1, 1, 1, 2, 2, 2, 0, 0, 0]] * 2,
        "config": {"trainer": "llama-factory"},
    }

    assert false(packs, {"max_seq_len": 8}) is None
    assert false(packs, {"max_seq_len": 9}) is not None


def test_figures_of_a_set_need_the_whole_set() -> None:
    wrong = {"padding_fraction": 0.99, "samples_per_pack": 17.0}

    assert false(PACKS, wrong, {"n_packs": 1}, is_whole=False) is None
    assert false(PACKS, wrong, {"n_packs": 1}).n_hits == 3  # type: ignore[union-attr]


def test_tolerances() -> None:
    fields = true_fields(PACKS)
    near = {**fields, "padding_fraction": fields["padding_fraction"] + 0.004}

    assert false(PACKS, near) is None
    assert false(PACKS, near, options={"max_padding_difference": 0.001}) is not None


@given(sft_packs(), st.sampled_from(COUNTS), st.integers(-3, 3))
@settings(max_examples=40)
def test_counts_are_exact(packs: Packs, name: str, off_by: int) -> None:
    entry = measured(packs).entry(0)
    counts = {key: int(entry[key]) for key in COUNTS}
    counts[name] += off_by

    found = false(make_batches(packs, 40), counts=counts)

    assert (found is not None) == (off_by != 0)
    if found:
        assert found.message.startswith(f"1 declared value does not hold: {name} ")


@given(sft_packs(), st.data())
@settings(max_examples=40)
def test_listed_shards_are_held_to_their_hash(packs: Packs, data: st.DataObject) -> None:
    entry = measured(packs).entry(0)
    listed: dict[str, Any] = {"listed": {0: entry}, "lists_shards": True}
    assert false(packs, **listed) is None
    row = data.draw(st.integers(0, len(packs["input_ids"]) - 1))
    place = data.draw(st.integers(0, len(packs["input_ids"][row]) - 1))
    packs["input_ids"][row][place] += 101

    found = false(packs, **listed)

    assert found is not None
    assert found.n_hits == 1
    assert found.locations[0].note == "a shard holds other tokens, or in another order"


def test_a_shard_that_is_not_listed_and_one_of_other_size() -> None:
    one = make_batch(PACKS)
    other = replace(one, shard=replace(one.shard, index=1, name="other"))

    found = false([one, other], listed={0: {"n_packs": 9}}, lists_shards=True)

    assert found is not None
    assert found.message == (
        "2 declared values do not hold: n_packs of a shard 9 (counted 6); a shard is not listed"
    )
    assert [place.shard for place in found.locations] == ["example", "other"]


def test_another_tokenizer() -> None:
    assert false(PACKS, {"tokenizer": "sha256:1"}) is None
    assert false(PACKS, {"tokenizer": "sha256:1"}, tokenizer="sha256:1") is None
    assert false(PACKS, {"tokenizer": "sha256:1"}, tokenizer="sha256:2") is not None


def test_many_are_counted_and_few_named() -> None:
    wrong = {name: value for name, (value, _) in WRONG.items() if name != "boundary_tokens"}

    found = false(PACKS, wrong)

    assert found is not None
    assert found.n_hits == 6
    assert found.message.endswith("; and 2 more")
    assert len(found.locations) == 5


def test_a_packers_own_sidecar(tmp_path: Path) -> None:
    folder = shutil.copytree(SAMPLES / "nemo_packed_npy", tmp_path / "nemo")
    sidecar = next(folder.glob("*_metadata.jsonl"))
    entries = json.loads(sidecar.read_text())
    sidecar.write_text(json.dumps([{**entry, "packing_factor": 9.5} for entry in entries]))

    report = packlint.check(folder)

    (finding,) = (f for f in report.findings if f.code == "MAN003")
    assert finding.severity is Severity.ERROR
    assert "9.5" in finding.message
    assert finding.shard
    (rule,) = (r for r in report.rules if r.code == "MAN003")
    assert (rule.status, rule.n_hits) == ("found", 1)


def test_no_manifest_no_finding() -> None:
    assert judge(FalseDeclaration, [make_batch(PACKS)]) == []
    assert judge(FalseDeclaration, []) == []
