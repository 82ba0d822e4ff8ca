"""Streams of tokens without padding or packs on disk: what all formats of that kind share.

    stored.py      an array of a file that is opened when it is read
    documents.py   where documents end: checked once, then read by sections
    marks.py       tokens that begin or end a document, where no index does
    windows.py     how a trainer cuts the stream into packs
    rows.py        documents, windows or blocks → `RawRows`
    shard.py       the `Shard` over them, and its `Layout`

    tokens       a a a 2 b 2 c c c 2 d d       2 ends documents
    documents    a a a 2|b 2|c c c 2|d d       an index beside the tokens says so: one row each
    windows      a a a 2 b|2 c c c 2|d d       max_seq_len is told: packs, as the trainer cuts them
    blocks       a a a 2 b 2|c c c 2 d d       neither: stretches that end where a document does, if the
                                               token is told that says so, else anywhere

A reader finds out what the file holds and gives a `Stream`; everything behind that is here.
"""

from __future__ import annotations

from packlint.readers.stream.documents import Documents, check_documents
from packlint.readers.stream.marks import Marks
from packlint.readers.stream.rows import Stream
from packlint.readers.stream.shard import StreamKind, StreamShard, known_dtype, open_stream
from packlint.readers.stream.stored import Held, Opens, Stored
from packlint.readers.stream.windows import WindowRule, wanted_window

__all__ = [
    "Documents",
    "Held",
    "Marks",
    "Opens",
    "Stored",
    "Stream",
    "StreamKind",
    "StreamShard",
    "WindowRule",
    "check_documents",
    "known_dtype",
    "open_stream",
    "wanted_window",
]
