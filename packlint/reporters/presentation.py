"""What a reporter is told beside the report itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from packlint.reporters.paper import Paper
from packlint.reporters.rule_page import RulePage

__all__ = ["Advice", "Presentation"]


@dataclass(frozen=True, slots=True)
class Advice:
    """Say of a rule, in one line each, why it matters and how to fix it."""

    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """Say how to present a report.

    Args:
        width: columns of a text report.
        color: whether to colour text.
        unicode: whether more than ASCII can be shown.
        verbose: leave nothing out.
        quiet: the verdict and one line per finding.
        advice: what to say of each rule, by code.
        pages: pages of the rules, by code, for formats that carry them.
        decode: ids to text, where a tokenizer was given.
        pieces: each id to its own text, where decoding it alone would lose the space before it.
        paths: what to type for a shard, by its name in the report.
        show_options: options that `packlint show` needs to read a shard as this run did, each after a space.
        fail_on: lowest severity that fails the run.
    """

    width: int = 100
    color: bool = False
    unicode: bool = True
    verbose: bool = False
    quiet: bool = False
    advice: Mapping[str, Advice] = field(default_factory=dict)
    pages: Mapping[str, RulePage] = field(default_factory=dict)
    decode: Callable[[tuple[int, ...]], str] | None = None
    pieces: Callable[[tuple[int, ...]], list[str]] | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    show_options: str = ""
    fail_on: str = "error"

    @property
    def spell(self) -> Callable[[tuple[int, ...]], str] | None:
        """How to write ids one at a time, or none without a tokenizer."""
        pieces = self.pieces
        return self.decode if pieces is None else lambda ids: "".join(pieces(ids))

    def paper(self) -> Paper:
        """Return an empty sheet."""
        return Paper(width=self.width, color=self.color, unicode=self.unicode)
