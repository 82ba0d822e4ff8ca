"""Preference pairs in columns of their own: which names mean what, and who writes them.

    prompt_ids   chosen_ids   rejected_ids      both sides go on from the prompt
    chosen_input_ids   chosen_labels   rejected_input_ids   rejected_labels      both sides hold it

Most specific first; the first row that matches decides. Only tables without token ids of their own get here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from packlint.errors import UnreadableError
from packlint.model.batch import Unit
from packlint.readers.layouts.kinds import ColumnKind, Element
from packlint.readers.layouts.synonyms import SYNONYMS, fits
from packlint.readers.shard import Layout, PaddingMark, PairColumns, Role

__all__ = ["ID_NAMES", "names_both_sides", "pair_layout", "pair_names", "why_no_pair"]

_Couple = tuple[str, str]

_IDS = ("chosen_ids", "rejected_ids")
_INPUT_IDS = ("chosen_input_ids", "rejected_input_ids")
_OLD_IDS = ("input_ids_chosen", "input_ids_rejected")
_LABELS = {Role.LABELS: ("chosen_labels", "rejected_labels")}
_LOSS_MASK = {Role.LOSS_MASK: ("chosen_loss_mask", "rejected_loss_mask")}
_MASK = {Role.ATTENTION_MASK: ("chosen_attention_mask", "rejected_attention_mask")}
_OLD_MASK = {Role.ATTENTION_MASK: ("attention_mask_chosen", "attention_mask_rejected")}

ID_NAMES = (*_IDS, *_INPUT_IDS, *_OLD_IDS)
"""Names of token ids of either side."""

_PROMPTS, _PROMPT_MASK = ("prompt_ids", "prompt_input_ids"), "prompt_attention_mask"
_OF_A_PACK = (Role.SEQ_LENS, Role.CU_SEQLENS, Role.SEGMENT_STARTS, Role.SEGMENT_IDS, Role.POSITION_IDS)
_NEVER_READ = ("reference_ids", "input_ids_prompt")
_PLACES = "a row is the chosen sample, then the rejected one; places count through both"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signature:
    """State what gives a producer of pairs away.

    Args:
        producer: who writes such columns.
        trainer: name of the default trainer contract, or none.
        source: where this was read.
        ids: token ids of the chosen and of the rejected sample.
        loss: labels or a loss mask of both, which must be there; without any, no loss is stored.
        masks: attention masks of both, read where they are there.
        prompt: a prompt that both sides go on from, which must be there; the loss is on what follows.
        has: further columns that must be there.
    """

    producer: str
    trainer: str | None
    source: str
    ids: _Couple
    loss: Mapping[Role, _Couple] = field(default_factory=dict)
    masks: Mapping[Role, _Couple] = field(default_factory=lambda: _MASK)
    prompt: str = ""
    has: tuple[str, ...] = ()

    @property
    def given_away_by(self) -> tuple[str, ...]:
        """Columns that are all present."""
        prompt = (self.prompt,) if self.prompt else ()
        return (*prompt, *self.ids, *(name for names in self.loss.values() for name in names), *self.has)

    def columns_of(self, stored: Mapping[str, ColumnKind]) -> PairColumns:
        """Return the columns to read."""
        named = {Role.INPUT_IDS: self.ids, **self.loss}
        named |= {role: names for role, names in self.masks.items() if names[0] in stored}
        chosen, rejected = ({role: names[i] for role, names in named.items()} for i in (0, 1))
        prompt = {Role.INPUT_IDS: self.prompt} if self.prompt else {}
        if self.prompt and Role.ATTENTION_MASK in chosen and _PROMPT_MASK in stored:
            prompt[Role.ATTENTION_MASK] = _PROMPT_MASK
        return PairColumns(sides=(chosen, rejected), prompt=prompt)


_SIGNATURES: tuple[_Signature, ...] = (
    _Signature(
        producer="TRL from 0.29 on, DPO",
        trainer="trl-dpo",
        source="trl 1.9.0 trl/trainer/dpo_trainer.py",
        ids=_IDS,
        prompt="prompt_ids",
    ),
    _Signature(
        producer="TRL before 0.12, DPO; ORPO and CPO of any version",
        trainer="trl-orpo",
        source="trl 0.11.4 trl/trainer/dpo_trainer.py, trl 1.9.0 trl/experimental/orpo/orpo_trainer.py",
        ids=_INPUT_IDS,
        loss=_LABELS,
        has=("prompt_input_ids",),
    ),
    _Signature(
        producer="TRL 0.12 to 0.28, DPO",
        trainer="trl-dpo",
        source="trl 0.24.0 trl/trainer/dpo_trainer.py",
        ids=_INPUT_IDS,
        prompt="prompt_input_ids",
    ),
    _Signature(
        producer="LLaMA-Factory, stage dpo or rm; open-instruct writes the same",
        trainer="llama-factory-dpo",
        source="LLaMA-Factory src/llamafactory/data/processor/pairwise.py;"
        " open-instruct open_instruct/dataset_transformation.py",
        ids=_INPUT_IDS,
        loss=_LABELS,
        has=_MASK[Role.ATTENTION_MASK],
    ),
    _Signature(
        producer="torchtune, or another that masks prompts in labels",
        trainer=None,
        source="torchtune torchtune/datasets/_preference.py",
        ids=_INPUT_IDS,
        loss=_LABELS,
    ),
    _Signature(
        producer="ColossalAI, preference data",
        trainer=None,
        source="ColossalAI applications/ColossalChat/coati/dataset/tokenization_utils.py",
        ids=_INPUT_IDS,
        loss=_LOSS_MASK,
    ),
    _Signature(
        producer="TRL from 0.29 on or Axolotl, reward model",
        trainer="trl-reward",
        source="trl 1.9.0 trl/trainer/reward_trainer.py;"
        " axolotl src/axolotl/prompt_strategies/bradley_terry/chat_template.py",
        ids=_IDS,
        masks=_OLD_MASK,
    ),
    _Signature(
        producer="TRL 0.24 to 0.28 or open-instruct, reward model",
        trainer="trl-reward",
        source="trl 0.24.0 trl/trainer/reward_trainer.py;"
        " open-instruct open_instruct/dataset_transformation.py",
        ids=_INPUT_IDS,
    ),
    _Signature(
        producer="TRL before 0.24, reward model",
        trainer="trl-reward",
        source="trl 0.23.0 trl/trainer/reward_trainer.py",
        ids=_OLD_IDS,
        masks=_OLD_MASK,
    ),
)
_COUPLES: Mapping[Role, tuple[_Couple, ...]] = {
    Role.INPUT_IDS: (_IDS, _INPUT_IDS, _OLD_IDS),
    Role.LABELS: tuple(_LABELS.values()),
    Role.LOSS_MASK: tuple(_LOSS_MASK.values()),
    Role.ATTENTION_MASK: (*_MASK.values(), *_OLD_MASK.values()),
}


def names_both_sides(line: bytes) -> bool:
    """Tell whether a line of JSON names the token ids of both sides."""
    return any(all(f'"{name}"'.encode() in line for name in names) for names in _COUPLES[Role.INPUT_IDS])


def pair_names(kinds: Mapping[str, ColumnKind]) -> _Couple | None:
    """Return the columns of both sides' token ids, none where there are no pairs."""
    return next((names for names in _COUPLES[Role.INPUT_IDS] if all(name in kinds for name in names)), None)


