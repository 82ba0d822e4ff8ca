"""Real packs of chats: roles agree with the template's `{% generation %}` spans, that is with the labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from packlint.chat.declared import find_chat
from packlint.chat.tokenizer import load_tokenizer
from packlint.config import parse_config
from packlint.engine.plan import plan_shards
from packlint.model.batch import PackBatch
from packlint.model.markers import end_of_turn_spec
from packlint.model.roles import Role
from packlint.readers import open_shards
from packlint.readers.canonical import build
from packlint.readers.shard import BLOCK_TOKENS, Settings

pytest.importorskip("tokenizers")

SAMPLES = Path(__file__).parent.parent / "samples"
CHATS = json.loads((SAMPLES / "_unpacked_reference.json").read_text())["sft"]
PACKED = (
    "trl_bfd/dataset",
    "trl_bfd/packed.parquet",
    "trl_bfd_completion_mask/dataset",
    "llamafactory_neat_packing",
    "torchtune_packed_sft",
    "automodel_packed",
)


def batches(path: str) -> list[PackBatch]:
    tokenizer = load_tokenizer(SAMPLES / "_tokenizer")
    chat, _ = find_chat({}, tokenizer)
    config = parse_config({"profile": {"extends": "sft", "targets": "assistant"}})
    shards, broken = open_shards([str(SAMPLES / path)], Settings())
    assert not broken
    declared = end_of_turn_spec(chat).or_else(tokenizer.spec)
    found = []
    for plan in plan_shards(shards, config, declared, chat).shards:
        for part in plan.shard.parts():
            built = [build(raw, plan.reading)[0] for raw in plan.shard.rows(part, plan.roles, BLOCK_TOKENS)]
            found += [batch for batch in built if batch is not None]
    return found


def test_the_end_of_a_turn_comes_from_the_template() -> None:
    known = end_of_turn_spec(find_chat({}, load_tokenizer(SAMPLES / "_tokenizer"))[0]).end_of_turn_ids

    assert known is not None
    assert known.value == (4,)
    assert known.why == "chat format chatml: <|im_start|> in the chat template in chat_template.jinja"


@pytest.mark.parametrize("path", PACKED)
def test_roles_are_those_of_the_labels(path: str) -> None:
    n_answers = 0
    for batch in batches(path):
        roles, expected = batch.roles, batch.expected
        assert roles is not None
        assert expected is not None
        assert batch.is_target is not None
        answers = roles.answers
        wanted = expected.wanted.to_mask(batch.n_tokens)
        allowed = expected.allowed.to_mask(batch.n_tokens)
        assert not (wanted & ~batch.is_target).any()
        assert not (batch.is_target & ~allowed).any()
        assert answers.is_finished.all()
        assert (batch.tokens[answers.ends] == 4).all()
        assert not roles.of(Role.UNKNOWN).minus(batch.padding).n_tokens
        n_answers += len(answers)
    assert n_answers == len(CHATS)


def test_roles_of_the_unpacked_chats() -> None:
    """The prompt is the user's and the template's, the completion the assistant's and its end."""
    (whole,) = batches("trl_bfd/packed.parquet")
    assert whole.roles is not None
    for start, stop in zip(whole.segments.starts, whole.segments.stops, strict=True):
        ids = whole.tokens[start:stop].tolist()
        (chat,) = [c for c in CHATS if c["input_ids"] == ids]
        roles = whole.roles.at(np.arange(start, stop)).tolist()
        n_prompt = len(chat["prompt_ids"])

        assert set(roles[:n_prompt]) == {Role.USER, Role.TEMPLATE}
        assert roles[n_prompt:] == [Role.ASSISTANT] * (len(ids) - n_prompt - 2) + [Role.TEMPLATE] * 2
