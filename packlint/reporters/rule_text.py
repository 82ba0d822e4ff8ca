"""A rule's page on the terminal."""

from __future__ import annotations

import re

from rich.text import Text

from packlint.reporters.example_view import draw_example
from packlint.reporters.paper import Paper
from packlint.reporters.rule_page import HEADINGS, RulePage
from packlint.reporters.signs import SEVERITY_STYLES, severity_sign

__all__ = ["rule_text"]

_MAX_TEXT_WIDTH = 100
_ITEM = re.compile(r"^\s*([*-]|\d+\.)\s+")


def rule_text(paper: Paper, page: RulePage, family: str) -> str:
    """Return the page: head, sections, options, and the smallest packs that show the fault."""
    full, paper.width = paper.width, min(paper.width, _MAX_TEXT_WIDTH)
    _head(paper, page, family)
    headings = [*HEADINGS, *(name for name in page.sections if name not in HEADINGS)]
    for heading in headings:
        if page.sections.get(heading) and heading != "Sources":
            _section(paper, heading, page.sections[heading])
    _options(paper, page)
    paper.width = full
    _examples(paper, page)
    paper.width = min(full, _MAX_TEXT_WIDTH)
    if page.sections.get("Sources"):
        _section(paper, "Sources", page.sections["Sources"])
    return paper.text()


def _head(paper: Paper, page: RulePage, family: str) -> None:
    style = SEVERITY_STYLES[page.severity]
    paper.line((page.code, "bold"), " ", (page.name, "bold"))
    paper.line(paper.show(page.says), indent=2)
    paper.blank()
    sign = severity_sign(page.severity, paper.glyphs)
    paper.hang("severity", (f"{sign} {page.severity}", style), indent=2, column=10)
    paper.hang("family", f"{page.family}, {paper.show(family)}", indent=2, column=10)
    paper.hang("needs", ", ".join(page.needs) or "nothing beyond the packs", indent=2, column=10)
    paper.hang("since", page.since, indent=2, column=10)


def _section(paper: Paper, heading: str, body: str) -> None:
    paper.blank()
    paper.line((heading, "bold underline" if paper.color else "bold"))
    for block in re.split(r"\n\s*\n", body):
        _block(paper, block)


def _block(paper: Paper, block: str) -> None:
    """Write a paragraph, a list, or an indented drawing."""
    lines = block.split("\n")
    if all(line.startswith("    ") for line in lines):
        for line in lines:
            paper.raw(Text("  " + paper.show(line)))
        return
    for mark, text in _items(lines):
        paper.hang(mark, _inline(paper, text), indent=2, column=2 if mark else 0)


def _items(lines: list[str]) -> list[tuple[str, str]]:
    """Join the lines of each paragraph or list item, with the mark before it."""
    items: list[tuple[str, str]] = []
    for line in lines:
        match = _ITEM.match(line)
        if match:
            items.append((match[1][:1] if match[1] in "*-" else match[1], line[match.end() :].strip()))
        elif items:
            mark, text = items[-1]
            items[-1] = (mark, f"{text} {line.strip()}")
        else:
            items.append(("", line.strip()))
    return items


def _inline(paper: Paper, text: str) -> Text:
    """Return text whose `code` is coloured; the backticks stay where there is no colour."""
    out = Text()
    for index, part in enumerate(paper.show(text).split("`")):
        if index % 2 == 0:
            out.append(part)
        else:
            out.append(part if paper.color else f"`{part}`", "cyan")
    return out


def _options(paper: Paper, page: RulePage) -> None:
    if not page.options:
        return
    paper.blank()
    paper.line(("Options", "bold underline" if paper.color else "bold"), f"  [rules.{page.code}]")
    for option in page.options:
        says = f"  {option.says}" if option.says else ""
        paper.hang("", (f"{option.name} = {option.default}", "cyan"), f"  {option.type}", indent=2)
        if says:
            paper.line(says.strip(), indent=6)


def _examples(paper: Paper, page: RulePage) -> None:
    for title, style, examples in (("Bad", "bold red", page.bad), ("Good", "bold green", page.good)):
        for number, example in enumerate(examples):
            paper.blank()
            which = f" {number + 1} of {len(examples)}" if len(examples) > 1 else ""
            paper.line((f"{title}{which}", style))
            has_places = title == "Bad" and number < len(page.places)
            draw_example(paper, example, page.places[number] if has_places else ())
