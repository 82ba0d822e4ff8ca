"""Headless Chromium, alone: no profile, no network of its own; for tests and for the gallery's pictures."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

__all__ = ["PROGRAMS", "open_browser", "show"]

PROGRAMS = ("chromium", "chromedriver")
"""What Debian's packages chromium and chromium-driver install."""
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def open_browser(profile: Path) -> Any:
    """Return a driver of `selenium`; the caller quits it.

    Args:
        profile: an empty folder for what the browser writes.
    """
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    browser, driver = (str(shutil.which(name)) for name in PROGRAMS)
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    opened.get("about:blank")  # the browser's own first page goes on loading otherwise, and is logged
    return opened


def show(driver: Any, url: str, width: int = 1000, scheme: str = "light") -> None:
    """Open a page at a width of the screen and in a colour scheme, with the logs of before thrown away."""
    driver.get_log("browser")
    driver.get_log("performance")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.get(url)
