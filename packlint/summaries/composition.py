"""What a set of samples is made of: lengths, ids, categories and targets, exactly."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Composition"]


@dataclass(slots=True)
class Composition:
    """Count the samples of one side of a comparison."""
