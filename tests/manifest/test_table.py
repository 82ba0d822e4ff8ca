"""The form of a manifest: what is accepted, what it becomes, and that schema and parser agree."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from packlint.config_schema import SpecTable
from packlint.errors import ConfigError
from packlint.manifest.table import SCHEMA, parse_manifest, read_manifest
from packlint.model.manifest import FIELDS
from packlint.model.spec import Known, Origin
from packlint.readers.source import Source

FORM: dict[str, Any] = json.loads(
    (files("packlint.reporters") / "schema" / "manifest-v1.json").read_text("utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(FORM)

FULL: dict[str, Any] = {
    "schema": SCHEMA,
    "tool": {"name": "packlint", "version": "0.1.0"},
    "tokenizer": "gpt2 @ 607a30d",
    "max_seq_len": 4096,
    "boundary_tokens": [2],
    "packing_algorithm": "best fit",
    "cross_document_attention": False,
    "attention_mask_type": "block_causal",
    "loss_mask_rule": "completion",
    "padding_fraction": 0.03,
    "samples_per_pack": 3,
    "distribution_change": "none",
    "spec": {"vocab_size": 100, "pad_id": 0, "eos_ids": [2, 3], "label_alignment": "preshifted"},
    "measured": {"n_packs": 1, "n_segments": 3, "n_tokens": 4096, "n_padding": 1, "n_targets": 5},
    "shards": [{"path": "a/b.parquet", "n_packs": 1, "content": "0" * 32}, {"path": "c.parquet"}],
}


def test_everything_said_arrives() -> None:
    table = parse_manifest(FULL)

    assert table.fields == {name: FULL[name] for name in FIELDS}
    assert table.spec.max_seq_len == Known(4096, Origin.MANIFEST, "packlint-manifest.json")
    assert table.spec.eos_ids is not None
    assert (table.spec.eos_ids.value, table.spec.eos_ids.origin) == ((2, 3), Origin.MANIFEST)
    assert table.counts == FULL["measured"]
    assert table.shards == {"a/b.parquet": {"n_packs": 1, "content": "0" * 32}, "c.parquet": {}}


def test_what_is_left_out_or_null_is_open() -> None:
    for table in ({"schema": SCHEMA}, {"schema": SCHEMA, **dict.fromkeys(FIELDS)}):
        parsed = parse_manifest(table)
        assert (parsed.fields, parsed.counts, parsed.shards) == ({}, {}, {})
        assert parsed.spec.max_seq_len is None


def test_the_boundary_token_is_the_end_id_where_nothing_else_says_so() -> None:
    assert parse_manifest({"schema": SCHEMA, "boundary_tokens": [7]}).spec.end_ids == (7,)
    begin = {"schema": SCHEMA, "boundary_tokens": [7], "spec": {"bos_id": 7}}
    assert parse_manifest(begin).spec.eos_ids is None


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"schema": "packlint/manifest/v2"}, "schema"),
    ({"max_seq_length": 5}, "unknown key max_seq_length, did you mean max_seq_len?"),
    ({"max_seq_len": 0}, "max_seq_len"),
    ({"max_seq_len": "4096"}, "max_seq_len"),
    ({"padding_fraction": 1.5}, "padding_fraction"),
    ({"padding_fraction": float("nan")}, "padding_fraction"),
    ({"cross_document_attention": "no"}, "cross_document_attention"),
    ({"boundary_tokens": 2}, "boundary_tokens"),
    ({"spec": {"max_seq_len": 5}}, "spec.max_seq_len"),
    ({"spec": {"eos_id": 5}}, "spec.eos_id"),
    ({"measured": {"n_packs": -1}}, "measured.n_packs"),
    ({"shards": [{"n_packs": 1}]}, "shards.0.path"),
    ({"shards": [{"path": "a", "content": "xyz"}]}, "shards.0.content"),
    *[
        ({"shards": [{"path": path}]}, "shards.0.path")
        for path in ("/etc/passwd", "../a", "a/../b", "", "a\\b")
    ],
]


@pytest.mark.parametrize(("change", "where"), WRONG)
def test_wrong_values_are_named(change: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError, match=r"^m\.json: ") as caught:
        parse_manifest({**FULL, **change}, "m.json")

    assert where in str(caught.value)


@pytest.mark.parametrize("table", [None, [], "x", 5])
def test_no_object(table: object) -> None:
    with pytest.raises(ConfigError, match="the file"):
        parse_manifest(table)


@pytest.mark.parametrize("text", ["", "{", "\xff", "[" * 100_000, '{"schema": "packlint/manifest/v1"} x'])
def test_no_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(ConfigError, match=r"m\.json: not valid JSON"):
        read_manifest(Source(str(tmp_path / "m.json")))


def test_the_schema_accepts_what_the_parser_does() -> None:
    jsonschema.Draft202012Validator.check_schema(FORM)
    VALIDATOR.validate(FULL)
    VALIDATOR.validate({"schema": SCHEMA, **dict.fromkeys(FIELDS)})
    assert set(FIELDS) <= set(FORM["properties"])
    assert set(FORM["properties"]["spec"]["properties"]) == set(SpecTable.model_fields) - {"max_seq_len"}


@pytest.mark.parametrize(
    "change", [c for c, _ in WRONG if "\\" not in str(c) and "path" not in str(c) and "nan" not in str(c)]
)
def test_the_schema_refuses_what_the_parser_does(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({**FULL, **change})
