"""A rule's page as plain data, from which lists, pages and the catalogue are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["HEADINGS", "OptionPage", "RulePage"]

HEADINGS = ("What it checks", "Why it matters", "How to fix", "Limits", "Sources")


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionPage:
    """Describe one option of a rule.

    Args:
        name: key in `[rules.CODE]`.
        type: its type.
        default: its default, as written in TOML or Python.
        says: what it does, or empty.
    """

    name: str
    type: str
    default: str
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePage:
    """Describe one rule.

    Args:
        code: rule code.
        name: rule name.
        severity: default severity.
        since: version that brought it.
        needs: what must be present or known.
        says: what the rule says, in one line.
        why: why it matters, in one line.
        fix: how to fix it, in one line.
        sections: text by heading.
        options: its options.
        good: smallest packs on which it is silent.
        bad: smallest packs that show the fault.
        places: for each bad example, pack, start and stop of what the rule finds in it.
        package: import package that offers it.
        module: dotted module.
    """

    code: str
    name: str
    severity: str
    since: str
    needs: tuple[str, ...] = ()
    says: str = ""
    why: str = ""
    fix: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    options: tuple[OptionPage, ...] = ()
    good: tuple[Mapping[str, Any], ...] = ()
    bad: tuple[Mapping[str, Any], ...] = ()
    places: tuple[tuple[tuple[int, int, int], ...], ...] = ()
    package: str = ""
    module: str = ""

    @property
    def family(self) -> str:
        """The three letters."""
        return self.code[:3]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> RulePage:
        """Return the page that `to_dict` gave."""
        listed = {name: tuple(table[name]) for name in ("needs", "good", "bad")}
        options = tuple(OptionPage(**option) for option in table["options"])
        places = tuple(tuple((p, a, b) for p, a, b in found) for found in table["places"])
        return cls(**{**table, **listed, "options": options, "places": places})
