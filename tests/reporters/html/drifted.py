"""A drift report made by hand, with everything in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from packlint.report import Report
from tests.reporters.reports import mixed_report

__all__ = ["DRIFT", "drifted_report"]

_LANGUAGES = [
    "English prose",
    "Python",
    "Deutsch",
    "français",
    "日本語",
    "עברית",
    "C",
    "TeX",
    "logs & traces",
    "?",
]
_REFERENCE = [0.41, 0.22, 0.11, 0.08, 0.05, 0.04, 0.04, 0.03, 0.015, 0.005]
_PACKED = [0.35, 0.31, 0.10, 0.08, 0.05, 0.02, 0.04, 0.03, 0.015, 0.005]
_EDGES = [2**i for i in range(4, 17)]


def _bell(middle: float, width: float) -> list[float]:
    heights = [math.exp(-(((i - middle) / width) ** 2)) for i in range(len(_EDGES) - 1)]
    return [height / sum(heights) for height in heights]


def _rising(middle: float) -> list[float]:
    return [1 / (1 + math.exp(middle - i)) for i in range(len(_EDGES))]


def _weighted(shares: list[float]) -> dict[str, Any]:
    by = {"samples": shares, "tokens": shares[::-1], "targets": [0.1] * len(shares)}
    return {**by, "known_fraction": 1.0}


def _apart(**measures: float) -> dict[str, float]:
    """Return distances by each weighting, and what chance alone gives of the first."""
    by = {
        f"{name}_by_{w}": value for w in ("samples", "tokens", "targets") for name, value in measures.items()
    }
    return {f"{next(iter(measures))}_null_by_samples": 0.0011, **by}


DRIFT: dict[str, Any] = {
    "reference": {
        "name": "unpacked/*.parquet",
        "n_samples": 120_000,
        "n_segments": None,
        "n_tokens": 41_000_000,
        "n_targets": 9_000_000,
    },
    "packed": {
        "name": "packed/*.parquet",
        "n_samples": 119_400,
        "n_segments": 131_000,
        "n_tokens": 40_771_204,
        "n_targets": None,
    },
    "conservation": {
        "reference_tokens": 41_000_000,
        "lost_tokens": 348_196,
        "repeated_tokens": 0,
        "special_tokens_added": 119_400,
        "packed_tokens": 40_771_204,
    },
    "lost_samples": [
        {"shard": f"unpacked/part-{i % 3}.parquet", "row": 11 * i, "n_tokens": 9_000 - i, "how": "lost"}
        for i in range(60)
    ],
    "columns": {
        "language": {
            "categories": _LANGUAGES,
            "n_categories": len(_LANGUAGES),
            "reference": _weighted(_REFERENCE),
            "packed": _weighted(_PACKED),
            "distances": _apart(js=0.0123, l_infinity=0.09, cramers_v=0.041),
        }
    },
    "lengths": {
        "edges": _EDGES,
        "reference": _bell(5, 2.4),
        "packed": _bell(4.2, 1.8),
        "tokens": {"reference": _bell(7, 2.4), "packed": _bell(6.2, 1.8)},
        "targets": None,
        "quantiles": [{"fraction": 0.5, "reference": 290, "packed": 271}],
        "means": {"reference": 341.7, "packed": 341.4},
        "distances": _apart(psi=0.041, wasserstein=212.4, wasserstein_relative=0.33, ks=0.128),
    },
    "tokens": {
        "movers": [
            {
                "id": 13 + i,
                "text": f"▁tok{i}",
                "reference": 0.01,
                "packed": 0.012 - 0.0005 * i,
                "contribution": 0.1,
            }
            for i in range(9)
        ],
        "specials": [{"id": 2, "purposes": ["eos"], "reference": 1.0, "packed": 0.5, "text": "</s>"}],
        "distances": {"js": 0.0004, "js_null": 0.0001, "js_within": 0.0002, "l_infinity": 0.002},
    },
    "positions": {
        "edges": _EDGES,
        "reference": _bell(6, 3),
        "packed": _bell(6, 3),
        "targets": None,
        "distances": _apart(js=0.0781),
    },
    "context": {
        "lengths": _EDGES,
        "reference": _rising(6)[::-1],
        "packed": _rising(4)[::-1],
        "means": {"reference": 900.0, "packed": 400.0},
    },
    "weights": {
        "reference": {"n_samples": 120_000, "cv": 0.76, "effective_fraction": 0.63},
        "packed": {"n_samples": 119_400, "cv": 0.49, "effective_fraction": 0.81},
        "packs": {
            "n_packs": 9_000,
            "n_without_targets": 3,
            "cv": 0.19,
            "effective_fraction": 0.96,
            "least": 0.73,
            "most": 1.44,
            "moved_fraction": 0.0837,
        },
        "columns": {"language": {"categories": _LANGUAGES, "pack_mean": _PACKED}},
    },
    "order": {
        "n_packs": 9_000,
        "mean_length": [100.0 + i for i in range(120)],
        "categories": ["language: Python", "language: English prose"],
        "shares": [[(i % 40) / 40 for i in range(200)], [1 - (i % 40) / 40 for i in range(200)]],
        "sample length alike in neighbours": 0.31,
    },
}
"""Every key that a drift report has."""


def drifted_report(drift: Mapping[str, Any]) -> Report:
    """Return the mixed report, with a comparison."""
    return replace(mixed_report(), drift=drift)