def why_no_pair(kinds: Mapping[str, ColumnKind]) -> str:
    """Say, in words that follow others, which ids of one side stand without the other's; empty if none do."""
    alone = _alone(kinds, _COUPLES[Role.INPUT_IDS])
    return f"; {alone[0]} is half of a preference pair, and there is no {alone[1]}" if alone else ""


def pair_layout(kinds: Mapping[str, ColumnKind], sample_ids: str | None = None) -> Layout | None:
    """Return the layout of a table of pairs; none where it is no such table.

    Args:
        kinds: what each column holds; none of them is the token ids of whole rows.
        sample_ids: column of ids of the pairs, or none.

    Raises:
        UnreadableError: a column of one side stands alone, holds something else than its name says, or says
            that a side holds several samples.
    """
    # A side, or a prompt, that is null in every row is missing in every row, which is for a rule to say.
    may_be_null = (*ID_NAMES, *_PROMPTS)
    stored = {n: kind for n, kind in kinds.items() if kind.element is not Element.NULL or n in may_be_null}
    signature = next((s for s in _SIGNATURES if all(name in stored for name in s.given_away_by)), None)
    if signature is None:
        return None
    pairs = signature.columns_of(stored)
    _demand(stored, pairs)
    columns = {**pairs.sides[0], Role.SEQ_LENS: signature.ids[0]}
    if pairs.prompt:
        columns[Role.LOSS_MASK] = signature.prompt
    is_masked = Role.ATTENTION_MASK in columns
    return Layout(
        producer=signature.producer,
        trainer=signature.trainer,
        columns=columns | ({Role.SAMPLE_IDS: sample_ids} if sample_ids else {}),
        unit=Unit.PAIR,
        evidence=tuple(_evidence(stored, signature, pairs)),
        padding=PaddingMark.MASK_ZERO if is_masked else PaddingMark.NEVER_STORED,
        lengths_cover_padding=False,
        pairs=pairs,
    )


def _demand(stored: Mapping[str, ColumnKind], pairs: PairColumns) -> None:
    for couples in _COUPLES.values():
        if alone := _alone(stored, couples):
            raise UnreadableError(f"column {alone[0]} stands without {alone[1]}")
    packed = (f"{a}_{b}" for role in _OF_A_PACK for name in SYNONYMS[role] for a, b in _with_sides(name))
    if column := next((name for name in packed if name in stored), None):
        raise UnreadableError(f"column {column} says that a side holds several samples; that is no pair")
    for columns in (*pairs.sides, pairs.prompt):
        for role, name in columns.items():
            is_absent = stored[name].element is Element.NULL
            if not is_absent and not fits(role, stored[name]):
                raise UnreadableError(f"column {name} holds {stored[name]}, which cannot be {role.value}")


def _alone(stored: Mapping[str, ColumnKind], couples: tuple[_Couple, ...]) -> _Couple | None:
    """Return a column that stands without the other side's, and that one; none where all are complete."""
    ordered = [turned for couple in couples for turned in (couple, couple[::-1])]
    return next(((name, other) for name, other in ordered if name in stored and other not in stored), None)


def _with_sides(name: str) -> tuple[_Couple, ...]:
    return tuple(turned for side in ("chosen", "rejected") for turned in ((side, name), (name, side)))


def _evidence(stored: Mapping[str, ColumnKind], signature: _Signature, pairs: PairColumns) -> Iterator[str]:
    yield f"columns {', '.join(signature.given_away_by)}: {signature.producer} ({signature.source})"
    yield _PLACES
    used = {name for columns in (*pairs.sides, pairs.prompt) for name in columns.values()}
    known = [name for couples in _COUPLES.values() for couple in couples for name in couple]
    unread = [n for n in (*known, *_PROMPTS, _PROMPT_MASK, *_NEVER_READ) if n in stored and n not in used]
    if unread:
        yield f"not read: {', '.join(unread)}"
