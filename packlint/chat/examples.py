"""What a tokenizer's own chat template writes for a few short chats: the last word on its line breaks."""

from __future__ import annotations

from packlint.chat.tokenizer import Tokenizer
from packlint.errors import UsageError

__all__ = ["written_examples"]

_SYSTEM, _USER, _ANSWER = (
    {"role": role, "content": f"what the {role} says"} for role in ("system", "user", "assistant")
)
_CHATS = (
    (_USER, _ANSWER),
    (_USER, _ANSWER, _USER, _ANSWER),
    (_SYSTEM, _USER, _ANSWER, _USER, _ANSWER),
)


def written_examples(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return a few chats as the template writes them, those that it accepts; none without a template."""
    if not tokenizer.template:
        return ()
    try:
        from packlint.chat.render import ChatTemplate, LimitError, RenderError

        template = ChatTemplate(tokenizer)
    except (ImportError, UsageError):  # without jinja2, or of a form that nobody could render either
        return ()
    found = []
    for chat in _CHATS:
        try:
            found.append(template.render(chat).text)
        except (RenderError, LimitError):  # many templates refuse a system message
            continue
    return tuple(found)
