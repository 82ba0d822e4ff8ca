"""One mapping of arrays, tensors or lists → rows.

    input_ids [T]                 one row
    input_ids [B, T]              B rows; labels [B, T]; attention_mask [B, T] or [B, 1, T, T]; length [B]
    input_ids [1, T]              one row; cu_seq_lens_q [n + 1] are its offsets
    input_ids [[..], [..]]        ragged rows

The axes of the token ids decide; every other column must go with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray
from packlint.readers.layouts import ColumnKind, Element
from packlint.readers.layouts.preference import ID_NAMES
from packlint.readers.layouts.synonyms import SYNONYMS
from packlint.readers.shard import Role
from packlint.readers.values import BadRowError, kind_of, row_values

__all__ = ["Batch", "dense_row", "find_ids", "plain"]

Rows: TypeAlias = Sequence[Any] | NDArray[Any]
"""One value per row: a list, or an array whose first axis is the rows."""
_PLAIN_TYPES = frozenset({int, float, bool, str, type(None)})


def plain(value: Any) -> Any:
    """Return a value as array or list; tensors are known by what they can do, the rest stays as it is."""
    if isinstance(value, np.ndarray):
        return list(value) if value.ndim and value.dtype == object else value
    if isinstance(value, np.generic):
        return value
    if isinstance(value, (list, tuple)):
        return list(value) if set(map(type, value)) <= _PLAIN_TYPES else [plain(v) for v in value]
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        tensor = value.detach().cpu()
        try:
            return np.asarray(tensor.numpy())
        except TypeError:
            # numpy has no bfloat16.
            return np.asarray(tensor.float().numpy())
    if hasattr(value, "__array__"):
        return np.asarray(value)
    return value


def find_ids(columns: Mapping[str, object], renamed: str | None) -> str | None:
    """Return the column whose axes tell rows from batches: the token ids, else the first list of integers."""
    known = [renamed] if renamed else [*SYNONYMS[Role.INPUT_IDS], *ID_NAMES]
    for name in (*known, *columns):
        if name in columns:
            kind = kind_of(plain(columns[name]))
            if kind.element is Element.INT and kind.ndim in (1, 2):
                return name
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Hold the columns of one mapping.

    Args:
        columns: as given.
        n_rows: rows in it.
        is_single: the token ids have one axis, so that the mapping is one row.
    """

    columns: Mapping[str, object]
    n_rows: int
    is_single: bool

    @staticmethod
    def of(columns: Mapping[str, object], ids: str) -> Batch:
        """Tell rows from batches by the axes of the column `ids`.

        Raises:
            BadRowError: the column is missing, or has neither one axis nor two.
        """
        if ids not in columns:
            raise BadRowError("SHD001", f"there is no {ids}")
        values = plain(columns[ids])
        if values is None:
            raise BadRowError("SHD005", f"{ids} is null")
        ndim = kind_of(values).ndim
        if ndim not in (1, 2):
            raise BadRowError("SHD001", f"{ids} has {ndim} axes, expected one (a row) or two (a batch)")
        return Batch(columns, 1 if ndim == 1 else len(values), ndim == 1)

    def kinds(self) -> dict[str, ColumnKind]:
        """Return what one row of each column holds."""
        return {name: self._kind(plain(value)) for name, value in self.columns.items()}

    def _kind(self, value: Any) -> ColumnKind:
        kind = kind_of(value)
        if kind.ndim == 0:
            return kind
        is_batch = kind.ndim > 1 and (not self.is_single or len(value) == 1)
        if is_batch or (kind.ndim == 1 and self._is_one_per_row(value)):
            return ColumnKind(kind.element, kind.ndim - 1)
        return kind

    def _is_one_per_row(self, value: Sequence[Any]) -> bool:
        return not self.is_single and self.n_rows > 1 and len(value) == self.n_rows

    def rows(self, role: Role, name: str) -> Rows:
        """Return the column's rows, one value each.

        Raises:
            BadRowError: the column is missing, or has not one entry per row.
        """
        if name not in self.columns:
            raise BadRowError("SHD001", f"there is no {name}")
        value = plain(self.columns[name])
        kind = kind_of(value)
        if value is None or kind.ndim == 0:
            return [value] * self.n_rows
        if role is Role.DENSE_MASK:
            return self._dense_rows(name, value)
        if kind.ndim == 1:
            if self.n_rows == 1:
                return [value]
            # One value per row; of a token-parallel column that would be one value for all its tokens.
            return self._counted(name, [None] * len(value) if role.is_token_parallel else value)
        if role is Role.POSITION_IDS and len(value) == 1:
            return [value[0]] * self.n_rows
        return self._counted(name, value)

    def _counted(self, name: str, rows: Rows) -> Rows:
        if len(rows) != self.n_rows:
            raise BadRowError("SHD002", f"{name} has {len(rows)} rows for {self.n_rows} rows of token ids")
        return rows

    def _dense_rows(self, name: str, value: Any) -> Rows:
        mask = np.asarray(value)
        if mask.ndim == 2:
            mask = mask[np.newaxis]
        if mask.ndim and len(mask) == 1:
            mask = np.broadcast_to(mask, (self.n_rows, *mask.shape[1:]))
        return self._counted(name, mask)


def dense_row(name: str, value: NDArray[Any], n_tokens: int) -> BoolArray:
    """Return one row of a query-by-key mask as `bool[query, key]`.

    Raises:
        BadRowError: it is not boolean, differs between heads, or is not as long and wide as the row.
    """
    mask = np.asarray(value)
    if mask.ndim == 3 and mask.shape[0] == 1:
        mask = mask[0]
    if mask.ndim != 2:
        raise BadRowError("SHD001", f"{name} has the shape {mask.shape} in a row, expected (tokens, tokens)")
    if mask.shape != (n_tokens, n_tokens):
        raise BadRowError("SHD002", f"{name} is {mask.shape[0]} by {mask.shape[1]} for {n_tokens} token ids")
    flat = row_values(Role.DENSE_MASK, name, mask.reshape(-1))
    if flat.dtype != np.bool_ and not np.isin(flat, (0, 1)).all():
        raise BadRowError("SHD001", f"{name} holds other numbers than 0 and 1")
    return np.asarray(flat, np.bool_).reshape(mask.shape)
