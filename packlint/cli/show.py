"""`packlint show SHARD`: one pack, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from packlint.cli.options import run_config, settings_options, spec_options
from packlint.cli.screen import color_option, paper_for, write
from packlint.errors import UsageError
from packlint.reporters.paper import Paper
from packlint.reporters.signs import SEVERITY_STYLES, count, percent, severity_sign

if TYPE_CHECKING:
    from packlint.chat.tokenizer import Tokenizer
    from packlint.cli.one_pack import OnePack

__all__ = ["command"]


@click.command("show")
@click.argument("shard")
@click.option(
    "--pack", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Which pack."
)
@click.option(
    "--text/--ids", "as_text", default=None, help="Text (with --tokenizer, the default then) or ids."
)
@click.option("--full", is_flag=True, help="Fold nothing, however long.")
@click.option("--width", type=click.IntRange(min=40), metavar="N", help="Columns, instead of the terminal's.")
@settings_options
@spec_options
@color_option
def command(
    shard: str,
    pack: int,
    as_text: bool | None,
    full: bool,
    width: int | None,
    color: str,
    **settings: Any,
) -> None:
    """Draw one pack of a shard, and list what pack rules find in it."""
    from packlint.cli.one_pack import read_pack
    from packlint.model.spec import DatasetSpec
    from packlint.reporters.pack_view import Cells, draw_tokens

    config = run_config(settings.pop("config_file"), **settings)
    tokenizer = _tokenizer(config.tokenizer, as_text)
    told = config.spec.or_else(tokenizer.spec if tokenizer else DatasetSpec())
    one = read_pack(shard, pack, config, told)
    paper = paper_for(color, width)
    ids = one.batch.tokens.tolist()
    if tokenizer and as_text is not False:
        words, gap = [paper.show(piece) for piece in tokenizer.pieces(ids)], ""
    else:
        words, gap = [str(token_id) for token_id in ids], " "
    _head(paper, one)
    draw_tokens(paper, one.batch, Cells(words=words, gap=gap, faults=one.faults, full=full))
    _findings(paper, one)
    _legend(paper, one)
    write(paper.text())


def _tokenizer(path: str | None, as_text: bool | None) -> Tokenizer | None:
    if path is None:
        if as_text:
            raise UsageError("--text needs --tokenizer FILE")
        return None
    from packlint.chat.tokenizer import load_tokenizer

    return load_tokenizer(path)


def _head(paper: Paper, one: OnePack) -> None:
    batch = one.batch
    dot = f" {paper.glyphs.dot} "
    of = f" of {one.n_packs:,}" if one.n_packs else ""
    paper.line((paper.show(batch.shard.name), "bold"), dot, f"{batch.shard.unit} {batch.pack_numbers[0]}{of}")
    n_padding = batch.padding.n_tokens
    parts = [count(batch.n_tokens, "token"), count(batch.n_segments, "segment"), f"{n_padding:,} padding"]
    if batch.loss_weight is not None:
        n_targets, n_real = batch.targets.n_tokens, batch.n_tokens - n_padding
        parts.append(f"{count(n_targets, 'target')} ({percent(n_targets / n_real if n_real else 0.0)})")
    paper.line(dot.join(parts), indent=2)
    if batch.loss_weight is None and len(batch.targets):
        paper.line("the shard stores no labels: every token that is not padding is a target", indent=2)
    paper.line(_isolation(one), indent=2)
    if batch.segment_source is None:
        paper.line("nothing records where samples begin: the pack is drawn as one segment", indent=2)
    else:
        whence = "the columns of a pair, chosen first" if _is_pair(one) else batch.segment_source
        paper.line(f"segments from {whence}", indent=2)


def _is_pair(one: OnePack) -> bool:
    from packlint.model.batch import Unit

    return one.batch.shard.unit is Unit.PAIR


def _isolation(one: OnePack) -> str:
    from packlint.model.contract import BoundarySource
    from packlint.model.isolation import deciding_source

    contract = one.batch.shard.contract
    if contract is None:
        return "no trainer known: give --trainer NAME"
    source = deciding_source(one.batch)
    if _is_pair(one):
        return f"trainer {contract.name}: each side of the pair is a sequence of its own"
    if source is None or source is BoundarySource.ROWS:
        return f"trainer {contract.name}: every token sees all tokens of the pack before it"
    return f"trainer {contract.name}: samples are kept apart by {source}"


def _findings(paper: Paper, one: OnePack) -> None:
    paper.blank()
    if not one.report.findings:
        paper.line((f"{paper.glyphs.clean} ", "bold green"), "pack rules find nothing in this pack")
    for finding in one.report.findings:
        sign = severity_sign(finding.severity, paper.glyphs)
        places = [p for p in finding.locations if p.stop > p.start]
        where = ", ".join(f"{p.start}:{p.stop}" for p in places)
        more = f" and {finding.n_hits - len(places):,} more" if finding.n_hits > len(places) > 0 else ""
        paper.hang(
            (f"{sign} {finding.code}", SEVERITY_STYLES[finding.severity]),
            (finding.name, "bold"),
            f"  {paper.show(finding.message)}",
            (f"  tokens {where}{more}" if where else "", "dim"),
            column=len(sign) + 8,
        )
    for line in one.report.internal_errors:
        paper.line(("internal error ", "bold red"), paper.show(line))


def _legend(paper: Paper, one: OnePack) -> None:
    glyphs = paper.glyphs
    parts = [f"{glyphs.bar} segment"]
    if one.batch.loss_weight is not None:
        parts.append(f"{glyphs.target} target")
    if len(one.batch.padding):
        parts.append(f"{glyphs.padding} padding")
    if one.faults:
        parts.append(f"{glyphs.fault} place of a finding")
    paper.blank()
    paper.line(("   ".join(parts), "dim"))
