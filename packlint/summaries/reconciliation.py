"""What became of every sample of the reference, and where every packed token came from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Reconciliation"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reconciliation:
    """Hold the result of matching."""
