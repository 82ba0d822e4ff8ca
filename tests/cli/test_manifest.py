"""`packlint manifest PATH…`: complete, true, the same every time."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import packlint
from packlint.manifest.measure import UNMEASURED
from packlint.manifest.table import FILE_NAME
from packlint.model.manifest import FIELDS
from tests.cli.conftest import Run

SAMPLES = Path(__file__).parents[1] / "samples"
FORM = json.loads((files("packlint.reporters") / "schema" / "manifest-v1.json").read_text("utf-8"))
TOY = ("--eos-id", 2, "--bos-id", 1, "--vocab-size", 400)
TELL = ("--packing-algorithm", "bfd", "--distribution-change", "none", "--tokenizer", SAMPLES / "_tokenizer")


def copy_of(name: str, folder: Path) -> Path:
    return shutil.copytree(SAMPLES / name, folder / name)


def table_of(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / FILE_NAME).read_text())
    return table


def codes(report: packlint.Report) -> set[str]:
    return {finding.code for finding in report.findings}


STREAM = ("--max-seq-len", 64)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("trl_bfd/dataset", ()),
        ("llamafactory_neat_packing", ()),
        ("automodel_packed", ()),
        ("bridge_packed_parquet", ()),
        ("torchtune_packed_sft", ()),
        ("mds_concat_tokens", ()),
        ("mds_prolong_indices", ()),
        ("nemo_packed_npy", ()),
        ("litdata_tokens", STREAM),
        ("megatron_uint16_eod", STREAM),
        ("megatron_uint16_eod", ()),
        ("neox_text_label_pair", STREAM),
        ("xtuner_varlen_arrow", ()),
        ("olmo_core_packed_rows", ()),
    ],
)
def test_what_is_written_is_true_and_changes_no_finding(
    run: Run, tmp_path: Path, name: str, options: tuple[object, ...]
) -> None:
    folder = shutil.copytree(SAMPLES / name, tmp_path / "set")
    spec: dict[str, Any] = {"eos_ids": [2], "bos_id": 1, "vocab_size": 400}
    if options:
        spec["max_seq_len"] = 64
    before = codes(packlint.check(folder, spec=spec))

    result = run("manifest", folder, *TOY, *options, *TELL[:4])

    assert result.code == 0, result.err
    table = table_of(folder)
    jsonschema.Draft202012Validator(FORM).validate(table)
    assert set(FIELDS) <= set(table)
    after = codes(packlint.check(folder))
    assert after - before <= {"MAN002"}
    assert before - after == {"MAN001"}


def test_all_ten_fields(run: Run, tmp_path: Path) -> None:
    folder = copy_of("llamafactory_neat_packing", tmp_path)

    result = run("manifest", folder, *TOY, *TELL)

    assert result.err == f"packlint: wrote {FILE_NAME} for 1 shard\n"
    table = table_of(folder)
    assert {name: table[name] for name in FIELDS if name != "tokenizer"} == {
        "max_seq_len": 128,
        "boundary_tokens": [2],
        "packing_algorithm": "bfd",
        "cross_document_attention": False,
        "attention_mask_type": "block_causal",
        "loss_mask_rule": "completion",
        "padding_fraction": pytest.approx(105 / 903),
        "samples_per_pack": pytest.approx(24 / 7),
        "distribution_change": "none",
    }
    assert table["tokenizer"].startswith("sha256:")
    assert table["measured"] == {
        "n_packs": 7,
        "n_segments": 24,
        "n_tokens": 903,
        "n_padding": 105,
        "n_targets": 313,
    }
    assert "MAN002" not in codes(packlint.check(folder))


def test_says_what_is_open_and_how_to_declare_it(run: Run, tmp_path: Path) -> None:
    folder = copy_of("megatron_uint16_eod", tmp_path)

    err = run("manifest", folder, *TOY).err

    assert "undeclared: tokenizer version (give --tokenizer)" in err
    assert "undeclared: sequence length (give --max-seq-len)" in err


def test_the_same_bytes_every_time_and_everywhere(run: Run, tmp_path: Path) -> None:
    texts = []
    for place in ("here", "there/deeper"):
        folder = copy_of("litdata_tokens", tmp_path / place)
        run("manifest", folder, *TOY, *STREAM)
        texts.append((folder / FILE_NAME).read_bytes())
        run("manifest", folder, *TOY, *STREAM)
        texts.append((folder / FILE_NAME).read_bytes())

    assert len(set(texts)) == 1


def test_what_was_said_before_is_kept(run: Run, tmp_path: Path) -> None:
    folder = copy_of("trl_bfd", tmp_path) / "dataset"
    run("manifest", folder, *TOY, *TELL)
    first = table_of(folder)

    run("manifest", folder, *TOY, "--packing-algorithm", "bfd, TRL 0.24")

    second = table_of(folder)
    assert {name: second[name] for name in UNMEASURED} == {
        **{name: first[name] for name in UNMEASURED},
        "packing_algorithm": "bfd, TRL 0.24",
    }


def test_changed_shards_are_found(run: Run, tmp_path: Path) -> None:
    folder = copy_of("torchtune_packed_sft", tmp_path)
    run("manifest", folder, *TOY)
    path = folder / "packs.jsonl"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join([rows[1], rows[0], *rows[2:]]))

    report = packlint.check(folder)

    (finding,) = (f for f in report.findings if f.code == "MAN003")
    assert finding.message == (
        "1 declared value does not hold: a shard holds other tokens, or in another order"
    )


def test_to_standard_output_and_to_a_file(run: Run, tmp_path: Path) -> None:
    folder = copy_of("litdata_tokens", tmp_path)
    shown = json.loads(run("manifest", folder, *TOY, "--output", "-").out)
    run("manifest", folder, *TOY, "--output", tmp_path / "m.json")
    saved = json.loads((tmp_path / "m.json").read_text())

    assert not (folder / FILE_NAME).exists()
    assert [entry["path"] for entry in shown["shards"]] == [f"chunk-0-{i}.bin" for i in range(3)]
    assert [entry["path"] for entry in saved["shards"]] == [
        f"litdata_tokens/train/chunk-0-{i}.bin" for i in range(3)
    ]
    assert run("check", folder, "--manifest", tmp_path / "m.json", "--select", "MAN003").code == 0


def test_several_inputs_share_one_in_the_folder_above(run: Run, tmp_path: Path) -> None:
    folders = [copy_of(name, tmp_path) for name in ("torchtune_packed_sft", "trl_bfd")]

    run("manifest", folders[0] / "packs.jsonl", folders[1] / "packed.parquet", *TOY)

    assert [entry["path"] for entry in table_of(tmp_path)["shards"]] == [
        "torchtune_packed_sft/packs.jsonl",
        "trl_bfd/packed.parquet",
    ]


def test_a_damaged_shard_gets_no_manifest(run: Run, tmp_path: Path) -> None:
    folder = copy_of("trl_bfd", tmp_path)
    (folder / "packed.parquet").write_bytes((folder / "packed.parquet").read_bytes()[:-20])

    result = run("manifest", folder)

    assert result.code == 2
    assert "packed.parquet" in result.err
    assert not (folder / FILE_NAME).exists()


def test_nor_does_one_with_a_damaged_row(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"input_ids": [1, 2]}\n{"input_ids": [1\n')

    result = run("manifest", tmp_path)

    assert result.code == 2
    assert "a manifest of it would not be complete" in result.err


def test_rows_that_were_not_packed_are_not_declared_packed(run: Run, tmp_path: Path) -> None:
    row = {"input_ids": [1, 11, 2, 0, 0, 0, 0, 0], "segment_ids": [1, 1, 1, 0, 0, 0, 0, 0]}
    (tmp_path / "a.jsonl").write_text((json.dumps(row) + "\n") * 5)
    before = codes(packlint.check(tmp_path))

    run("manifest", tmp_path)

    assert table_of(tmp_path)["spec"]["packed"] is False
    assert codes(packlint.check(tmp_path)) - before <= {"MAN002"}


def test_no_shards(run: Run, tmp_path: Path) -> None:
    assert run("manifest", tmp_path).code == 3
