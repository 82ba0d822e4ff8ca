"""The part of `reports/README.md` that is made: each scenario with what is planted, said, and written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.gallery.scenario import FILES, Scenario
from tests.gallery.scenarios import SCENARIOS

__all__ = ["FILE", "with_scenarios"]

FILE = "README.md"
_BEGIN, _END = "<!-- made by python -m tests.gallery --write -->", "<!-- end -->"


def with_scenarios(page: str, made: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page with what is between its marks made anew.

    Args:
        page: the text of the page.
        made: reports by scenario and file name.
    """
    sections = "\n".join(_section(scenario, made[scenario.name]) for scenario in SCENARIOS)
    between = re.compile(f"(?<={re.escape(_BEGIN)}\n).*?(?={re.escape(_END)})", re.DOTALL)
    return between.sub(lambda _: f"\n{sections}\n", page)


def _section(scenario: Scenario, files: Mapping[str, str]) -> str:
    links = " · ".join(f"[{name}]({scenario.name}/{file})" for name, file in FILES.items())
    verdict = files[FILES["terminal"]].splitlines()[0]
    lines = [
        f"### {scenario.title}",
        "",
        scenario.planted,
        "",
        "```",
        f"$ packlint {' '.join(scenario.command)}",
    ]
    lines += [verdict, *_findings(files[FILES["terminal"]]), "```", "", links, ""]
    return "\n".join(lines)


def _findings(text: str) -> list[str]:
    """Return the line that heads each finding of a report on a terminal, without its counts."""
    heads = re.findall(r"^\S (?:error|warning|info)  \w+ \S+", text, re.MULTILINE)
    return [f"  {head}" for head in heads]
