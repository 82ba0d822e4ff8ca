"""The pages of all installed rules, without importing the rules where that can be helped.

A rule package may ship its pages as `catalogue.json` beside its `__init__.py`, written by

    packlint rules --format json > rules/packlint_rules/catalogue.json

The file holds a digest of each of the package's sources. As long as those are right the pages come from the
file in a few milliseconds; else, and for packages without such a file, from the rules themselves.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packlint.errors import UsageError
from packlint.reporters.rule_page import OptionPage, RulePage

if TYPE_CHECKING:
    from packlint.rule import Example, Rule

__all__ = ["Catalogue", "catalogue_from_rules", "catalogue_json", "find_page", "read_catalogue"]

GROUP = "packlint.rules"
SCHEMA = "packlint/catalogue/v1"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Hold all rules.

    Args:
        pages: sorted by code.
        families: one line on each family, by its three letters.
        digests: digest of every source, by file and package.
    """

    pages: tuple[RulePage, ...]
    families: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@cache
def read_catalogue() -> Catalogue:
    """Return the catalogue of all installed rule packages, by the shortest way."""
    shipped = [_shipped(point) for point in entry_points(group=GROUP)]
    if not shipped or None in shipped:
        return catalogue_from_rules()
    tables = [table for table in shipped if table is not None]
    pages = [RulePage.from_dict(page) for table in tables for page in table["rules"]]
    families = {name: line for table in tables for name, line in table["families"].items()}
    return Catalogue(tuple(sorted(pages, key=lambda page: page.code)), families)


def find_page(code: str) -> RulePage:
    """Return one page; case does not matter, and the rule's name will do.

    Raises:
        UsageError: no such rule; the message suggests the nearest.
    """
    pages = read_catalogue().pages
    for page in pages:
        if code.upper() == page.code or code.lower() == page.name:
            return page
    known = [name for page in pages for name in (page.code, page.name)]
    wanted = code.upper() if re.fullmatch(r"\w{1,6}", code) else code.lower()
    close = difflib.get_close_matches(wanted, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else "; `packlint rules` lists them"
    raise UsageError(f"unknown rule {code}{hint}")


def catalogue_from_rules() -> Catalogue:
    """Return the catalogue as the rules themselves have it.

    Raises:
        NoRulesError: no rule package is installed.
    """
    from packlint.registry import families, find_rule, rule_modules

    pages = tuple(_page(find_rule(code), module) for code, module in rule_modules().items())
    packages = {point.module: _digests(point) for point in entry_points(group=GROUP)}
    return Catalogue(pages, families(), dict(sorted(packages.items())))


def catalogue_json(catalogue: Catalogue) -> str:
    """Return the catalogue as JSON, as a rule package ships it."""
    table = {
        "schema": SCHEMA,
        "digests": dict(catalogue.digests),
        "families": dict(catalogue.families),
        "rules": [page.to_dict() for page in catalogue.pages],
    }
    return json.dumps(table, indent=1, ensure_ascii=False, default=_plain) + "\n"


def _shipped(point: EntryPoint) -> dict[str, Any] | None:
    """Return what a package ships, or none where that is absent or out of date."""
    folder = _folder(point)
    if folder is None:
        return None
    try:
        table = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if table.get("schema") != SCHEMA or table["digests"].get(point.module) != _digests(point):
        return None
    rules = [page for page in table["rules"] if page["package"] == point.module]
    return {"families": table["families"], "rules": rules}


def _folder(point: EntryPoint) -> Path | None:
    spec = find_spec(point.module)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


def _digests(point: EntryPoint) -> dict[str, str]:
    """Return a digest of every source of a package; nothing where it is no folder."""
    folder = _folder(point)
    if folder is None:
        return {}
    sources = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py"))
    return {name: blake2b(path.read_bytes(), digest_size=8).hexdigest() for name, path in sources}


def _page(rule: type[Rule], module: str) -> RulePage:
    from packlint.rule import documentation

    sections = documentation(rule)
    says = " ".join(sections.pop("").split())
    return RulePage(
        code=rule.meta.code,
        name=rule.meta.name,
        severity=rule.meta.severity.value,
        since=rule.meta.since,
        needs=tuple(need.value for need in rule.meta.needs),
        says=says.rstrip("."),
        why=rule.why,
        fix=rule.fix,
        sections=sections,
        options=tuple(_options(rule)),
        good=tuple(rule.good),
        bad=tuple(rule.bad),
        places=tuple(_places(rule, example) for example in rule.bad),
        package=module.partition(".")[0],
        module=module,
    )


def _places(rule: type[Rule], example: Example) -> tuple[tuple[int, int, int], ...]:
    """Return pack, start and stop of what a pack rule finds in its own example."""
    from packlint.rule import PackRule
    from packlint.testing import check, make_batch

    if not issubclass(rule, PackRule):
        return ()
    try:
        batch = make_batch(example)
        hits = check(rule, batch)
    except Exception:  # one broken example of one package must not hide all other pages
        return ()
    bases = batch.pack_offsets[hits.packs]
    columns = hits.packs, hits.starts - bases, hits.stops - bases
    return tuple(zip(*(column.tolist() for column in columns), strict=True))


def _options(rule: type[Rule]) -> Iterator[OptionPage]:
    told = dict(re.findall(r"^\s+(\w+): (.+)$", rule.Options.__doc__ or "", flags=re.MULTILINE))
    defaults = rule.Options()
    for name, option in rule.Options.__dataclass_fields__.items():
        default = getattr(defaults, name)
        yield OptionPage(
            name=name,
            type=option.type if isinstance(option.type, str) else option.type.__name__,
            default=json.dumps(default, default=_plain),
            says=told.get(name, ""),
        )


def _plain(value: Any) -> Any:
    """Return a numpy array or number, or a set, as JSON knows it."""
    return sorted(value) if isinstance(value, set | frozenset) else value.tolist()
