"""The table of trainer contracts: complete, well named, immutable; look-up and declared contracts."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields
from itertools import product
from typing import Any

import pytest

from packlint.errors import ConfigError, UsageError
from packlint.model.contract import (
    BoundarySource,
    BoundaryTargets,
    BoundaryToken,
    CutPolicy,
    LabelAlignment,
    TrainerContract,
)
from packlint.trainers import ALIASES, CONTRACTS, declared_contract, find_contract, megatron

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*(\+[a-z]+(_[a-z]+)*)*")
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+ \S+")
WANTED = [
    "trl",
    "trl-0",
    "trl-wrapped",
    "transformers",
    "transformers-flattening",
    "axolotl",
    "llama-factory",
    "llama-factory-plain",
    "torchtune",
    "xtuner",
    "instructlab",
    "colossalai",
    "megatron",
    "megatron-reset",
    "megatron+reset_attention_mask",
    "megatron+eod_mask_loss",
    "megatron+reset_position_ids",
    "megatron-bridge",
    "neox",
    "pai-megatron",
    "olmo-core",
    "nanogpt",
    "llm-foundry",
    "prolong",
    "maxtext",
    "grain",
    "seqio",
    "automodel",
    "torchtitan",
    "nanotron",
    "litgpt",
    "levanter",
    "open-instruct",
    "unsloth",
    "ms-swift",
    "fairseq",
    "modded-nanogpt",
    "llm-c",
    "fms-fsdp",
    "verl",
    "levanter-packed",
    "trl-dpo",
    "trl-orpo",
    "trl-reward",
    "llama-factory-dpo",
]
ROWS = pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS.keys())


@ROWS
def test_row_says_what_it_is_and_where_it_was_read(contract: TrainerContract) -> None:
    assert contract.title.strip()
    assert REPOSITORY.match(contract.source), contract.source
    assert "@" in contract.source, "no version or commit"
    assert "://" not in contract.source


@ROWS
def test_row_is_named_in_kebab_case_under_its_own_name(contract: TrainerContract) -> None:
    assert NAME.fullmatch(contract.name)
    assert CONTRACTS[contract.name] is contract
    assert find_contract(contract.name) is contract


@ROWS
def test_row_is_consistent(contract: TrainerContract) -> None:
    sources = contract.isolates_by
    assert len(set(sources)) == len(sources)
    assert BoundarySource.REFERENCE not in sources
    if contract.mask_overrides_positions:
        assert BoundarySource.POSITION_IDS in sources
    if BoundarySource.ROWS in sources:
        assert sources[-1] is BoundarySource.ROWS
    assert contract.packs_at_read == (BoundarySource.ROWS in sources)
    assert not (contract.is_stream and contract.packs_at_read)


@pytest.mark.parametrize("name", WANTED)
def test_known_trainers_have_rows(name: str) -> None:
    assert name in CONTRACTS


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_alias_resolves(alias: str, name: str) -> None:
    assert alias not in CONTRACTS
    assert find_contract(alias) is CONTRACTS[name]


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("TRL", "trl"),
        (" llama_factory ", "llama-factory"),
        ("LLaMA-Factory", "llama-factory"),
        ("megatron+eod_mask_loss+reset_attention_mask", "megatron+reset_attention_mask+eod_mask_loss"),
        ("megatron+eod-mask-loss", "megatron+eod_mask_loss"),
        ("megatron+eod_mask_loss+reset_attention_mask+reset_position_ids", "megatron-reset"),
        ("nanotron+use-doc-masking", "nanotron+use_doc_masking"),
    ],
)
def test_spelling_is_forgiven(spelling: str, name: str) -> None:
    assert find_contract(spelling).name == name


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'torchtun'.*'torchtune'.*packlint trainers"):
        find_contract("torchtun")


@pytest.mark.parametrize("name", ["", "+", "qqqqqqqq", "megatron+"])
def test_nonsense_points_to_the_list(name: str) -> None:
    with pytest.raises(UsageError, match="packlint trainers"):
        find_contract(name)


@pytest.mark.parametrize("options", list(product([False, True], repeat=3)))
def test_megatron_options(options: tuple[bool, bool, bool]) -> None:
    positions, mask, loss = options
    contract = megatron(reset_position_ids=positions, reset_attention_mask=mask, eod_mask_loss=loss)
    assert CONTRACTS[contract.name] == contract
    assert contract.isolates_by == ((BoundarySource.BOUNDARY_TOKENS,) if mask else ())
    assert contract.boundary_targets is (BoundaryTargets.MASKED if loss else BoundaryTargets.TRAINED)
    assert contract.scans_for_end_token == (positions or mask or loss)
    assert contract.label_alignment is LabelAlignment.PRESHIFTED
    assert contract.cut_policy is CutPolicy.WINDOWS
    assert contract.is_stream
    assert not contract.reads_loss


def test_megatron_names() -> None:
    assert megatron().name == "megatron"
    assert megatron(reset_attention_mask=True).name == "megatron+reset_attention_mask"
    two = megatron(reset_position_ids=True, eod_mask_loss=True)
    assert two.name == "megatron+reset_position_ids+eod_mask_loss"
    every = megatron(reset_position_ids=True, reset_attention_mask=True, eod_mask_loss=True)
    assert every.name == "megatron-reset"


@pytest.mark.parametrize(
    ("name", "boundary_targets"),
    [
        ("trl", BoundaryTargets.MASKED),
        ("trl-0", BoundaryTargets.MASKED),
        ("trl-0-early", BoundaryTargets.TRAINED),
        ("trl-wrapped", BoundaryTargets.TRAINED),
        ("transformers-flattening", BoundaryTargets.MASKED),
        ("prolong", BoundaryTargets.MASKED),
        ("torchtune", BoundaryTargets.TRAINED),
        ("axolotl", BoundaryTargets.TRAINED),
        ("llama-factory", BoundaryTargets.TRAINED),
        ("maxtext", BoundaryTargets.TRAINED),
        ("megatron-bridge", BoundaryTargets.IMPOSSIBLE),
        ("automodel", BoundaryTargets.IMPOSSIBLE),
        ("torchtitan", BoundaryTargets.IMPOSSIBLE),
        ("levanter", BoundaryTargets.TRAINED),
        ("levanter-packed", BoundaryTargets.MASKED),
    ],
)
def test_boundary_targets(name: str, boundary_targets: BoundaryTargets) -> None:
    assert CONTRACTS[name].boundary_targets is boundary_targets


@pytest.mark.parametrize(
    "name", ["automodel", "pai-megatron", "torchtitan", "megatron", "megatron-bridge", "maxtext"]
)
def test_preshifted_labels(name: str) -> None:
    assert CONTRACTS[name].label_alignment is LabelAlignment.PRESHIFTED


@pytest.mark.parametrize(
    "name", ["trl", "axolotl", "llama-factory", "torchtune", "xtuner", "neox", "olmo-core"]
)
def test_unshifted_labels(name: str) -> None:
    assert CONTRACTS[name].label_alignment is LabelAlignment.UNSHIFTED


@pytest.mark.parametrize(
    "name",
    ["trl-wrapped", "megatron", "neox", "colossalai", "litgpt", "nanogpt", "llm-c", "fms-fsdp", "fairseq"],
)
def test_trainers_that_isolate_nothing(name: str) -> None:
    assert CONTRACTS[name].isolates_by == ()


def test_table_is_immutable() -> None:
    contracts: Any = CONTRACTS
    aliases: Any = ALIASES
    row: Any = CONTRACTS["trl"]
    with pytest.raises(TypeError):
        contracts["trl"] = row
    with pytest.raises(TypeError):
        aliases["x"] = "trl"
    with pytest.raises(FrozenInstanceError):
        row.title = "other"


def as_options(contract: TrainerContract) -> dict[str, object]:
    """Write a contract as a TOML table would hold it."""
    options: dict[str, object] = {
        field.name: getattr(contract, field.name)
        for field in fields(contract)
        if field.name not in ("name", "title", "source")
    }
    options["isolates_by"] = [source.value for source in contract.isolates_by]
    for key in ("label_alignment", "boundary_targets", "cut_policy", "boundary_token"):
        options[key] = getattr(contract, key).value
    return options


@ROWS
def test_declared_contract_round_trip(contract: TrainerContract) -> None:
    declared = declared_contract(as_options(contract))
    assert declared.name == "declared"
    assert declared.title
    assert declared.source
    assert as_options(declared) == as_options(contract)
    assert all(isinstance(source, BoundarySource) for source in declared.isolates_by)
    assert isinstance(declared.cut_policy, CutPolicy)
    assert isinstance(declared.boundary_token, BoundaryToken)


def test_declared_contract_may_be_empty() -> None:
    assert as_options(declared_contract({})) == as_options(TrainerContract(name="x", title="x"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"isolate_by": []}, ["isolate_by", "did you mean 'isolates_by'"]),
        ({"name": "mine"}, ["'name'", "isolates_by"]),
        ({"isolates_by": ["seq_len"]}, ["isolates_by", "'seq_len'", "seq_lens", "cu_seqlens"]),
        ({"isolates_by": ["reference"]}, ["isolates_by", "'reference'"]),
        ({"isolates_by": "seq_lens"}, ["isolates_by", "a list of"]),
        ({"isolates_by": ["seq_lens", "seq_lens"]}, ["isolates_by", "once"]),
        ({"isolates_by": [1]}, ["isolates_by", "1"]),
        ({"label_alignment": "shifted"}, ["label_alignment", "'shifted'", "unshifted", "preshifted"]),
        ({"boundary_targets": True}, ["boundary_targets", "masked", "trained", "impossible"]),
        ({"cut_policy": "none"}, ["cut_policy", "whole", "fragments", "windows"]),
        ({"boundary_token": "eos"}, ["boundary_token", "end", "begin", "none"]),
        ({"reads_loss": 1}, ["reads_loss", "true or false"]),
        ({"extra_slots_per_pack": -1}, ["extra_slots_per_pack", "-1", "0 or more"]),
        ({"extra_slots_per_segment": True}, ["extra_slots_per_segment", "0 or more"]),
        ({"extra_slots_per_segment": 1.5}, ["extra_slots_per_segment", "0 or more"]),
    ],
)
def test_declared_contract_errors_name_key_and_allowed_values(
    options: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as error:
        declared_contract(options)
    for word in ("[trainer_contract]", *words):
        assert word in str(error.value)
