"""Counts of the whole data set → the measures of its report."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["measures_of"]

_OF_SAMPLES = ("samples_per_pack", "mean_context_tokens", "tokens_per_sample")


def measures_of(counts: Mapping[str, int]) -> dict[str, int | float]:
    """Return counts and the ratios that follow, without those that nobody can know.

    Args:
        counts: of all shards together, as `ShardResult.counts` has them.
    """
    measures: dict[str, int | float] = {
        name: counts[name] for name in ("n_packs", "n_segments", "n_tokens", "n_padding", "n_targets")
    }
    real = counts["n_tokens"] - counts["n_padding"]
    ratios = {
        "padding_fraction": (counts["n_padding"], counts["n_tokens"]),
        "samples_per_pack": (counts["n_segments"], counts["n_packs"]),
        "target_fraction": (counts["n_targets"], real),
        "mean_context_tokens": (counts["n_context_pairs"], counts["n_segment_tokens"]),
        "tokens_per_sample": (counts["n_segment_tokens"], counts["n_segments"]),
    }
    # Where nothing records where samples begin, nothing is known of them.
    unknown = _OF_SAMPLES if counts["n_unbounded"] else ()
    return measures | {name: a / b for name, (a, b) in ratios.items() if b and name not in unknown}
