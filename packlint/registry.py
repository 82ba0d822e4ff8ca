"""Finds installed rule packages by the entry point `packlint.rules`; the engine itself knows no rule.

An entry point names a `RulePackage`. Modules are imported only when their rules are asked for.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from packlint.errors import NoRulesError, UsageError
from packlint.rule import Rule

__all__ = [
    "RulePackage",
    "find_profile",
    "find_rule",
    "load_rules",
    "profile_names",
    "rule_modules",
    "select_codes",
]

GROUP = "packlint.rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePackage:
    """Offer rules and profiles; the entry point of a rule package is one of these.

    Args:
        modules: dotted module by rule code; each module holds one subclass of `Rule`.
        profiles: folder of `<name>.toml` files, or none.
        families: one line on each family, by its three letters.
    """

    modules: Mapping[str, str]
    profiles: Path | None = None
    families: Mapping[str, str] = field(default_factory=dict)


@cache
def _packages() -> tuple[RulePackage, ...]:
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    if not found:
        raise NoRulesError(
            f"no rule package is installed (entry point {GROUP}): run `pip install packlint` again"
        )
    return tuple(point.load() for point in found)


def rule_modules() -> dict[str, str]:
    """Return the dotted module of every rule, by code, sorted."""
    merged: dict[str, str] = {}
    for package in _packages():
        for code, module in package.modules.items():
            if code in merged:
                raise UsageError(f"rule {code} is offered twice: by {merged[code]} and by {module}")
            merged[code] = module
    return dict(sorted(merged.items()))


def families() -> dict[str, str]:
    """Return one line on each family, by its three letters."""
    return {name: line for package in _packages() for name, line in package.families.items()}


@cache
def find_rule(code: str) -> type[Rule]:
    """Return the class of one rule.

    Raises:
        UsageError: no such rule.
    """
    modules = rule_modules()
    if code not in modules:
        close = difflib.get_close_matches(code, modules, n=1)
        hint = f"; did you mean {close[0]}?" if close else "; `packlint rules` lists them"
        raise UsageError(f"unknown rule {code}{hint}")
    module = import_module(modules[code])
    for value in vars(module).values():
        is_rule = isinstance(value, type) and issubclass(value, Rule) and hasattr(value, "meta")
        if is_rule and value.meta.code == code:
            rule: type[Rule] = value
            return rule
    raise UsageError(f"{modules[code]} holds no rule with the code {code}")


def load_rules(
    codes: Iterable[str] | None = None, options: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Rule]:
    """Return rules, sorted by code, with their options.

    Raises:
        UsageError: an unknown code or option.
    """
    chosen = rule_modules() if codes is None else sorted(set(codes))
    return [_make(find_rule(code), dict((options or {}).get(code, {}))) for code in chosen]


def _make(rule: type[Rule], options: dict[str, Any]) -> Rule:
    known = rule.Options.__dataclass_fields__
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f"; it takes {', '.join(known) or 'none'}"
            raise UsageError(f"[rules.{rule.meta.code}] has no option {name}{hint}")
    return rule(rule.Options(**options))


def select_codes(patterns: Iterable[str]) -> set[str]:
    """Return the codes that the patterns name: a code, a prefix such as `TGT`, or `ALL`.

    Raises:
        UsageError: a pattern names no rule.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        prefix = "" if pattern == "ALL" else pattern
        found = {code for code in rule_modules() if code.startswith(prefix)}
        if not found:
            raise UsageError(f"{pattern} names no rule; `packlint rules` lists them")
        chosen |= found
    return chosen


def profile_names() -> list[str]:
    """Return the names of all built-in profiles, sorted."""
    folders = [package.profiles for package in _packages() if package.profiles]
    return sorted(path.stem for folder in folders for path in folder.glob("*.toml"))


@cache
def find_profile(name: str) -> Mapping[str, Any]:
    """Return a profile's table.

    Raises:
        UsageError: no such profile.
    """
    for package in _packages():
        if package.profiles and (path := package.profiles / f"{name}.toml").is_file():
            return tomllib.loads(path.read_text())
    names = profile_names()
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(names)}"
    raise UsageError(f"unknown profile {name}{hint}")
