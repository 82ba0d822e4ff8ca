"""Wrong tokens by place in the pack: masks that go wrong only from the second sample on are a known fault.

pack       first sample | second | third
place      first        | later  | later
"""

from __future__ import annotations

from collections.abc import Mapping

from packlint.finding import Confidence, Hits
from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch
from packlint.model.edges import is_recorded
from packlint.model.spans import Spans
from packlint.model.spec import TargetPolicy

__all__ = ["places_line", "role_hits", "share_line"]


def role_hits(
    batch: PackBatch,
    wrong: Spans,
    judged: Int64Array,
    *,
    n_wrong: Int64Array | None = None,
    more: Mapping[str, int] | None = None,
) -> Hits:
    """Return one hit per run of wrong tokens, with how much is wrong by place in the pack.

    Args:
        batch: the packs.
        wrong: the faults.
        judged: `int64[segment]`, how many of the kind that can be wrong.
        n_wrong: `int64[segment]`, how many of them are; the wrong tokens if not given.
        more: further numbers.
    """
    if n_wrong is None:
        n_wrong = wrong.count_within(batch.segments.starts, batch.segments.stops)
    wrong_first, wrong_later = _by_place(batch, n_wrong) if n_wrong.any() else (0, 0)
    judged_first, judged_later = _by_place(batch, judged)
    return Hits.of_spans(
        batch,
        wrong,
        confidence=_confidence(batch),
        wrong_first=wrong_first,
        wrong_later=wrong_later,
        judged_first=judged_first,
        judged_later=judged_later,
        **(more or {}),
    )


def _by_place(batch: PackBatch, amounts: Int64Array) -> tuple[int, int]:
    """Sum `int64[segment]` over the first samples of packs, and over all later ones."""
    first = int(amounts[batch.first_segments].sum())
    return first, int(amounts.sum()) - first


def _confidence(batch: PackBatch) -> Confidence:
    by_sample = batch.policy.targets in (TargetPolicy.COMPLETION, TargetPolicy.LAST_ASSISTANT)
    return Confidence.LIKELY if by_sample and not is_recorded(batch) else Confidence.CERTAIN


def share_line(measured: Mapping[str, int], kind: str) -> str:
    """Say which share of the tokens of a kind is wrong, and how many by place in the pack."""
    n_wrong = measured["wrong_first"] + measured["wrong_later"]
    n_judged = measured["judged_first"] + measured["judged_later"]
    return f"{100 * n_wrong / max(n_judged, 1):.3g} % of {n_judged:,} {kind}; {places_line(measured)}"


def places_line(measured: Mapping[str, int]) -> str:
    """Say how much is wrong in the first samples of packs and in later ones."""
    first = f"{measured['wrong_first']:,} of {measured['judged_first']:,}"
    return (
        f"in first samples {first}, in later ones {measured['wrong_later']:,} of {measured['judged_later']:,}"
    )
