"""Screenshots for `reports/README.md`: pages in light and dark, and the terminal in colour.

Fonts differ between machines, so pictures are compared with nothing. They are taken of the reports that stand
in `reports/`, with Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.terminal_theme import TerminalTheme

from tests.gallery.golden import REPORTS
from tests.gallery.scenario import show_on_terminal
from tests.gallery.scenarios import SCENARIOS
from tests.reporters.html.browser import open_browser, show

__all__ = ["take_pictures"]

_FOLDER = "pictures"
_WIDTH, _HEIGHT, _TERMINAL_WIDTH, _N_LINES = 1000, 800, 860, 28
_SCROLL_TO = "scrollTo(0, document.querySelector(arguments[0]).getBoundingClientRect().top - 12)"
_BOTTOM = "return document.querySelector('pre').getBoundingClientRect().bottom"
_PAPER, _INK = (22, 25, 29), (227, 231, 236)
_COLORS = ((60, 66, 74), (255, 123, 114), (111, 207, 143), (239, 180, 84), (130, 182, 242), (198, 160, 246))
_DARK = TerminalTheme(_PAPER, _INK, [*_COLORS, (110, 205, 220), (200, 205, 210)])


@dataclass(frozen=True, slots=True)
class _View:
    """Name a part of a page: scenario, where it begins, in which colours."""

    name: str
    scenario: str
    begins: str
    scheme: str


_PAGES = (
    _View("leaky-sft", "leaky-sft", "#ISO001", "light"),
    _View("leaky-sft-dark", "leaky-sft", "#ISO001", "dark"),
    _View("loss-mask-faults", "loss-mask-faults", "body", "light"),
    _View("drifted-mixture", "drifted-mixture", "#drift .card:nth-of-type(2)", "light"),
    _View("drifted-mixture-dark", "drifted-mixture", "#drift .card:nth-of-type(2)", "dark"),
)
_TERMINALS = {"leaky-sft": "ISO001 cross-sample", "drifted-mixture": "Shares by domain"}
"""Text at which the pictures of a terminal begin, by scenario."""


def take_pictures() -> Iterator[str]:
    """Take all pictures, and yield the name of each below `reports/`."""
    (REPORTS / _FOLDER).mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="packlint-pictures-") as temporary:
        profile = Path(temporary) / "profile"
        profile.mkdir()
        driver = open_browser(profile)
        try:
            for view in _PAGES:
                yield _save(view.name, _page(driver, view))
            for name, begins in _TERMINALS.items():
                yield _save(f"{name}-terminal", _terminal(driver, name, begins, Path(temporary)))
        finally:
            driver.quit()


def _save(name: str, picture: bytes) -> str:
    file = REPORTS / _FOLDER / f"{name}.png"
    file.write_bytes(picture)
    return f"{_FOLDER}/{file.name}"


def _page(driver: Any, view: _View) -> bytes:
    show(driver, (REPORTS / view.scenario / "report.html").as_uri(), _WIDTH, view.scheme)
    driver.execute_script(_SCROLL_TO, view.begins)
    return _shot(driver, _HEIGHT)


def _terminal(driver: Any, name: str, begins: str, folder: Path) -> bytes:
    """Return a picture of the verdict that a terminal shows, and of some lines below it."""
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == name)
    work = folder / name
    work.mkdir()
    lines = show_on_terminal(scenario, work).splitlines()
    first = next(i for i, line in enumerate(lines) if begins in AnsiDecoder().decode_line(line).plain)
    shown = [lines[0], "", "…", "", *lines[first : first + _N_LINES]]
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    for line in AnsiDecoder().decode("\n".join(shown)):
        console.print(line, soft_wrap=True)
    prompt = html.escape(f"$ packlint {' '.join(scenario.command)}")
    frame = (
        '<meta charset="utf-8">'
        f'<body style="margin:0;padding:16px 20px;background:rgb{_PAPER};color:rgb{_INK}">'
        f'<pre style="font:13.5px/1.38 monospace;margin:0">{prompt}\n\n{{code}}</pre>'
    )
    file = folder / f"{name}.html"
    file.write_text(console.export_html(code_format=frame, inline_styles=True, theme=_DARK), encoding="utf-8")
    show(driver, file.as_uri(), _TERMINAL_WIDTH, "dark")
    return _shot(driver, int(driver.execute_script(_BOTTOM)) + 16)


def _shot(driver: Any, height: int) -> bytes:
    """Return the upper part of the window."""
    size = {"width": driver.execute_script("return innerWidth"), "height": height}
    top, left = (driver.execute_script(f"return {name}") for name in ("scrollY", "scrollX"))
    taken = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"clip": {"x": left, "y": top, **size, "scale": 1}}
    )
    return base64.b64decode(taken["data"])
