"""`packlint-manifest.json`: how shards were packed, declared beside them.

table.py           the file: its form v1, checked by schema.py
lookup.py          which manifests stand beside or above which shards
declarations.py    what they say of the shards of a run
measure.py         a complete manifest from measured data
"""

from __future__ import annotations

__all__: list[str] = []
