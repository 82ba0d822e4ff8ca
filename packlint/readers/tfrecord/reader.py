"""The reader of TFRecord files whose records are `tf.train.Example`s with lists of token ids.

Written so by seqio's and MaxText's offline packers, and by anything that ends in `tf.io.TFRecordWriter`;
plain, or compressed with gzip as a whole. The features' names are those of `layouts`; encoder-decoder rows
become two shards, `FILE:inputs` and `FILE:targets`.

Source: `seqio/utils.py`, `seqio/feature_converters.py` (google/seqio, b898b9f); framing.py and wire.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec
from packlint.readers.encdec import encoder_decoder_layouts, is_encoder_decoder
from packlint.readers.inflate import Codec, codec_of, content_limit, open_content, read_content
from packlint.readers.layouts import detect_layout, factors
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.tfrecord.examples import example_rows, feature_kinds, first_examples
from packlint.readers.tfrecord.framing import HEADER_BYTES, Records, is_header, read_records

__all__ = ["TFRecordReader", "TFRecordShard", "example_layouts"]

_BLOCK_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 16


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TFRecordShard:
    """Read one TFRecord file.

    Args:
        name: path relative to the inputs.
        layout: which feature means what.
        source: the file.
        codec: how it is compressed, or none.
        names: features seen, to tell a feature from a product of two.
    """

    name: str
    layout: Layout
    source: Source
    codec: Codec | None
    names: frozenset[str]

    @property
    def format(self) -> str:
        """Name of the format."""
        return TFRecordReader.format

    @property
    def spec(self) -> DatasetSpec:
        """Nothing: an Example stores every integer alike."""
        return DatasetSpec()

    @property
    def n_bytes(self) -> int:
        """Bytes on disk."""
        return self.source.size

    def parts(self) -> Sequence[Part]:
        """Return the file as one piece; only reading it tells its rows."""
        return [Part(0, 0, 0)]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows in order; a damaged record becomes a fault.

        Raises:
            UnreadableError: a length or the compression is damaged, or the file is cut off.
        """
        columns = {
            role: factors(name, self.names) for role, name in self.layout.columns.items() if role in roles
        }
        yield from example_rows(_records(self.source, self.codec, _BLOCK_BYTES), columns, block_tokens)


class TFRecordReader:
    """Recognise and open TFRecord files."""

    format = "tfrecord"
    title = "TFRecord of tf.train.Example with token lists: seqio, MaxText, Grain; plain or gzip"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the checksum of the first length, inside gzip too."""
        codec = codec_of(head)
        if codec is not Codec.GZIP:
            return is_header(head)
        try:
            return is_header(read_content(source, codec, HEADER_BYTES))
        except UnreadableError:
            return False

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the one shard, or two for encoder-decoder rows; reads the first few records.

        Raises:
            UnreadableError: no record is an Example, or no feature holds token ids.
        """
        codec = codec_of(source.read(0, 4))
        records = _records(source, codec, _SAMPLE_BYTES)
        names, layouts = example_layouts(records, settings)
        return [
            TFRecordShard(name=name + suffix, layout=layout, source=source, codec=codec, names=names)
            for suffix, layout in layouts.items()
        ]


def example_layouts(
    records: Iterator[Records], settings: Settings
) -> tuple[frozenset[str], dict[str, Layout]]:
    """Return the features seen in the first records, and the layout of each shard by the end of its name.

    Raises:
        UnreadableError: no record is an Example, or no feature holds token ids.
    """
    examples = first_examples(records, _SAMPLE_ROWS)
    kinds = feature_kinds(examples)
    if not settings.columns and is_encoder_decoder(examples):
        layouts = encoder_decoder_layouts(kinds)
        return frozenset(kinds), {f":{side}": layout for side, layout in layouts.items()}
    return frozenset(kinds), {"": detect_layout(kinds, renamed=settings.columns)}


def _records(source: Source, codec: Codec | None, block_bytes: int) -> Iterator[Records]:
    limit = source.size if codec is None else content_limit(source.size)
    with open_content(source, codec) as stream:
        yield from read_records(stream, limit, block_bytes)
