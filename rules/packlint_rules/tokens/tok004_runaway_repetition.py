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
    Runs of a repeated short cycle of ids, inside a segment and outside padding, that cover a large part of
    it. Where a loss is stored, runs without a target do not count (image placeholders).

    ## Why it matters
    Broken generations and filler look like this, and a model learns to loop from few of them.

    ## How to fix
    Drop or clean the samples before packing, for instance with datatrove's `GopherRepetitionFilter`.
    OLMo-core masks such packs as it reads them when `instance_filter_config` is set.

    ## Limits
    Tables and code repeat by right. One id repeated to the edge of a pack may be padding where none is known.

    ## Sources
    allenai/OLMo-core `InstanceFilterConfig` (32 repeats), allenai/dolma `python/dolma/taggers/repetitions/`.
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
        stretches = probe_runs(batch.tokens, *size)
        filler = _filler(batch, batch.segments.starts if stretches is None else stretches[0], size[0])
        segments = np.arange(batch.n_segments) if stretches is None else _suspects(batch, filler, *stretches)
        if segments.size == 0:
            return Hits.none()
        starts, stops = batch.segments.starts[segments], batch.segments.stops[segments]
        runs = periodic_runs(batch.tokens, Spans(starts, stops).minus(filler).split_at(starts), *size)
        if len(runs) and batch.is_target is not None:
            trained = batch.targets.count_within(runs.starts, runs.stops) > 0
            runs = Spans(runs.starts[trained], runs.stops[trained])
        owner = batch.segments_of(runs.starts)
        covered = np.bincount(np.repeat(owner, runs.lengths), minlength=batch.n_segments)
        large = covered >= self.options.min_segment_fraction * batch.segments.lengths
        return Hits.of_spans(batch, Spans(runs.starts[large[owner]], runs.stops[large[owner]]))

    def message(self, totals: Totals) -> str:
        """Count tokens and segments, and give the longest run."""
        options, longest = self.options, totals.worst.stop - totals.worst.start
        segments = "1 segment" if totals.n_segments == 1 else f"{totals.n_segments:,} segments"
        cycle = f"a cycle of up to {options.max_cycle_tokens} ids (longest run: {longest:,})"
        allowed = f"under {options.min_run_tokens} tokens or {options.min_segment_fraction:.0%} of a segment"
        return f"{totals.n_tokens:,} tokens in {segments} repeat {cycle}; allowed: {allowed}"


def _suspects(batch: PackBatch, filler: Spans, first: Int64Array, last: Int64Array) -> Int64Array:
    """Return the segments that hold one of the stretches outside padding."""
    segments = batch.segments_of(first)
    inside = (segments >= 0) & (segments == batch.segments_of(last))
    return np.unique(segments[inside & ~filler.contains(first) & ~filler.contains(last)])


def _filler(batch: PackBatch, places: Int64Array, min_run_tokens: int) -> Spans:
    """Return padding, and edges of the packs of these places that may be padding of which nothing tells."""
    if batch.padding_evidence is PaddingEvidence.STRUCTURE or places.size == 0:
        return batch.padding
    packs = np.unique(batch.packs_of(places))
    starts, stops = batch.pack_offsets[packs], batch.pack_offsets[packs + 1]
    pad = batch.spec.pad_id if batch.padding_evidence is PaddingEvidence.DECLARED_ID else None
    edges = constant_edges(batch.tokens, starts, stops, min_run_tokens, pad.value if pad else None)
    return batch.padding.union(edges)
