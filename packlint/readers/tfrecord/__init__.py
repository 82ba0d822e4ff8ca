"""Rows as `tf.train.Example`, in TFRecord and ArrayRecord files, read without TensorFlow.

crc32c.py         the checksum of TFRecord, for many records at once
framing.py        TFRecord: lengths and checksums ──▶ records
wire.py           protobuf: features of an Example, integers by the million
examples.py       records ──▶ rows by role
reader.py         TFRecord
array_record.py   ArrayRecord, through its package
"""

from __future__ import annotations

from packlint.readers.tfrecord.array_record import ArrayRecordReader
from packlint.readers.tfrecord.reader import TFRecordReader

__all__ = ["ArrayRecordReader", "TFRecordReader"]
