"""`packlint rules`: the list of all rules."""

from __future__ import annotations

import rich_click as click

from packlint.cli.catalogue import catalogue_from_rules, catalogue_json, read_catalogue
from packlint.cli.screen import color_option, paper_for, write
from packlint.reporters.rule_list import rules_markdown, rules_table

__all__ = ["command"]


@click.command("rules")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
    help="json and markdown are what rules/packlint_rules/catalogue.json and rules/README.md hold.",
)
@color_option
def command(format_name: str, color: str) -> None:
    """List all rules: code, name, severity, what each needs and what it says."""
    if format_name == "json":
        write(catalogue_json(catalogue_from_rules()))
    elif format_name == "markdown":
        catalogue = catalogue_from_rules()
        write(rules_markdown(catalogue.pages, catalogue.families))
    else:
        catalogue = read_catalogue()
        write(rules_table(paper_for(color), catalogue.pages, catalogue.families))
