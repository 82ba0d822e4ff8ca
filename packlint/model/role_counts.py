"""Tokens of each role in each segment, counted once for all rules that ask."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch
from packlint.model.roles import Role, Roles

__all__ = ["role_tokens"]


def role_tokens(batch: PackBatch) -> Int64Array:
    """Return `int64[role, segment]`, tokens of each `Role`, kept with the batch; zeros without a chat format.

    The row of `UNKNOWN` counts what lies between a segment and the next one with it.
    """
    if "role_tokens" not in batch._cache:
        roles = batch.roles
        batch._cache["role_tokens"] = (
            np.zeros((len(Role), batch.n_segments), np.int64) if roles is None else _count(batch, roles)
        )
    found: Int64Array = batch._cache["role_tokens"]
    return found


def _count(batch: PackBatch, roles: Roles) -> Int64Array:
    """Add up runs: none reaches over the edge of a segment, and all known roles lie in segments."""
    n = batch.n_segments
    firsts = np.searchsorted(roles.starts, batch.segments.starts)
    owners = np.repeat(np.arange(n), np.diff(firsts, append=roles.starts.size))
    runs = slice(int(firsts[0]) if n else roles.starts.size, None)
    keys = roles.codes[runs] * np.int64(n) + owners
    tokens = np.bincount(keys, (roles.stops - roles.starts)[runs], minlength=len(Role) * n)
    return tokens.astype(np.int64).reshape(len(Role), n)
