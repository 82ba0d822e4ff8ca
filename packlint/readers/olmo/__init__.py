"""OLMo and dolma: raw tokens named `.npy`, with the documents in a table beside them.

    table.py     the table of documents
    reader.py    tokens, table and loss mask → a stream

    token_ids_part_0000.npy       tokens       u8, u16, u32 or u64[token]; by name only a numpy file
    token_ids_part_0000.csv.gz    documents    start,end[,id,src,loc] per line, in tokens, no header line
    labels_mask_part_0000.npy     loss         bool[token], 1 = loss, on the predicted token (fine-tuning)

Nothing records how tokens are stored: it is told, or it is the one type with which the last end of the table
gives the size of the file. OLMo-core cuts chunks of `max_seq_len` and drops the rest; so do rows here when
it is told, but for the rest, which stays. Its packing data set (NumpyPackedFSLDataset) packs whole documents
when it reads.

Source: allenai/dolma 669f534 `python/dolma/tokenizer/{memmap_writer,data_types}.py`; allenai/OLMo-core
fa6c5014c `src/olmo_core/data/numpy_dataset.py`; allenai/open-instruct
`open_instruct/numpy_dataset_conversion.py`.
"""

from __future__ import annotations

from packlint.readers.olmo.reader import OlmoReader

__all__ = ["OlmoReader"]
