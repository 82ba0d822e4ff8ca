"""Chat templates: written as transformers writes them, and stopped when they run away."""

from __future__ import annotations

import dataclasses
import datetime
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")

from packlint.chat import sandbox
from packlint.chat.render import ChatTemplate, LimitError, RenderError
from packlint.chat.tokenizer import load_tokenizer
from packlint.errors import UsageError

TOKENIZER = Path(__file__).parents[1] / "samples" / "_tokenizer"
MESSAGES = [{"role": "user", "content": "Hi <b>"}, {"role": "assistant", "content": "Hé"}]


def template(text: str, **told: Any) -> ChatTemplate:
    return ChatTemplate(dataclasses.replace(load_tokenizer(TOKENIZER), template=text), **told)


def rendered(text: str, **more: Any) -> str:
    return template(text).render(MESSAGES, **more).text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{{ bos_token }}{{ eos_token }}{{ pad_token }}", "<s></s><pad>"),
        ("{% for m in messages %}\n  {{ m.role }}\n{% endfor %}", "  user\n  assistant\n"),
        ("    {% if true %}x{% endif %}\n  y", "x  y"),
        ("{{ messages[0] | tojson }}", '{"role": "user", "content": "Hi <b>"}'),
        ("{{ messages[1].content | tojson(ensure_ascii=true) }}", '"H\\u00e9"'),
        ("{{ {'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':')) }}", '{"a":2,"b":1}'),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{% for m in messages %}{% if loop.last %}{% break %}{% endif %}{{ m.role }}{% endfor %}", "user"),
        ("{{ strftime_now('%Y-%m-%d') }}", "2024-07-26"),
        ("{{ tools is none }}{{ documents is none }}{{ other is defined }}", "TrueTrueFalse"),
        ("{{ messages | map(attribute='role') | join(', ') }}", "user, assistant"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "1"),
        ("{{ messages[0].content.split(' ')[0] ~ '!' * 3 }}", "Hi!!!"),
        (
            "{{ 'a.b'.replace('.', '::') }}{{ 'x' | replace('x', 'yy') }}{{ 'a\nb' | indent(2) }}",
            "a::byya\n  b",
        ),
        ("{{ 1700000000 | string }}{{ {'k': 1}.get(1700000000, '') }}{{ '%03d' % 7 }}", "1700000000007"),
        ("{% macro f(x) %}[{{ x }}]{% endmacro %}{{ f('a') + f('b') }}", "[a][b]"),
        ("{% set n = namespace(n=0) %}{% for m in [1, 2] %}{% set n.n = m %}{% endfor %}{{ n.n }}", "2"),
        ("{% set x %}a{{ 1 }}{% endset %}{{ x | trim | upper }}", "A1"),
        ("{{ add_generation_prompt }}", "False"),
    ],
)
def test_as_transformers_writes(text: str, wanted: str) -> None:
    assert rendered(text) == wanted


def test_the_day_can_be_told() -> None:
    told = template("{{ strftime_now('%d %b %Y') }}", day=datetime.date(2025, 3, 4))
    assert told.tells_the_day
    assert told.render(MESSAGES).text == "04 Mar 2025"


def test_generated_text_is_noted() -> None:
    answer = "{% generation %}{{ m.content }}.{% endgeneration %}"
    empty = "{%- generation -%}{%- endgeneration -%}"
    chat = template("é{% for m in messages %}{{ m.role }}:" + answer + "{% endfor %}" + empty)
    found = chat.render(MESSAGES)
    assert chat.marks_generation
    assert [found.text[start:stop] for start, stop in found.spans] == ["Hi <b>.", "Hé."]
    assert not template("{{ generation }}").marks_generation


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ raise_exception('no\nsystem') }}", "no"),
        ("{{ messages[0].a.b }}", "'dict object' has no attribute 'a'"),
        ("{{ 'a' + 1 }}", "can only concatenate str"),
        ("{{ 1 // 0 }}", "by zero"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ messages[0].update({}) }}", "unsafe"),
        ("{{ range(10**7) }}", "Range too big"),
        ("{% include 'x' %}", "no loader"),
        ("{{ messages[9].role }}", "no element 9"),
    ],
)
def test_what_a_template_raises_is_said_in_a_line(text: str, why: str) -> None:
    with pytest.raises(RenderError, match=why) as caught:
        rendered(text)
    assert "\n" not in str(caught.value)


_MACRO = "{% macro f() %}{% for i in range(9999) %}{% endfor %}{% endmacro %}"
_DOUBLE = "{% set ns = namespace(s='ab') %}{% for i in range(90) %}DOUBLE{% endfor %}"


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) if j < 0 %}{% endfor %}{% endfor %}",
        _MACRO + "{% for i in range(99) %}{{ f() }}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for i in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
        "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
        "{{ 'a' * 10**10 }}",
        "{{ 10**10 * 'a' }}",
        "{{ [1] * 10**10 }}",
        "{{ 9 ** (9 ** 6) }}",
        "{{ 'a' | center(10**10) }}",
        "{{ 'a' | indent(10**10, true) }}",
        "{{ 'a'.zfill(10**10) }}",
        "{{ 'a'.ljust(width=10**10) if false else 'a'.ljust(10**10) }}",
        "{% if ('a' * 10000).replace('a', 'b' * 10000) %}{% endif %}",
        "{% if ('a' * 10000) | replace('a', 'b' * 10000) %}{% endif %}",
        "{% if ('b' * 10000).join(['a'] * 10000) %}{% endif %}",
        "{% if (['a'] * 10000) | join('b' * 10000) %}{% endif %}",
        _DOUBLE.replace("DOUBLE", "{% set ns.s = ns.s ~ ns.s %}"),
        _DOUBLE.replace("DOUBLE", "{% set ns.s = ns.s + ns.s %}"),
        _DOUBLE.replace("DOUBLE", "{% set x %}{{ ns.s }}{{ ns.s }}{% endset %}{% set ns.s = x %}"),
        "{% set ns = namespace(n=3) %}{% for i in range(90) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
    ],
)
def test_templates_that_run_away_are_stopped(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_TURNS", 1 << 16)
    chat = template(text)
    with pytest.raises(LimitError):
        chat.render(MESSAGES)
    assert template("{{ messages | length }}").render(MESSAGES).text == "2"


def test_the_limit_does_not_add_up_over_renderings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_TURNS", 5)
    chat = template("{% for m in messages %}{{ m.role }}{% endfor %}")
    assert [chat.render(MESSAGES).text for _ in range(9)] == ["userassistant"] * 9


@pytest.mark.parametrize(
    "text", ["{% if %}", "{{ x | random }}", "{% generation %}", "{{ 'a' | center(10**10) }"]
)
def test_templates_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError, match=r"chat template in chat_template\.jinja: line 1: "):
        template(text)


def test_there_is_a_template() -> None:
    with pytest.raises(UsageError, match="no chat template"):
        template("")


def test_threads_share_a_template() -> None:
    chat = template("{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}")
    wrong = []

    def work(n: int) -> None:
        messages = [{"content": "x" * n}] * 20
        for _ in range(40):
            found = chat.render(messages)
            if found.text != "x" * 20 * n or found.spans != tuple((i * n, i * n + n) for i in range(20)):
                wrong.append(found)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
