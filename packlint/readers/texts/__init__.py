"""Rows of text → rows of token ids, so that a reference need not be tokenized: needs a tokenizer.

    text                   encoded with what the tokenizer puts around a text (BOS …)
    messages               written by the chat template, encoded without; labels where it has {% generation %}
    prompt, completion     texts or messages, end to end; labels on the completion

    columns.py   which columns hold text
    tables.py    Parquet, Arrow and JSON lines → rows of Python values
    encode.py    rows → ids and labels
    shard.py     the `Shard` over them; needs the extra `tokenizers`

It is done as transformers and TRL do it: what they make of these columns is what packers pack.
"""

from __future__ import annotations

from packlint.readers.texts.columns import TextColumns, TextKind, find_text
from packlint.readers.texts.tables import Table, find_table

__all__ = ["Table", "TextColumns", "TextKind", "find_table", "find_text"]
