"""What real packers wrote: counts are right to the token, correct packs give no error, faults are found.

The counts were computed apart from packlint, by slow plain code from the raw files. Each folder of
`tests/samples` has a README that says how it was made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packlint
from packlint.finding import Severity
from packlint.report import Report

SAMPLES = Path(__file__).parent.parent / "samples"
TOY = {"bos_id": 1, "eos_ids": [2], "vocab_size": 400}


@dataclass(frozen=True, kw_only=True)
class Sample:
    """State what must be read out of one sample.

    Args:
        path: below `tests/samples`; where the format is `memory`, an `.npz` is loaded first.
        prefix: of the arrays that belong to this sample, in an `.npz` that holds several.
        format: name of the format.
        trainer: default trainer, told by the format.
        profile: inferred profile.
        counts: over all shards: packs (none for a stream), segments, tokens, padding, targets, and targets
            outside the packs.
        settings: what a user of this data would declare.
        errors: codes of all errors under the right trainer and profile.
        warnings: codes of all warnings.
        numbers: `(code, key, value)`, computed by hand.
    """

    path: str
    prefix: str = ""
    format: str = "datasets"
    trainer: str
    profile: str = "sft"
    counts: tuple[int | None, int, int, int, int, int]
    settings: dict[str, Any] = field(default_factory=lambda: {"spec": TOY})
    errors: set[str] = field(default_factory=set)
    warnings: set[str] = field(default_factory=set)
    numbers: tuple[tuple[str, str, int], ...] = ()


TABLE = {
    "trl_bfd": Sample(path="trl_bfd/dataset", trainer="trl", counts=(7, 24, 798, 0, 313, 0)),
    "trl_bfd_parquet": Sample(
        path="trl_bfd/packed.parquet", format="parquet", trainer="trl", counts=(7, 24, 798, 0, 313, 0)
    ),
    "trl_bfd_split": Sample(path="trl_bfd_split/dataset", trainer="trl", counts=(7, 24, 798, 0, 313, 0)),
    "trl_bfd_split_parquet": Sample(
        path="trl_bfd_split/packed.parquet", format="parquet", trainer="trl", counts=(7, 24, 798, 0, 313, 0)
    ),
    "trl_bfd_completion_mask": Sample(
        path="trl_bfd_completion_mask/dataset", trainer="trl-0", counts=(7, 24, 798, 0, 313, 0)
    ),
    "trl_padding_free_batch": Sample(
        path="trl_padding_free_batch/batch.npz",
        format="memory",
        trainer="transformers-flattening",
        counts=(1, 9, 350, 0, 168, 0),
    ),
    "llamafactory_neat_packing": Sample(
        path="llamafactory_neat_packing",
        trainer="llama-factory",
        counts=(7, 24, 903, 105, 313, 0),
        warnings={"FIL001"},
    ),
    "llamafactory_packing_no_neat": Sample(
        path="llamafactory_packing_no_neat",
        trainer="llama-factory-plain",
        counts=(7, 24, 903, 105, 313, 0),
        errors={"ISO001", "ISO006"},
        numbers=(("ISO001", "leaked_pairs", 32869),),
        warnings={"FIL001"},
    ),
    "axolotl_multipack_batch_v1": Sample(
        path="axolotl_multipack_batch/v1.npz",
        format="memory",
        trainer="transformers",
        settings={"spec": TOY, "trainer": "axolotl"},
        counts=(2, 5, 256, 73, 78, 0),
        warnings={"BND005", "FIL001"},
        numbers=(("BND005", "n_hits", 2), ("BND005", "n_tokens", 73)),
    ),
    "axolotl_multipack_batch_v2": Sample(
        path="axolotl_multipack_batch/v2.npz",
        format="memory",
        trainer="transformers",
        settings={"spec": TOY, "trainer": "axolotl"},
        counts=(2, 5, 256, 73, 78, 0),
        warnings={"BND005", "FIL001"},
        numbers=(("BND005", "n_hits", 2), ("BND005", "n_tokens", 73)),
    ),
    "axolotl_prepared": Sample(path="axolotl_prepared", trainer="axolotl", counts=(24, 24, 798, 0, 313, 0)),
    "xtuner_varlen_arrow": Sample(
        path="xtuner_varlen_arrow", trainer="xtuner", counts=(12, 34, 768, 0, 302, 0)
    ),
    "instructlab_data_jsonl": Sample(
        path="instructlab_data_jsonl/data.jsonl",
        format="jsonl",
        trainer="instructlab",
        counts=(24, 24, 798, 0, 313, 0),
    ),
    "automodel_packed": Sample(
        path="automodel_packed",
        trainer="automodel",
        counts=(7, 24, 896, 122, 289, 24),
        warnings={"FIL001"},
    ),
    "bridge_packed_parquet": Sample(
        path="bridge_packed_parquet",
        format="parquet",
        trainer="megatron-bridge",
        settings={"spec": {**TOY, "max_seq_len": 64}},
        counts=(14, 24, 798, 0, 313, 0),
        warnings={"FIL001"},
    ),
    "megatron_uint16_eod": Sample(
        path="megatron_uint16_eod/toy_text_document.bin",
        format="megatron",
        trainer="megatron",
        profile="pretrain",
        counts=(None, 24, 500, 0, 500, 0),
    ),
    "megatron_int32_noeod": Sample(
        path="megatron_int32_noeod/toy_text_document.bin",
        format="megatron",
        trainer="megatron",
        profile="pretrain",
        counts=(None, 24, 476, 0, 476, 0),
        errors={"SPC005"},
        numbers=(("SPC005", "n_hits", 24),),
    ),
    "megatron_multimodal_modes": Sample(
        path="megatron_multimodal_modes",
        format="megatron",
        trainer="megatron",
        profile="pretrain",
        counts=(None, 6, 131, 0, 131, 0),
    ),
    "megatron_gptdataset_rows_default": Sample(
        path="megatron_gptdataset_rows/rows.npz",
        prefix="default.",
        format="memory",
        trainer="megatron",
        profile="pretrain",
        counts=(15, 38, 480, 0, 465, 15),
    ),
    "megatron_gptdataset_rows_reset": Sample(
        path="megatron_gptdataset_rows/rows.npz",
        prefix="reset.",
        format="memory",
        trainer="megatron",
        profile="pretrain",
        counts=(15, 38, 480, 0, 442, 15),
    ),
    "neox_text_label_pair": Sample(
        path="neox_text_label_pair", format="megatron", trainer="neox", counts=(None, 24, 798, 0, 313, 0)
    ),
    "hf_flattening_batch": Sample(
        path="hf_flattening_batch/batch.npz",
        format="memory",
        trainer="transformers-flattening",
        counts=(1, 4, 150, 0, 69, 0),
    ),
    "maxtext_batch": Sample(
        path="maxtext_batch/batch.npz",
        format="memory",
        trainer="maxtext",
        profile="pretrain",
        counts=(9, 24, 576, 76, 491, 0),
        warnings={"FIL001"},
    ),
    "torchtune_packed_sft": Sample(
        path="torchtune_packed_sft/packs.jsonl",
        format="jsonl",
        trainer="torchtune",
        counts=(7, 24, 896, 98, 313, 0),
        warnings={"BND005", "FIL001"},
        numbers=(("BND005", "n_hits", 7), ("BND005", "n_tokens", 98)),
    ),
    "automodel_nanogpt_bin": Sample(
        path="automodel_nanogpt_bin",
        format="token-bin",
        trainer="automodel-nanogpt",
        profile="pretrain",
        counts=(None, 24, 500, 0, 500, 0),
    ),
    "llmc_gpt2_bin": Sample(
        path="llmc_gpt2_bin",
        format="token-bin",
        trainer="llm-c",
        profile="pretrain",
        counts=(None, 24, 500, 0, 500, 0),
    ),
    "nanogpt_bin": Sample(
        path="nanogpt_bin",
        format="raw-tokens",
        trainer="nanogpt",
        profile="pretrain",
        settings={"spec": {**TOY, "token_dtype": "uint16"}},
        counts=(None, 25, 500, 0, 500, 0),
    ),
    "datatrove_ds": Sample(
        path="datatrove_ds",
        format="datatrove",
        trainer="nanotron",
        profile="pretrain",
        counts=(None, 24, 500, 0, 500, 0),
    ),
    "datatrove_megatron": Sample(
        path="datatrove_megatron",
        format="megatron",
        trainer="megatron",
        profile="pretrain",
        counts=(None, 24, 500, 0, 500, 0),
    ),
    "fairseq_mmap": Sample(
        path="fairseq_mmap",
        format="fairseq",
        trainer="fairseq",
        profile="pretrain",
        counts=(None, 24, 500, 0, 500, 0),
    ),
    "fms_fsdp_arrow": Sample(
        path="fms_fsdp_arrow",
        format="fms-arrow",
        trainer="fms-fsdp",
        profile="pretrain",
        counts=(None, 24, 476, 0, 476, 0),
    ),
    "litdata_tokens": Sample(
        path="litdata_tokens",
        format="litdata",
        trainer="litgpt",
        profile="pretrain",
        counts=(None, 24, 500, 0, 500, 0),
    ),
    "tinyllama_litpkds": Sample(
        path="tinyllama_litpkds",
        format="litpkds",
        trainer="litgpt",
        profile="pretrain",
        counts=(None, 25, 594, 94, 500, 0),  # 24 documents, one of them cut at a chunk's end
    ),
    "mds_concat_tokens": Sample(
        path="mds_concat_tokens",
        format="mds",
        trainer="llm-foundry",
        profile="pretrain",
        counts=(7, 27, 448, 0, 448, 0),
    ),
    "mds_tokens_bytes_int64": Sample(
        path="mds_tokens_bytes_int64",
        format="mds",
        trainer="llm-foundry",
        profile="pretrain",
        counts=(7, 27, 448, 0, 448, 0),
    ),
    "mds_prolong_indices": Sample(
        path="mds_prolong_indices", format="mds", trainer="prolong", counts=(7, 24, 798, 0, 313, 0)
    ),
    "mds_sft_input_ids_labels": Sample(
        path="mds_sft_input_ids_labels",
        format="mds",
        trainer="llm-foundry-finetuning",
        counts=(24, 24, 798, 0, 313, 0),
    ),
    "nemo_packed_npy": Sample(
        path="nemo_packed_npy",
        format="npy",
        trainer="megatron-bridge",
        counts=(14, 24, 798, 0, 313, 0),
    ),
    "olmo_core_packed_rows": Sample(
        path="olmo_core_packed_rows",
        format="npz",
        trainer="olmo-core",
        settings={"spec": {**TOY, "pad_id": 0}},
        counts=(7, 24, 896, 98, 313, 0),
        warnings={"BND005", "FIL001"},
    ),
    "olmo_core_sft_numpy": Sample(
        path="olmo_core_sft_numpy",
        format="olmo-numpy",
        trainer="olmo-core",
        counts=(None, 24, 798, 0, 313, 0),
    ),
    "grain_first_fit": Sample(
        path="grain_first_fit",
        format="npz",
        trainer="grain",
        profile="pretrain",
        counts=(9, 24, 576, 76, 500, 0),
        warnings={"FIL001"},
    ),
    "arrayrecord_tfexample": Sample(
        path="arrayrecord_tfexample/toy.tfrecord",
        format="tfrecord",
        trainer="grain",
        profile="pretrain",
        counts=(9, 24, 576, 76, 500, 0),
        warnings={"FIL001"},
    ),
    "seqio_packed_tfrecord": Sample(
        path="seqio_packed_tfrecord/packed.tfrecord",
        format="tfrecord",
        trainer="seqio-inputs, seqio",
        profile="pretrain",
        counts=(18, 48, 1152, 354, 313, 0),  # encoder and decoder rows, 24 samples on each side
        warnings={"FIL001"},
    ),
}


PRESHIFTED = {
    "automodel_packed",
    "bridge_packed_parquet",
    "maxtext_batch",
    "megatron_gptdataset_rows_default",
    "megatron_gptdataset_rows_reset",
    "nemo_packed_npy",
}
"""Samples whose labels or loss masks sit on the token before; all others that store a loss are unshifted."""


def lint(sample: Sample, **settings: Any) -> Report:
    path = SAMPLES / sample.path
    if sample.format != "memory":
        return packlint.check(path, **settings)
    with np.load(path, allow_pickle=False) as arrays:
        kept = {n.removeprefix(sample.prefix): arrays[n] for n in arrays.files if n.startswith(sample.prefix)}
    return packlint.check(kept, **settings)


def codes(report: Report, severity: Severity) -> set[str]:
    return {finding.code for finding in report.findings if finding.severity is severity}


@pytest.mark.parametrize("name", TABLE)
def test_counts_and_recognition(name: str) -> None:
    sample = TABLE[name]
    settings = {key: value for key, value in sample.settings.items() if key != "trainer"}
    report = lint(sample, **settings)

    entries = report.inputs
    n_packs = None if any(e.n_packs is None for e in entries) else sum(e.n_packs or 0 for e in entries)
    names = ("n_segments", "n_tokens", "n_padding", "n_targets", "n_outside_targets")
    assert (n_packs, *(sum(getattr(e, name) for e in entries) for name in names)) == sample.counts
    assert {e.format for e in entries} == {sample.format}
    assert ", ".join(dict.fromkeys(e.trainer for e in entries)) == sample.trainer
    assert all(e.trainer_source == "format" and e.evidence for e in entries)
    assert (report.profile.name, report.profile.source) == (sample.profile, "inferred")


@pytest.mark.parametrize("name", TABLE)
def test_findings_under_the_right_trainer(name: str) -> None:
    sample = TABLE[name]
    report = lint(sample, **sample.settings)

    assert codes(report, Severity.ERROR) == sample.errors
    assert codes(report, Severity.WARNING) == sample.warnings
    by_code = {finding.code: finding for finding in report.findings}
    for code, key, value in sample.numbers:
        finding = by_code[code]
        counted = finding.measured[key] if key in finding.measured else getattr(finding, key)
        assert (code, key, counted) == (code, key, value)


@pytest.mark.parametrize("name", TABLE)
def test_label_alignment(name: str) -> None:
    sample = TABLE[name]
    report = lint(sample, **sample.settings)

    n_real = sample.counts[2] - sample.counts[3]
    stores_loss = sample.profile == "sft" or sample.counts[4] != n_real
    known = report.spec.get("label_alignment")
    if known is None:
        assert not stores_loss or sample.trainer == "seqio-inputs, seqio"
    else:
        assert known.value == ("preshifted" if name in PRESHIFTED else "unshifted")
