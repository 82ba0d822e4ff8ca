"""TOK004 runaway-repetition: one id or a short cycle fills a large part of a segment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals
from packlint.summaries.repetition import constant_edges, periodic_runs, probe_runs


class RunawayRepetition(PackRule):
    """A cycle of a few ids repeats over much of a sample.

    ## What it checks
    Runs in which a short cycle of ids repeats, inside one segment and outside padding. A segment is reported
    when runs cover a large part of it. Where a loss is stored, runs without a target do not count (images).

    ## Why it matters
    Broken generations and crawled filler look like this, and a model learns to loop from few of them.

    ## How to fix
    Drop or clean the samples before packing, for instance with datatrove's `GopherRepetitionFilter`.
    OLMo-core masks such packs as it reads them when `instance_filter_config` is set.

    ## Limits
    Tables, code and logs repeat by right, hence a warning. One id repeated to the edge of a pack may be
    padding and is left out unless padding is known by structure.

    ## Sources
    allenai/OLMo-core `InstanceFilterConfig` (periods of 1 to 13 tokens, 32 repeats); allenai/dolma
    `python/dolma/taggers/repetitions/`.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """What counts as repetition.

        Args:
            min_run_tokens: length of a run.
            min_segment_fraction: part of the segment that its runs cover.
            max_cycle_tokens: length of the cycle.
        """

        min_run_tokens: int = 64
        min_segment_fraction: float = 0.5
        max_cycle_tokens: int = 4

    meta = RuleMeta(code="TOK004", name="runaway-repetition", severity=Severity.WARNING, since="0.1.0")
    why = "Broken generations and filler look like this, and a model learns to loop from few of them."
    fix = "Drop or clean these samples before packing, e.g. with datatrove's repetition filter."
    good = ({"input_ids": [[1, *range(10, 90), 2]], "seq_lens": [[82]]},)
    bad = ({"input_ids": [[1, *[10, 11] * 40, 2]], "seq_lens": [[82]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return the runs of the segments that are mostly repetition."""
        size = self.options.min_run_tokens, self.options.max_cycle_tokens
        segments = _suspects(batch, *size)
        if segments.size == 0:
            return Hits.none()
        starts, stops = batch.segments.starts[segments], batch.segments.stops[segments]
        clear = Spans(starts, stops).minus(batch.padding).minus(_possible_padding(batch, size[0]))
        runs = periodic_runs(batch.tokens, clear.split_at(starts), *size)
        if batch.is_target is not None:
            trained = batch.targets.count_within(runs.starts, runs.stops) > 0
            runs = Spans(runs.starts[trained], runs.stops[trained])
        owner = batch.segments_of(runs.starts)
        covered = np.zeros(batch.n_segments, np.int64)
        np.add.at(covered, owner, runs.lengths)
        large = covered >= self.options.min_segment_fraction * batch.segments.lengths
        return Hits.of_spans(batch, Spans(runs.starts[large[owner]], runs.stops[large[owner]]))

    def message(self, totals: Totals) -> str:
        """Count tokens and segments, and give the longest run."""
        options = self.options
        segments = "1 segment" if totals.n_segments == 1 else f"{totals.n_segments:,} segments"
        return (
            f"{totals.n_tokens:,} tokens in {segments} repeat a cycle of at most {options.max_cycle_tokens} ids"
            f" (longest run: {totals.worst.stop - totals.worst.start:,}); allowed: runs under"
            f" {options.min_run_tokens} tokens, or under {options.min_segment_fraction:.0%} of the segment"
        )


def _suspects(batch: PackBatch, min_run_tokens: int, max_cycle_tokens: int) -> Int64Array:
    """Return, cheaply, the segments that may hold a run."""
    stretches = probe_runs(batch.tokens, min_run_tokens, max_cycle_tokens)
    if stretches is None:
        return np.flatnonzero(batch.segments.lengths >= min_run_tokens)
    first, last = (batch.segments_of(places) for places in stretches)
    return np.unique(first[(first == last) & (first >= 0)])


def _possible_padding(batch: PackBatch, min_run_tokens: int) -> Spans:
    """Return runs of one id that may be padding of which nothing tells."""
    if batch.padding_evidence is PaddingEvidence.STRUCTURE:
        return Spans.empty()
    edges = constant_edges(batch.tokens, batch.pack_offsets, min_run_tokens)
    if batch.padding_evidence is PaddingEvidence.UNKNOWN or batch.spec.pad_id is None:
        return edges
    is_pad = batch.tokens[edges.starts] == batch.spec.pad_id.value
    return Spans(edges.starts[is_pad], edges.stops[is_pad])
