"""Pages to test, and what they are taken apart with."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from typing import Any

from packlint import check
from packlint.report import Report
from packlint.reporters import render
from packlint.reporters.presentation import Advice, Presentation
from packlint.reporters.rule_page import OptionPage, RulePage

__all__ = ["SHOWN", "Page", "leaky_report", "page_of"]

_VOID = {"meta", "input", "br", "hr", "img", "link"}
_RULE = RulePage(
    code="TGT001",
    name="loss-on-padding",
    severity="error",
    since="0.1.0",
    why="The model learns to write padding.",
    fix="Set labels to -100 after padding.",
    sections={
        "What it checks": "Targets `j` that are padding:\n\n    0 1 <pad>\n\n* one\n* two `pads`\n  and",
        "How to fix": "Mask them.",
    },
    options=(OptionPage(name="max_targets", type="int", default="0", says="How many."),),
)
SHOWN = Presentation(
    advice={"TGT001": Advice("The model learns to write padding.", "Set labels to -100 after padding.")},
    pages={"TGT001": _RULE},
)


class Page(HTMLParser):
    """Take a page apart: elements, their attributes, text; what is not closed is a fault."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.content: dict[str, list[str]] = {"style": [], "script": []}
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), (tag, attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in self.content:
            self.content[self._open[-1]].append(data)
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All text, spaces joined."""
        return " ".join(" ".join(self.words).split())

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Elements and the names of their attributes."""
        return [(tag, tuple(sorted(attributes))) for tag, attributes in self.elements]

    def values(self, attribute: str) -> list[str]:
        """All values of an attribute."""
        return [a[attribute] or "" for _, a in self.elements if attribute in a]

    def with_class(self, name: str) -> list[dict[str, str | None]]:
        """Attributes of the elements of a class."""
        return [a for _, a in self.elements if name in (a.get("class") or "").split()]

    def count(self, tag: str) -> int:
        """Elements of a name."""
        return Counter(t for t, _ in self.elements)[tag]


def page_of(report: Report, presentation: Presentation = SHOWN) -> Page:
    """Return the page of a report, taken apart."""
    return Page(render("html", report, presentation))


def leaky_report(**settings: Any) -> Report:
    """Return the report of a real run over packs whose samples see each other."""
    rows = [[1, 11, 12, 2, 1, 21, 2], [1, 31, 2, 1, 41, 42, 2]]
    packs = {"input_ids": rows, "labels": rows, "seq_lens": [[4, 3], [3, 4]]}
    spec = {"pad_id": 0, "eos_ids": [2], "bos_id": 1}
    return check(packs, **{"trainer": "trl-wrapped", "profile": "sft", "spec": spec, **settings})
