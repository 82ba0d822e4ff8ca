"""How severities look; every colour has a word or a sign beside it."""

from __future__ import annotations

from packlint.reporters.paper import Glyphs

__all__ = ["SEVERITY_STYLES", "count", "percent", "severity_sign"]

SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def severity_sign(severity: str, glyphs: Glyphs) -> str:
    """Return the sign of a severity."""
    return {"error": glyphs.error, "warning": glyphs.warning, "info": glyphs.info}[severity]


def count(number: int, word: str, plural: str = "") -> str:
    """Return `1 pack`, `2 packs`, `1,234 packs`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage that is never rounded to nothing or to all."""
    if 0 < fraction < 0.001:
        return "<0.1%"
    if 0.999 < fraction < 1:
        return ">99.9%"
    return f"{fraction:.1%}"
