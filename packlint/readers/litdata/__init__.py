"""litdata chunks of tokens, as `optimize(..., item_loader=TokensLoader())` writes them.

    index.py     `index.json` → what is declared of each chunk
    reader.py    a chunk's own header and tokens → a stream, checked against the index

    index.json      {"chunks": [{"filename", "chunk_bytes", "chunk_size", "dim"}, ...], "config": {...}}
    chunk-0-0.bin   n_items   offsets        │ tokens of all items, end to end
                    u32       u32[n_items+1] │ the first offset is the header's size, the last the file's

An item is what the user's function yielded: one document. TokensLoader ignores items and slices each chunk
into blocks of `max_seq_len + 1` (LitGPT), dropping what is left of every chunk.

Source: litdata 0.2.76 `streaming/{writer,item_loader,serializers,compression}.py`, `constants.py`.
"""

from __future__ import annotations

from packlint.readers.litdata.reader import LitdataReader

__all__ = ["LitdataReader"]
