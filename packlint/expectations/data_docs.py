"""Data Docs of a validation in a folder: HTML that needs the network, in the browser, to look right.

Paths would hold the time of the run and pages random ids; here the same results give the same files. The logo
comes from the folder instead of a host that would count its readers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from packlint.errors import UsageError

__all__ = ["write_data_docs"]

_NAME = "great_expectations"
_SITE = "packlint"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOGO = re.compile(r'https://[^"]*/(logo-long\.png)\?d=[0-9TZ.]+')


def write_data_docs(context: Any, results: Mapping[str, Any], folder: Path) -> None:
    """Write the pages of all results.

    Args:
        context: the data context in which they were validated.
        results: result by table, as Great Expectations gave it; changed in place.
        folder: where to write; made where it is not there.

    Raises:
        UsageError: the folder cannot be written to.
    """
    ids = import_module(f"{_NAME}.data_context.types.resource_identifiers")
    run = import_module(f"{_NAME}.core.run_identifier").RunIdentifier(run_name=_SITE, run_time=_run_time())
    suites = import_module(_NAME).ExpectationSuite
    try:
        folder.mkdir(parents=True, exist_ok=True)
        context.add_data_docs_site(_SITE, _site(folder))
        for table, result in results.items():
            result.meta |= {"run_id": run, "batch_markers": {}}
            _make_drawable(result)
            result.suite_name = _file_name(result.suite_name)
            expectations = [answer.expectation_config for answer in result.results]
            context.suites.add(suites(result.suite_name, expectations))
            suite = ids.ExpectationSuiteIdentifier(name=result.suite_name)
            key = ids.ValidationResultIdentifier(suite, run, batch_identifier=f"{_SITE}-{table}")
            context.validation_results_store.set(key, result)
        context.build_data_docs(site_names=[_SITE])
        for page in sorted(folder.rglob("*.html")):
            page.write_text(_settled(page.read_text(encoding="utf-8"), page, folder), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--data-docs {folder}: {error.strerror or error}") from None


def _site(folder: Path) -> dict[str, Any]:
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.absolute())}
    return {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        "store_backend": store,
    }


def _make_drawable(result: Any) -> None:
    """Move what comparisons of distinct values found to where pages show it; they fail on its count."""
    for answer in result.results:
        found = answer.result
        if "unexpected_count" in found and "element_count" not in found:
            told = {"unexpected": found.pop("partial_unexpected_list", [])}
            told |= {"missing": found.pop("partial_missing_list", [])}
            del found["unexpected_count"]
            found["observed_value"] = [f"{key}: {value}" for key, values in told.items() for value in values]


def _run_time() -> datetime:
    """Return the time that reproducible builds are told, else the epoch: reports have no clock."""
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(told) if told.isdecimal() else 0, UTC)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-") or "suite"


def _settled(text: str, page: Path, folder: Path) -> str:
    """Return a page with its random ids numbered and its logo taken from the folder."""
    numbers = count(1)
    ids: dict[str, str] = {}
    for found in _ID.findall(text):
        if found not in ids:
            ids[found] = f"{next(numbers):08x}-0000-0000-0000-000000000000"
    up = "../" * (len(page.relative_to(folder).parts) - 1)
    text = _ID.sub(lambda match: ids[match[0]], text)
    return _LOGO.sub(rf"{up}static/images/\1", text)
