"""How a trainer cuts a stream into packs: arithmetic only.

    tokens                      0 1 2 3 4 5 6 7 8 9
    length 4, step 4            0 1 2 3|4 5 6 7|8 9        nanoGPT, Megatron, OLMo: the label after each
                                                           window is the next window's first token
    length 4 + 1, step 5        0 1 2 3 4|5 6 7 8 9        datatrove, LitGPT: the last token of a window
                                                           is a label there and never an input
    length 4, step 3            0 1 2 3|3 4 5 6|6 7 8 9    windows that share a token

What is left at the end makes a shorter last row (`keeps_last`) or is left out. Trainers drop it; readers
keep it, so that no token escapes the rules, and say how many tokens the trainer drops.
"""

from __future__ import annotations

from dataclasses import dataclass

from packlint.errors import UsageError
from packlint.readers.shard import Settings

__all__ = ["WindowRule", "wanted_window"]

_MAX_LENGTH = 1 << 40
"""No stream is longer; keeps products of rows and steps within int64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRule:
    """State how windows lie in a stream.

    Args:
        length: slots of a window.
        step: tokens from the start of one window to that of the next.
        keeps_last: what is left after the last whole window is a row too.
        manner: whose rule it is, for the evidence: "as LitGPT cuts".
        is_rest_trained: the trainer reads what is left after the last whole window, in one way or another.
    """

    length: int
    step: int
    keeps_last: bool = True
    manner: str = ""
    is_rest_trained: bool = False

    def __post_init__(self) -> None:
        if not (1 <= self.length <= _MAX_LENGTH and 1 <= self.step <= _MAX_LENGTH):
            raise UsageError(f"a window of {self.length} tokens every {self.step} cannot be cut")

    def n_whole(self, n_tokens: int) -> int:
        """Return the number of windows that are full."""
        return 0 if n_tokens < self.length else (n_tokens - self.length) // self.step + 1

    def n_rows(self, n_tokens: int) -> int:
        """Return the number of rows of a stream of `n_tokens`."""
        n_whole = self.n_whole(n_tokens)
        has_rest = self._n_left(n_tokens) > 0 and n_whole * self.step < n_tokens
        return n_whole + (self.keeps_last and has_rest)

    def evidence(self, n_tokens: int) -> str:
        """Say in one line how rows were cut, and what is left."""
        every = "" if self.step == self.length else f" every {self.step}"
        text = f"windows of {self.length} tokens{every} in file order, {self.manner}"
        n_left = self._n_left(n_tokens)
        if not n_left:
            return text
        fate = "make a shorter last row" if self.keeps_last else "are left out"
        more = "" if self.is_rest_trained else ", and training drops them"
        return f"{text}; the {n_left} tokens after the last whole window {fate}{more}"

    def _n_left(self, n_tokens: int) -> int:
        n_whole = self.n_whole(n_tokens)
        return n_tokens - ((n_whole - 1) * self.step + self.length if n_whole else 0)


def wanted_window(
    settings: Settings, *, extra: int = 0, manner: str, is_rest_trained: bool = False
) -> WindowRule | None:
    """Return windows of `max_seq_len` and `extra` tokens, end to end; none when no length was told.

    Raises:
        UsageError: `max_seq_len` is not positive.
    """
    length = settings.max_seq_len
    if length is None:
        return None
    if length < 1:
        raise UsageError(f"max_seq_len must be positive, not {length}")
    length = min(length, _MAX_LENGTH - extra) + extra
    return WindowRule(length=length, step=length, manner=manner, is_rest_trained=is_rest_trained)
