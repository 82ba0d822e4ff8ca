"""Trainer contracts: all of them as a list, one of them in full, and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from packlint.model.contract import BoundarySource, BoundaryTargets, TrainerContract
from packlint.reporters.paper import Paper

__all__ = ["contract_table", "contract_text", "contracts_list"]

_NAMED = ("name", "title", "source")
_MAX_COLUMN, _MIN_ROOM = 27, 50


def contracts_list(paper: Paper, contracts: Sequence[TrainerContract]) -> str:
    """Return all contracts: what each isolates by, where labels sit, what becomes of boundary targets."""
    dot = f" {paper.glyphs.dot} "
    column = min(_MAX_COLUMN, max(len(contract.name) for contract in contracts) + 2)
    if column + _MIN_ROOM > paper.width:
        column = 2
    for contract in contracts:
        facts = (_isolation(contract), f"labels {contract.label_alignment}", _boundary_targets(contract))
        paper.hang((contract.name, "bold"), contract.title, column=column)
        paper.hang("", (dot.join(facts), "dim"), column=column)
    paper.blank()
    paper.line(f"{len(contracts)} contracts. ", ("packlint trainers NAME", "bold"), " shows one in full.")
    return paper.text()


def contract_text(paper: Paper, contract: TrainerContract) -> str:
    """Return one contract in full, with its source."""
    paper.line((contract.name, "bold"))
    paper.line(contract.title, indent=2)
    paper.blank()
    table = contract_table(contract)
    column = max(map(len, table)) + 2
    for name, value in table.items():
        if name not in _NAMED:
            paper.hang(name, _spelled(value), indent=2, column=column)
    paper.blank()
    paper.hang("source", contract.source, indent=2, column=column)
    return paper.text()


def contract_table(contract: TrainerContract) -> dict[str, Any]:
    """Return a contract as plain data."""
    values = {field.name: getattr(contract, field.name) for field in fields(TrainerContract)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _isolation(contract: TrainerContract) -> str:
    if not contract.isolates_by:
        return "no isolation"
    return "isolates by " + ", else ".join(_source_name(source) for source in contract.isolates_by)


def _boundary_targets(contract: TrainerContract) -> str:
    if contract.boundary_targets is BoundaryTargets.IMPOSSIBLE:
        return "boundary targets cannot occur"
    return f"boundary targets {contract.boundary_targets}"


def _source_name(source: BoundarySource) -> str:
    return "row" if source is BoundarySource.ROWS else source.value


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        return ", else ".join(map(str, value)) or "nothing: causal attention over the whole pack"
    if value is None:
        return "not known"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
