"""Pages in headless Chromium: sealed, silent, usable by keyboard, accessible, as wide as the screen."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from packlint.report import Report
from packlint.reporters import render
from tests.reporters.html.browser import show
from tests.reporters.html.drifted import DRIFT, drifted_report
from tests.reporters.html.pages import SHOWN, leaky_report
from tests.reporters.reports import (
    HOSTILE,
    MARKUP,
    clean_report,
    hostile_report,
    known_report,
    large_report,
    mixed_report,
)

pytestmark = pytest.mark.browser

GALLERY = sorted((Path(__file__).parents[3] / "reports").glob("*/report.html"))
SCRIPT_TEXT = "</script><script>document.title='taken'</script><img src=x onerror=document.title='taken'>"
NAMES = ("clean", "drifted", "hostile", "known", "large", "leaky", "markup", "mixed", "taken")
TITLE = "return document.title"
SHOWN_FINDINGS = "return [...document.querySelectorAll('.finding')].filter(e => e.checkVisibility()).length"


@cache
def page(name: str) -> str:
    hostile = replace(SHOWN, decode=lambda ids: SCRIPT_TEXT)
    reports: dict[str, Callable[[], Report]] = {
        "clean": clean_report,
        "drifted": lambda: drifted_report(DRIFT),
        "hostile": lambda: hostile_report(HOSTILE),
        "known": known_report,
        "large": lambda: large_report(2, 40),
        "leaky": leaky_report,
        "markup": lambda: hostile_report(MARKUP),
        "mixed": mixed_report,
        "taken": lambda: hostile_report(SCRIPT_TEXT),
    }
    return render("html", reports[name](), hostile if name == "leaky" else SHOWN)


@pytest.fixture(params=[*NAMES, *(f"reports/{path.parent.name}" for path in GALLERY)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    name: str = request.param
    if name.startswith("reports/"):
        return next(path for path in GALLERY if path.parent.name == name.removeprefix("reports/")).as_uri()
    return written(name, tmp_path)


def written(name: str, folder: Path) -> str:
    file = folder / f"{name}.html"
    file.write_text(page(name), encoding="utf-8")
    return file.as_uri()


def requests_of(driver: Any) -> list[str]:
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


def test_opens_silently_and_asks_for_nothing(driver: Any, url: str) -> None:
    show(driver, url)
    driver.execute_script("for (const box of document.querySelectorAll('details')) box.open = true;")

    assert driver.get_log("browser") == []
    assert requests_of(driver) == [url]
    assert driver.execute_script(TITLE).startswith("packlint: ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_has_no_serious_accessibility_fault(driver: Any, axe: str, url: str, scheme: str) -> None:
    show(driver, url, scheme=scheme)
    driver.execute_script("for (const box of document.querySelectorAll('details')) box.open = true;")
    driver.execute_script(axe)
    result = driver.execute_async_script("axe.run(document).then(arguments[0])")

    faults = [
        (fault["id"], fault["impact"], fault["nodes"][0]["html"][:200])
        for fault in result["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert faults == []


@pytest.mark.parametrize("width", [360, 1000, 1600])
def test_page_is_as_wide_as_the_screen(driver: Any, url: str, width: int) -> None:
    show(driver, url, width)
    driver.execute_script("for (const box of document.querySelectorAll('details')) box.open = true;")

    assert driver.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.fixture
def known(driver: Any, tmp_path: Path) -> Any:
    show(driver, written("known", tmp_path))
    return driver


def fill(driver: Any, name: str, value: str) -> None:
    field = driver.find_element("css selector", f"#filters [name={name}]")
    if field.tag_name == "select":
        field.find_element("css selector", f"option[value='{value}']").click()
    else:
        field.clear()
        field.send_keys(value)


def n_shown(driver: Any) -> int:
    return int(driver.execute_script(SHOWN_FINDINGS))


def test_all_findings_are_shown_at_first(known: Any) -> None:
    assert n_shown(known) == len(known_report().findings)
    assert known.find_element("id", "shown").text == f"{n_shown(known)} listed"


def test_filter_by_severity(known: Any) -> None:
    known.find_element("css selector", "#filters input[value=error]").click()

    expected = [f for f in known_report().findings if f.severity != "error"]
    assert n_shown(known) == len(expected) == 1
    assert known.find_element("id", "shown").text == f"1 of {len(known_report().findings)} listed"


@pytest.mark.parametrize(
    ("name", "value", "n"),
    [("rule", "SHD001", 1), ("shard", "00003", 1), ("text", "LOSS-ON-PADDING", 6), ("text", "12.5 %", 1)],
)
def test_filter_by_rule_shard_and_text(known: Any, name: str, value: str, n: int) -> None:
    fill(known, name, value)

    assert n_shown(known) == n
    visible = "return [...document.querySelectorAll('.group')].filter(e => e.checkVisibility()).length"
    assert known.execute_script(visible) <= n


def test_filter_by_baseline(known: Any) -> None:
    fill(known, "state", "known")

    assert n_shown(known) == len(known_report().known_findings)


def test_nothing_left_is_said_and_reset_brings_all_back(known: Any) -> None:
    fill(known, "text", "there is no such text")

    assert n_shown(known) == 0
    assert known.find_element("id", "none").is_displayed()
    known.find_element("css selector", "#filters button[type=reset]").click()
    known.execute_async_script("setTimeout(arguments[0], 20)")
    assert n_shown(known) == len(known_report().findings)
    assert not known.find_element("id", "none").is_displayed()


def test_enter_in_the_filter_leaves_the_page_alone(known: Any) -> None:
    fill(known, "text", "padding\n")

    assert known.get_log("browser") == []
    assert n_shown(known) > 0


def active(driver: Any) -> str:
    return str(
        driver.execute_script(
            "return document.activeElement.tagName + '.' + document.activeElement.className"
        )
    )


def test_keyboard_reaches_everything(known: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    body = known.find_element("tag name", "body")
    body.send_keys(Keys.TAB)
    assert active(known) == "A.skip"
    known.switch_to.active_element.send_keys(Keys.ENTER)
    assert known.execute_script("return location.hash") == "#main"
    reached = set()
    for _ in range(45):
        known.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(active(known).split(".")[0])
        has_ring = (
            "const e = document.activeElement; return e === document.body || e.matches(':focus-visible')"
        )
        assert known.execute_script(has_ring)
    assert {"INPUT", "SELECT", "BUTTON", "SUMMARY", "DIV"} <= reached


def test_keyboard_opens_a_finding(known: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    summary = known.find_element("css selector", ".finding details:not([open]) > summary")
    known.execute_script("arguments[0].focus()", summary)
    known.switch_to.active_element.send_keys(Keys.ENTER)

    assert known.execute_script("return document.activeElement.parentElement.open")


def test_slash_goes_to_the_text_filter(known: Any) -> None:
    known.find_element("tag name", "body").send_keys("/")

    assert known.execute_script("return document.activeElement.name") == "text"
    known.switch_to.active_element.send_keys("a/b")
    assert known.execute_script("return document.activeElement.value") == "a/b"


def test_reads_without_script(driver: Any, tmp_path: Path) -> None:
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(driver, written("mixed", tmp_path))
        assert driver.find_element("css selector", ".finding .msg").is_displayed()
        assert not driver.find_element("id", "filters").is_displayed()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_prints_places_and_no_controls(driver: Any, tmp_path: Path) -> None:
    show(driver, written("known", tmp_path))
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})

    assert not driver.find_element("id", "filters").is_displayed()
    assert not driver.find_element("tag name", "nav").is_displayed()
    printed = driver.execute_cdp_cmd("Page.printToPDF", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(printed["data"]) > 10_000
