"""Which manifest stands for which shard, and where its values rank."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import packlint
from packlint.errors import ConfigError, UsageError
from packlint.manifest.lookup import load_manifests
from packlint.manifest.table import FILE_NAME, SCHEMA
from packlint.report import Report

ROW = {"input_ids": [1, 11, 2, 1, 12, 2], "seq_lens": [3, 3]}


def write(folder: Path, *names: str, manifest: dict[str, Any] | None = None) -> Path:
    """Write one pack under each name, and a manifest."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(ROW) + "\n")
    if manifest is not None:
        folder.mkdir(exist_ok=True)
        (folder / FILE_NAME).write_text(json.dumps({"schema": SCHEMA, **manifest}))
    return folder


def messages(report: Report, code: str) -> list[str]:
    return [finding.message for finding in report.findings if finding.code == code]


def test_the_nearest_counts(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", "in/b.jsonl", manifest={"max_seq_len": 6})
    write(tmp_path / "in", manifest={"max_seq_len": 5})

    found = load_manifests([str(tmp_path)]).declare(
        [f"{tmp_path.name}/a.jsonl", f"{tmp_path.name}/in/b.jsonl"]
    )

    assert {m.fields["max_seq_len"]: m.shards for m in found.manifests} == {6: {0}, 5: {1}}
    assert messages(packlint.check(tmp_path), "MAN003") == [
        "1 declared value does not hold: max_seq_len 5 (the longest pack has 6 slots)"
    ]


def test_names_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    write(tmp_path / "data", "x/a.jsonl", manifest={})

    report = packlint.check(tmp_path / "data")

    (finding,) = (f for f in report.findings if f.code == "MAN002")
    assert [place.shard for place in finding.locations] == [f"data/{FILE_NAME}"]
    assert str(tmp_path) not in report.to_json()


@pytest.mark.parametrize(
    "inputs", [["."], ["a.jsonl", "in/b.jsonl"], ["*.jsonl", "in/*.jsonl"], ["./in/../."]]
)
def test_however_the_shards_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: list[str]
) -> None:
    shards = [{"path": "a.jsonl", "n_packs": 1}, {"path": "in/b.jsonl", "n_packs": 2}]
    write(tmp_path, "a.jsonl", "in/b.jsonl", manifest={"measured": {"n_packs": 3}, "shards": shards})
    monkeypatch.chdir(tmp_path)

    assert messages(packlint.check(inputs), "MAN003") == [
        "2 declared values do not hold: n_packs 3 (counted 2); n_packs of a shard 2 (counted 1)"
    ]


def test_above_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "in/b.jsonl", manifest={"max_seq_len": 5})
    monkeypatch.chdir(tmp_path / "in")

    assert len(messages(packlint.check("b.jsonl"), "MAN003")) == 1


def test_a_glob_that_matches_the_manifest_too(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", manifest={"max_seq_len": 6})

    assert messages(packlint.check(str(tmp_path / "*")), "SHD001") == []


def test_a_part_of_a_set_without_a_list(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", "b.jsonl", manifest={"samples_per_pack": 9.0, "measured": {"n_packs": 7}})

    assert messages(packlint.check(tmp_path / "a.jsonl"), "MAN003") == []
    assert len(messages(packlint.check(tmp_path), "MAN003")) == 1


def test_a_manifest_that_is_named(tmp_path: Path) -> None:
    write(tmp_path / "data", "a.jsonl", manifest={"max_seq_len": 5})
    shards = [{"path": "data/a.jsonl", "n_packs": 4}, {"path": "data/z.jsonl"}]
    write(tmp_path / "other", manifest={"max_seq_len": 6, "shards": shards})

    report = packlint.check(tmp_path / "data", manifest=str(tmp_path / "other" / FILE_NAME))

    assert messages(report, "MAN003") == ["1 declared value does not hold: n_packs of a shard 4 (counted 1)"]
    assert messages(report, "SHD006") == []
    with pytest.raises(UsageError, match="--manifest"):
        packlint.check(tmp_path / "data", manifest=str(tmp_path / "none.json"))


def test_one_named_in_the_configuration_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from packlint.config import read_config

    (tmp_path / "packlint.toml").write_text('manifest = "m.json"')

    assert read_config(tmp_path / "packlint.toml").manifest == str(tmp_path / "m.json")


def test_values_rank_between_configuration_and_format(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", manifest={"max_seq_len": 6, "spec": {"eos_ids": [2], "pad_id": 5}})

    report = packlint.check(tmp_path, spec={"pad_id": 0})

    assert {name: (known.value, known.origin) for name, known in report.spec.items()} == {
        **{name: (known.value, known.origin) for name, known in report.spec.items()},
        "max_seq_len": (6, "manifest"),
        "eos_ids": ((2,), "manifest"),
        "pad_id": (0, "config"),
    }


def test_values_win_over_the_tokenizers(tmp_path: Path) -> None:
    tokenizer = Path(__file__).parents[1] / "samples" / "_tokenizer"
    write(tmp_path, "a.jsonl", manifest={"spec": {"vocab_size": 77}})

    report = packlint.check(tmp_path, tokenizer=str(tokenizer))

    assert (report.spec["vocab_size"].value, report.spec["vocab_size"].origin) == (77, "manifest")
    assert report.spec["bos_id"].origin == "tokenizer"


def test_shards_of_one_layout_may_have_manifests_of_their_own(tmp_path: Path) -> None:
    write(tmp_path / "a", "x.jsonl", manifest={"max_seq_len": 6})
    write(tmp_path / "b", "y.jsonl", manifest={"max_seq_len": 5})

    report = packlint.check(tmp_path)

    assert [finding.shard for finding in report.findings if finding.code == "FIL004"] == [
        f"{tmp_path.name}/b/y.jsonl"
    ]


def test_windows_of_a_stream_follow_the_manifest(tmp_path: Path) -> None:
    import numpy as np

    np.arange(10, 50, dtype=np.uint16).tofile(tmp_path / "train.bin")
    manifest = {"schema": SCHEMA, "max_seq_len": 8, "spec": {"token_dtype": "uint16"}}
    (tmp_path / FILE_NAME).write_text(json.dumps(manifest))

    (entry,) = packlint.check(tmp_path).inputs

    assert (entry.unit, entry.n_packs) == ("pack", 5)


def test_a_broken_manifest_stops_the_run(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl")
    (tmp_path / FILE_NAME).write_text("{")

    with pytest.raises(ConfigError, match=FILE_NAME):
        packlint.check(tmp_path)


def test_the_manifest_is_no_shard(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", manifest={})

    assert [entry.path for entry in packlint.check(tmp_path).inputs] == [f"{tmp_path.name}/a.jsonl"]


def test_links_are_followed_as_they_are_named(tmp_path: Path) -> None:
    write(tmp_path / "real", "a.jsonl")
    write(tmp_path / "view", manifest={"max_seq_len": 5})
    os.symlink(tmp_path / "real" / "a.jsonl", tmp_path / "view" / "a.jsonl")

    assert len(messages(packlint.check(tmp_path / "view"), "MAN003")) == 1
    assert messages(packlint.check(tmp_path / "real"), "MAN003") == []
