"""Who wrote this shard, and which column is what: the only place that knows foreign column names.

kinds.py        what a column holds, as far as detection asks
synonyms.py     known names of each role, for shards of no known producer
signature.py    what gives a producer away: the type of one row of the table
producers.py    the table, most specific first
preference.py   the same for preference pairs, each side in columns of its own
detect.py       columns ──▶ `Layout`
"""

from __future__ import annotations

from packlint.readers.layouts.detect import ChoosesLayout, detect_layout, factors, layout_by_names
from packlint.readers.layouts.kinds import ColumnKind, Element

__all__ = ["ChoosesLayout", "ColumnKind", "Element", "detect_layout", "factors", "layout_by_names"]
