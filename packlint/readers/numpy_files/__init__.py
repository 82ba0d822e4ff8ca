"""`.npy` files: arrays of token ids, and the pickled rows of NeMo; nothing in them is ever executed.

header.py     the header of an array, here and in `.npz` members
arrays.py     one array of integers: rows, or a stream of windows
pickled.py    the pickle machine: lists, dicts and numbers, and no more; pickled_values.py, what it builds
nemo.py       packed fine-tuning rows of NeMo 2 and Megatron-Bridge
reader.py     which of them a file is
"""

from __future__ import annotations

from packlint.readers.numpy_files.reader import NpyReader

__all__ = ["NpyReader"]
