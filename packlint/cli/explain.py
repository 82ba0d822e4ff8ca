"""`packlint explain CODE`: a rule's page."""

from __future__ import annotations

import rich_click as click

from packlint.cli.catalogue import find_page, read_catalogue
from packlint.cli.screen import color_option, paper_for, write
from packlint.reporters.rule_text import rule_text

__all__ = ["command"]


@click.command("explain")
@click.argument("code")
@color_option
def command(code: str, color: str) -> None:
    """Explain a rule: what it checks, why it matters, how to fix it, and its smallest example.

    CODE is a code such as TGT001, or a name such as loss-on-padding.
    """
    page = find_page(code)
    family = read_catalogue().families.get(page.family, "")
    write(rule_text(paper_for(color), page, family))
