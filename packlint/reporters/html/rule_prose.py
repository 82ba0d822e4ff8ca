"""The page of a rule as headings, paragraphs, lists and drawings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from packlint.reporters.example_view import draw_example
from packlint.reporters.html.markup import element, join
from packlint.reporters.paper import Paper
from packlint.reporters.rule_page import HEADINGS, RulePage

__all__ = ["Section", "sections_of"]

_EXAMPLE_WIDTH = 76
Places = Sequence[tuple[int, int, int]]
_ITEM = re.compile(r"^\s*(?:[*-]|\d+\.)\s+")


@dataclass(frozen=True, slots=True)
class Section:
    """Hold a heading and what stands under it."""

    heading: str
    body: Markup


def sections_of(page: RulePage) -> tuple[Section, ...]:
    """Return the sections of a page in their order, then its options and the smallest packs that show it."""
    headings = [*HEADINGS, *(name for name in page.sections if name and name not in HEADINGS)]
    found = [Section(name, _body(page.sections[name])) for name in headings if page.sections.get(name)]
    if page.options:
        items = [
            element("li", element("code", f"{o.name} = {o.default}"), f" {o.type}. ", o.says)
            for o in page.options
        ]
        found.append(Section(f"Options, [rules.{page.code}]", element("ul", *items)))
    return (*found, *_examples(page))


def _examples(page: RulePage) -> Iterator[Section]:
    """Yield the first example of a fault and of its absence, drawn as `packlint explain` draws them."""
    if page.bad:
        yield Section("The fault, in the smallest packs", _drawing(page.bad[0], *page.places[:1]))
    if page.good:
        yield Section("The same without it", _drawing(page.good[0]))


def _drawing(example: Mapping[str, Any], places: Places = ()) -> Markup:
    paper = Paper(width=_EXAMPLE_WIDTH)
    draw_example(paper, example, places)
    lines = paper.text().rstrip("\n").split("\n")
    return element("pre", join(part for line in lines for part in (line.removeprefix("  "), Markup("\n"))))


def _body(text: str) -> Markup:
    return join(
        _block(block.split("\n")) for block in re.split(r"\n\s*\n", text.strip("\n")) if block.strip()
    )


def _block(lines: list[str]) -> Markup:
    """Return a paragraph, a list, or an indented drawing."""
    if all(line.startswith("    ") for line in lines):
        drawing = join(part for line in lines for part in (line, Markup("\n")))
        return element("pre", drawing)
    if not any(_ITEM.match(line) for line in lines):
        return element("p", _inline(" ".join(line.strip() for line in lines)))
    return element("ul", *(element("li", _inline(item)) for item in _items(lines)))


def _items(lines: list[str]) -> Iterator[str]:
    item = ""
    for line in lines:
        match = _ITEM.match(line)
        if match and item:
            yield item
            item = ""
        item = f"{item} {line[match.end() :] if match else line.strip()}".strip()
    yield item


def _inline(text: str) -> Markup:
    """Return text with its `code` marked."""
    parts = text.split("`")
    return join(element("code", part) if i % 2 and part else part for i, part in enumerate(parts))
