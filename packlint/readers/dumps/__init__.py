"""Batches that were dumped to a file, array by array under their names.

    members.py       one stored array: what is known of it before it is read
    shard.py         members ──▶ one shard, or several whose names share a prefix; rows as in `memory`
    npz.py           numpy `.npz`
    safetensors.py   `.safetensors`
    torch_files.py   PyTorch `.pt`, through torch's safe loader

Nothing is unpickled but by `torch.load(weights_only=True)`.
"""

from __future__ import annotations

from packlint.readers.dumps.npz import NpzReader
from packlint.readers.dumps.safetensors import SafetensorsReader
from packlint.readers.dumps.torch_files import TorchReader

__all__ = ["NpzReader", "SafetensorsReader", "TorchReader"]
