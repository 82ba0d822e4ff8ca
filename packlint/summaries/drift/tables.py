"""What moved, as the plain data of a report: bounded in size, the same bytes for the same counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from packlint.model.arrays import FloatArray, Int64Array
from packlint.summaries.composition import Composition
from packlint.summaries.drift import WEIGHTINGS, lengths, positions, tokens, weights
from packlint.summaries.drift.categories import CategoryDrift, columns_between
from packlint.summaries.drift.lengths import LengthDrift

__all__ = ["MAX_CATEGORIES", "MAX_COLUMNS", "MAX_MOVERS", "OTHER", "drift_table", "with_texts"]

MAX_COLUMNS, MAX_CATEGORIES, MAX_LENGTH_BINS, MAX_MOVERS, MAX_SPECIALS = 16, 50, 40, 20, 40
OTHER = "other"
"""Name of what is left where a column has more than `MAX_CATEGORIES` values."""

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_CONTEXTS: Int64Array = 1 << np.arange(6, 31)


def drift_table(
    reference: Composition, packed: Composition, *, reference_name: str, packed_name: str
) -> dict[str, Any]:
    """Return the key `drift` of a report; a part that cannot be compared is none.

    `conservation`, `lost_samples` and `order` are for the caller, who has matched samples.

    Args:
        reference: what the packs were made from, or an earlier build.
        packed: the packs.
        reference_name: what to call the reference.
        packed_name: what to call the packs.
    """
    columns = columns_between(reference, packed)
    by_length = lengths.between(reference, packed)
    return {
        "reference": _side(reference, reference_name),
        "packed": _side(packed, packed_name),
        "conservation": None,
        "lost_samples": [],
        "columns": {drift.column: _column(drift) for drift in columns[:MAX_COLUMNS]},
        "lengths": by_length and _lengths(by_length),
        "tokens": _tokens(reference, packed),
        "positions": _positions(reference, packed),
        "context": by_length and _context(by_length),
        "weights": _weights(reference, packed, columns),
        "order": None,
    }


def with_texts(drift: Mapping[str, Any], decode: Callable[[tuple[int, ...]], str]) -> dict[str, Any]:
    """Return the table with the text of every id that it names."""
    shown = dict(drift)
    if part := drift.get("tokens"):
        lists = {
            name: [{**entry, "text": decode((entry["id"],))} for entry in part[name]]
            for name in ("movers", "specials")
        }
        shown["tokens"] = {**part, **lists}
    return shown


def _side(side: Composition, name: str) -> dict[str, Any]:
    counts = {"n_samples": side.n_samples, "n_tokens": side.n_tokens, "n_targets": side.n_targets}
    return {"name": name, "n_segments": None, **counts}


def _column(drift: CategoryDrift) -> dict[str, Any]:
    names = list(drift.names[:MAX_CATEGORIES])
    has_rest = len(drift.names) > MAX_CATEGORIES
    sides: list[dict[str, Any]] = [dict.fromkeys(WEIGHTINGS), dict.fromkeys(WEIGHTINGS)]
    for weighting in drift.weightings:
        for side, values in zip(sides, drift.shares(weighting), strict=True):
            rest = [float(values[MAX_CATEGORIES:].sum())] if has_rest else []
            side[weighting] = _plain([*values[:MAX_CATEGORIES].tolist(), *rest])
    return {
        "categories": names + [OTHER] * has_rest,
        "n_categories": len(drift.names),
        "reference": sides[0] | {"known_fraction": _rounded(drift.known_fractions[0])},
        "packed": sides[1] | {"known_fraction": _rounded(drift.known_fractions[1])},
        "distances": _flat({w: drift.distances(w) for w in drift.weightings}),
    }


def _lengths(drift: LengthDrift) -> dict[str, Any]:
    edges = _length_edges(int(drift.lengths[-1]))
    first = np.searchsorted(drift.lengths, edges)
    shares = {w: [_binned(side, first) for side in drift.shares(w)] for w in drift.weightings}
    quantiles = drift.quantiles("samples", _QUANTILES)
    means = drift.means("samples")
    return {
        "edges": edges.tolist(),
        "reference": shares["samples"][0],
        "packed": shares["samples"][1],
        "tokens": _pair(shares.get("tokens")),
        "targets": _pair(shares.get("targets")),
        "quantiles": [
            {"fraction": fraction, "reference": pair[0], "packed": pair[1]}
            for fraction, pair in zip(_QUANTILES, quantiles, strict=True)
        ],
        "means": {"reference": _rounded(means[0]), "packed": _rounded(means[1])},
        "distances": _flat({w: drift.distances(w) for w in drift.weightings}),
    }


def _length_edges(longest: int) -> Int64Array:
    """Return `int64[edge]`: bins that grow by half an octave, or by one where these would be too many."""
    n_steps = 2 * longest.bit_length()
    halves = np.unique(np.rint(2 ** (np.arange(n_steps + 1) / 2)).astype(np.int64))
    edges = halves if halves.size <= MAX_LENGTH_BINS else 1 << np.arange(longest.bit_length() + 1)
    edges = edges[: int(np.searchsorted(edges, longest, side="right")) + 1]
    return np.append(0, edges).astype(np.int64)


def _binned(values: FloatArray, first: Int64Array) -> list[float]:
    """Return sums of bins given by the place of their first value; the last edge ends the last bin."""
    reached = np.append(0.0, np.cumsum(values))
    return _plain(np.diff(reached[first]).tolist())


def _context(drift: LengthDrift) -> dict[str, Any]:
    """Return what share of tokens sees at least so many tokens of its own sample, itself counted."""
    asked = _CONTEXTS[: int(np.searchsorted(_CONTEXTS, drift.lengths[-1])) + 1]
    counts = [side["samples"].amounts for side in (drift.reference, drift.packed)]
    seen = np.maximum(drift.lengths[np.newaxis, :] - asked[:, np.newaxis] + 1, 0)
    n_tokens = [float(n @ drift.lengths) for n in counts]
    pairs = drift.lengths * (drift.lengths + 1.0) / 2
    sides = [_plain((seen @ n / total).tolist()) for n, total in zip(counts, n_tokens, strict=True)]
    means = [_rounded(float(n @ pairs) / total) for n, total in zip(counts, n_tokens, strict=True)]
    return {
        "lengths": asked.tolist(),
        "reference": sides[0],
        "packed": sides[1],
        "means": {"reference": means[0], "packed": means[1]},
    }


def _tokens(reference: Composition, packed: Composition) -> dict[str, Any] | None:
    drift = tokens.between(reference, packed)
    if drift is None:
        return None
    return {
        "movers": [
            {
                "id": mover.id,
                "reference": _rounded(mover.reference),
                "packed": _rounded(mover.packed),
                "contribution": _rounded(mover.contribution),
                "text": "",
            }
            for mover in drift.movers(MAX_MOVERS)
        ],
        "specials": [
            {
                "id": special.id,
                "purposes": list(special.purposes),
                "reference": _rounded(special.reference),
                "packed": _rounded(special.packed),
                "text": "",
            }
            for special in drift.specials[:MAX_SPECIALS]
        ],
        "distances": _plain_table(drift.distances()),
    }


def _positions(reference: Composition, packed: Composition) -> dict[str, Any] | None:
    drift = positions.between(reference, packed)
    if drift is None:
        return None
    shares = {what: [_plain(side.tolist()) for side in drift.shares(what)] for what in drift.reference}
    return {
        "edges": drift.edges.tolist(),
        "reference": shares["tokens"][0],
        "packed": shares["tokens"][1],
        "targets": _pair(shares.get("targets")),
        "distances": _flat({what: drift.distances(what) for what in drift.reference}),
    }


def _weights(
    reference: Composition, packed: Composition, columns: Sequence[CategoryDrift]
) -> dict[str, Any] | None:
    drift = weights.between(reference, packed)
    if drift is None:
        return None
    by_column = {}
    for column in columns[:MAX_COLUMNS]:
        found = weights.pack_shares(column, packed)
        if found is not None:
            names = list(column.names[:MAX_CATEGORIES])
            by_column[column.column] = {
                "categories": names,
                "pack_mean": _plain(found[:MAX_CATEGORIES].tolist()),
            }
    packs = drift.packs
    return {
        "reference": _sample_weights(drift.reference),
        "packed": _sample_weights(drift.packed),
        "packs": {
            "n_packs": packs.n_packs,
            "n_without_targets": packs.n_without,
            **_plain_table(
                {
                    "cv": packs.cv,
                    "effective_fraction": packs.effective_fraction,
                    "least": packs.least,
                    "most": packs.most,
                    "moved_fraction": packs.moved_fraction,
                }
            ),
        },
        "columns": by_column,
    }


def _pair(sides: Sequence[Any] | None) -> dict[str, Any] | None:
    return {"reference": sides[0], "packed": sides[1]} if sides else None


def _sample_weights(side: weights.SampleWeights) -> dict[str, Any]:
    return {
        "n_samples": side.n_samples,
        "cv": _rounded(side.cv),
        "effective_fraction": _rounded(side.effective_fraction),
    }


def _flat(by_kind: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return distances by name and weighting in one table, `js_by_tokens` and so on."""
    return {f"{name}_by_{kind}": _rounded(v) for kind, table in by_kind.items() for name, v in table.items()}


def _plain_table(values: Mapping[str, float]) -> dict[str, float]:
    return {name: _rounded(value) for name, value in values.items()}


def _plain(values: Sequence[float]) -> list[float]:
    return [_rounded(value) for value in values]


def _rounded(value: float) -> float:
    """Return six digits: more say nothing, and what is smaller than 1e-12 is left over from arithmetic."""
    return float(f"{value:.6g}") if math.isfinite(value) and abs(value) >= 1e-12 else 0.0
