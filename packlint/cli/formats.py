"""`packlint formats`: what can be read."""

from __future__ import annotations

import rich_click as click

from packlint.cli.screen import color_option, paper_for, write

__all__ = ["command"]


@click.command("formats")
@color_option
def command(color: str) -> None:
    """List the formats that can be read, and who writes them. Formats are told by content, not by name."""
    from packlint.readers.discover import load_readers

    paper = paper_for(color)
    readers = load_readers()
    column = max(len(reader.format) for reader in readers) + 2
    for reader in readers:
        paper.hang((reader.format, "bold"), reader.title, column=column)
    paper.hang(("memory", "bold"), "data in memory, by packlint.check(…) in Python", column=column)
    paper.blank()
    paper.line(
        "Shards are recognised by their content. What needs a package beside packlint says which extra."
    )
    paper.line(
        "Preference pairs whose sides are columns (chosen_input_ids, rejected_input_ids and kin) are read"
    )
    paper.line("from parquet, arrow, jsonl and memory: a row is the chosen, then the rejected sample.")
    paper.line("Each may lie behind a URL: s3:// gs:// hf:// https://, with the extras s3, gcs, hf and http.")
    write(paper.text())
