"""`packlint trainers [NAME]`: how each trainer reads a shard."""

from __future__ import annotations

import json

import rich_click as click

from packlint.cli.screen import color_option, paper_for, write

__all__ = ["command"]


@click.command("trainers")
@click.argument("name", required=False)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to write them.",
)
@color_option
def command(name: str | None, format_name: str, color: str) -> None:
    """List how each trainer reads a shard, or show the contract of one in full, with its source."""
    from packlint.reporters.trainer_view import contract_table, contract_text, contracts_list
    from packlint.trainers import CONTRACTS, find_contract

    chosen = [find_contract(name)] if name else [CONTRACTS[key] for key in sorted(CONTRACTS)]
    if format_name == "json":
        tables = [contract_table(contract) for contract in chosen]
        write(json.dumps(tables[0] if name else tables, indent=1, ensure_ascii=False) + "\n")
    elif name:
        write(contract_text(paper_for(color), chosen[0]))
    else:
        write(contracts_list(paper_for(color), chosen))
