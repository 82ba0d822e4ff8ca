"""Packs of chats in ids: `<open> <name> <nl> text… <end> <nl>` per turn, to plant broken markers in."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.packs import Packs

__all__ = ["BEGIN", "CHAT", "END", "NEWLINE", "OPEN", "Turn", "chats", "pack_chats"]

OPEN, END, NEWLINE, BEGIN = 3, 4, 9, 1
NAMES = {"system": 20, "user": 21, "assistant": 22, "tool": 23}
CHAT = {
    "markers": {
        **{role: [OPEN, name] for role, name in NAMES.items()},
        "end": [END],
        "separator": [NEWLINE],
        "end_as_text": [[30, 31, 32, 33], [30, 31, 32, 34]],
    },
    "separator_is_due": True,
}


@dataclass
class Turn:
    """One turn, as pieces that a test may damage."""

    role: str
    text: list[int]
    header: list[int] = field(init=False)
    tail: list[int] = field(default_factory=lambda: [NEWLINE])
    end: list[int] = field(default_factory=lambda: [END])
    separator: list[int] = field(default_factory=lambda: [NEWLINE])

    def __post_init__(self) -> None:
        self.header = [OPEN, NAMES[self.role]]

    @property
    def ids(self) -> list[int]:
        """All ids of the turn."""
        return self.header + self.tail + self.text + self.end + self.separator


@st.composite
def chats(draw: st.DrawFn) -> list[Turn]:
    """Draw a conversation: a system text or none, then rounds with or without tools."""
    texts = st.lists(st.integers(50, 99), min_size=3, max_size=5, unique=True)
    turns = [Turn("system", draw(texts))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        turns.append(Turn("user", draw(texts)))
        if draw(st.booleans()):
            turns += [Turn("assistant", draw(texts)), Turn("tool", draw(texts))]
        turns.append(Turn("assistant", draw(texts)))
    return turns


def pack_chats(rows: list[list[list[Turn]]]) -> Packs:
    """Return packs of whole chats, padded to one length."""
    samples = [[[i for turn in chat for i in turn.ids] for chat in row] for row in rows]
    width = max(sum(map(len, row)) for row in samples) + 3
    flat = [[i for sample in row for i in sample] for row in samples]
    return {
        "input_ids": [ids + [0] * (width - len(ids)) for ids in flat],
        "attention_mask": [[1] * len(ids) + [0] * (width - len(ids)) for ids in flat],
        "seq_lens": [[len(sample) for sample in row] for row in samples],
        "layout": {"lengths_cover_padding": False},
        "config": {
            "profile": "sft",
            "trainer": "trl",
            "spec": {"pad_id": 0, "bos_id": BEGIN, "eos_ids": [END]},
            "chat": CHAT,
        },
    }
