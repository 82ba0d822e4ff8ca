"""What the tokenizer's own template writes is never a foreign rendering (SPC010)."""

from __future__ import annotations

from pathlib import Path

import pytest

from packlint.chat.detect import detect
from packlint.chat.examples import written_examples
from packlint.chat.render import ChatTemplate
from packlint.chat.tokenizer import Tokenizer, load_tokenizer
from packlint.model.template import template_ids
from packlint.session import check
from tests.chat.toy import save

HEADER, END = "<|im_start|>{{ m.role }}{header}{{ m.content }}", "<|im_end|>{end}{% endfor %}"
LOOP = "{% for m in messages %}"
CHATS = [
    [{"role": "user", "content": "What is rain?"}, {"role": "assistant", "content": "It is sunny."}],
    [{"role": role, "content": "see me"} for role in ("system", "user", "assistant", "user", "assistant")],
]


def template(header: str = "\n", end: str = "\n", after: str = "") -> str:
    return LOOP + HEADER.replace("{header}", header) + END.replace("{end}", end) + after


def tokenizer(text: str, folder: Path) -> Tokenizer:
    return load_tokenizer(save("chatml", "byte-level", folder, text))


@pytest.mark.parametrize(
    ("text", "headers_are_due", "ends_are_due"),
    [
        (template(), True, True),
        (template(header=""), False, True),
        (template(header=": "), False, True),
        (template(end=""), True, False),
        (template(end=" "), True, False),
        (template(header="", end=""), False, False),
        (template(after="<|endoftext|>"), True, True),
        (template(end="\n\n"), True, True),
        (
            "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}" + template(),
            True,
            True,
        ),
        ("{{ raise_exception('never') }}" + template(end=""), True, True),  # says nothing: the format's own
        ("{% if %}" + template(end=""), True, True),  # cannot be parsed
    ],
)
def test_due_is_what_the_template_never_omits(
    text: str, headers_are_due: bool, ends_are_due: bool, tmp_path: Path
) -> None:
    chat, why = detect(tokenizer(text, tmp_path))

    assert chat is not None, why
    ids = template_ids(chat)
    assert (bool(ids.header_ends.size), bool(ids.closing.size)) == (headers_are_due, ends_are_due)


@pytest.mark.parametrize("header", ["", "\n", ": "])
@pytest.mark.parametrize("end", ["", "\n", " ", "\n\n"])
def test_own_rendering_is_never_foreign(header: str, end: str, tmp_path: Path) -> None:
    own = tokenizer(template(header, end), tmp_path)
    rendered = [own.encode(ChatTemplate(own).render(chat).text)[0] for chat in CHATS]
    packs = {
        "input_ids": [[i for ids in rendered for i in ids]],
        "seq_lens": [[len(ids) for ids in rendered]],
    }

    report = check(packs, tokenizer=tmp_path, select=["SPC010"])

    assert [finding.message for finding in report.findings] == []


def test_a_line_break_that_the_template_writes_is_missed(tmp_path: Path) -> None:
    usual, other = tokenizer(template(), tmp_path / "a"), tokenizer(template(end=""), tmp_path / "b")
    ids = usual.encode(ChatTemplate(other).render(CHATS[1]).text)[0]

    report = check(
        {"input_ids": [ids], "seq_lens": [[len(ids)]]}, tokenizer=tmp_path / "a", select=["SPC010"]
    )

    assert [finding.code for finding in report.findings] == ["SPC010"]


ROUNDS = "{% for m in messages %}{% if m.role == 'user' %}{begin}[INST] {{ m.content }} [/INST]{% else %}"
ANSWER = " {{ m.content }} {{ eos_token }}{% endif %}{% endfor %}"


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        (ROUNDS.replace("{begin}", "{{ bos_token }}") + ANSWER, True),
        ("{{ bos_token }}" + ROUNDS.replace("{begin}", "") + ANSWER, False),
        (ROUNDS.replace("{begin}", "") + ANSWER, False),
        ("", True),  # as Meta's own code writes it
        ("{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}", True),  # of another format
    ],
)
def test_whether_rounds_begin_anew(text: str, repeats: bool, tmp_path: Path) -> None:
    save("llama-2", "sentencepiece", tmp_path, text)
    one = load_tokenizer(tmp_path).encode("<s>[INST] a [/INST] b </s><s>[INST] c [/INST] d </s>")[0]

    report = check(
        {"input_ids": [one], "seq_lens": [[len(one)]]},
        tokenizer=tmp_path,
        chat={"format": "llama-2"},
        select=["BND008"],
    )

    [status] = [rule.status for rule in report.rules if rule.code == "BND008"]
    assert status == ("not_checked" if repeats else "found")


def test_no_template_no_examples(tmp_path: Path) -> None:
    assert written_examples(tokenizer("", tmp_path)) == ()
