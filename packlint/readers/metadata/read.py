"""A part of a shard → its metadata, by column; and the ids of its samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from packlint.errors import UnreadableError, UsageError
from packlint.model.metadata import Categories
from packlint.readers.layouts.synonyms import SYNONYMS
from packlint.readers.metadata.coding import Coder, Hashed, Vocabulary
from packlint.readers.metadata.values import HasColumns, RowValues, SampleIds
from packlint.readers.shard import Part, Role, Shard

__all__ = ["read_metadata", "read_sample_ids", "why_not"]


def why_not(shard: Shard, name: str) -> str | None:
    """Say why a shard has no such column, in words that follow its name; none when it has it.

    Raises:
        UsageError: it is there and cannot be a category: floats, objects, lists of lists, bytes.
    """
    if not isinstance(shard, HasColumns):
        return f"the format {shard.format} has no such column"
    return shard.lacks(name)


def read_metadata(shard: Shard, part: Part, names: Sequence[str]) -> Mapping[str, RowValues]:
    """Return the named columns of a part; those that the shard lacks are left out.

    Reads the part once more, and of it only these columns where the format allows it. Memory: four bytes per
    value and the distinct values. Damage ends a column early and is said in `RowValues.damage`.

    Args:
        shard: where the columns stand.
        part: which rows.
        names: stored names; `meta.domain` is the field `domain` of the column `meta`.

    Raises:
        UsageError: a column cannot be a category, or holds more than 65,536 distinct values in the part.
    """
    found = [name for name in dict.fromkeys(names) if why_not(shard, name) is None]
    vocabularies = {name: Vocabulary(name) for name in found}
    coders = {name: Coder(name, vocabulary) for name, vocabulary in vocabularies.items()}
    damage = _fill(shard, part, coders)
    columns = {}
    for name, coder in coders.items():
        codes, offsets = coder.result()
        categories = Categories(vocabularies[name].names, codes.astype(np.int32))
        columns[name] = RowValues(categories=categories, offsets=offsets, damage=damage)
    return columns


def read_sample_ids(shard: Shard, part: Part) -> SampleIds | None:
    """Return the sample ids of a part, none when the shard holds none.

    The column is the one with that role, or one of its known names with ids as text.
    """
    stored = shard.layout.columns.get(Role.SAMPLE_IDS)
    for name in SYNONYMS[Role.SAMPLE_IDS] if stored is None else (stored,):
        try:
            if why_not(shard, name) is not None:
                continue
        except UsageError:  # a column of such a name that holds something else
            continue
        coder = Coder(name, Hashed())
        _fill(shard, part, {name: coder})
        values, offsets = coder.result()
        return SampleIds(values=values, offsets=offsets, column=name)
    return None


def _fill(shard: Shard, part: Part, coders: Mapping[str, Coder]) -> str:
    """Read the columns of a part into their coders; return what kept it from being read to its end."""
    if not coders or not isinstance(shard, HasColumns):
        return ""
    try:
        for block in shard.read_columns(part, list(coders)):
            for name, column in block.items():
                coders[name].add(column)
    except UnreadableError as error:
        return str(error)
    return ""
