"""How each trainer reads a packed shard: one table of data, a source for each row.

    CONTRACTS            every row by its name, read-only
    ALIASES              other names that people use
    find_contract        the row that a `--trainer` value names
    declared_contract    the row that a `[trainer_contract]` table of the configuration spells out
    megatron             the row for a combination of Megatron-LM's reset options

A bare name is the configuration in which the trainer keeps samples apart, where it has one that people
use; `NAME-plain` is the same trainer without it. Megatron-LM and NeoX keep nothing apart by default, and
their bare names say so. `NAME+option` names an option as the trainer spells it.

To add a row: read the trainer's source, put a `TrainerContract` in the module of its family
(`fine_tuning`, `hugging_face`, `megatron`, `pretraining`), and write in `source` which repository, file and
version say so. A trainer whose versions differ gets one row for each behaviour. What no field can say does
not belong in a neighbouring field: add a field to `packlint.model.contract`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from packlint.errors import UsageError
from packlint.model.contract import TrainerContract
from packlint.trainers.declared import declared_contract
from packlint.trainers.fine_tuning import FINE_TUNING
from packlint.trainers.hugging_face import HUGGING_FACE
from packlint.trainers.megatron import MEGATRON, megatron, option_order
from packlint.trainers.pretraining import PRETRAINING

__all__ = ["ALIASES", "CONTRACTS", "declared_contract", "find_contract", "megatron"]


def _by_name(*families: Iterable[TrainerContract]) -> Mapping[str, TrainerContract]:
    rows: dict[str, TrainerContract] = {}
    for family in families:
        for row in family:
            if row.name in rows:
                raise ValueError(f"two trainer contracts are named {row.name}")
            rows[row.name] = row
    return MappingProxyType(rows)


CONTRACTS: Mapping[str, TrainerContract] = _by_name(HUGGING_FACE, FINE_TUNING, MEGATRON, PRETRAINING)

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "datatrove": "nanotron",
        "grain-packed": "grain",
        "hf": "transformers",
        "hf-flattening": "transformers-flattening",
        "huggingface": "transformers",
        "litdata": "litgpt",
        "llama-factory-neat": "llama-factory",
        "llamafactory": "llama-factory",
        "llamafactory-plain": "llama-factory-plain",
        "megatron-core": "megatron",
        "megatron-lm": "megatron",
        "megatron+reset_position_ids+reset_attention_mask+eod_mask_loss": "megatron-reset",
        "mosaicml": "llm-foundry",
        "mpt": "llm-foundry",
        "nemo": "megatron-bridge",
        "nemo-automodel": "automodel",
        "gpt-neox": "neox",
        "olmo": "olmo-core",
        "pai": "pai-megatron",
        "swift": "ms-swift",
        "t5x": "seqio",
        "tinyllama": "litgpt",
    }
)
"""Other names, each to a name in `CONTRACTS`."""


def find_contract(name: str) -> TrainerContract:
    """Return the contract that `name` or one of its aliases stands for.

    Case and the choice of `_` or `-` do not matter, nor does the order of options after `+`.

    Raises:
        UsageError: no row has that name; the message suggests the nearest.
    """
    for spelling in (name.strip().lower(), _kebab(name)):
        canonical = ALIASES.get(spelling, spelling)
        if canonical in CONTRACTS:
            return CONTRACTS[canonical]
    raise UsageError(_unknown(name))


def _kebab(name: str) -> str:
    base, *options = name.strip().lower().split("+")
    wanted = sorted((option.replace("-", "_") for option in options), key=option_order)
    return "+".join([base.replace("_", "-").replace(" ", "-"), *wanted])


def _unknown(name: str) -> str:
    near = get_close_matches(_kebab(name), [*CONTRACTS, *ALIASES], n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown trainer {name!r}: {hint}run `packlint trainers` for the list"
