"""Packs against the samples that they were made from: a million samples, 530 M tokens on each side."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from packlint.config import RunConfig, parse_config
from packlint.conventions import reader_settings
from packlint.engine.plan import plan_shards
from packlint.engine.scan import Observer, ShardPlan, Survey, scan_part
from packlint.executors import local
from packlint.matching import Comparison, compare, plan_reference
from packlint.matching.reference import SamplesObserver
from packlint.model.arrays import Int64Array, IntArray
from packlint.readers import open_shards
from packlint.readers.shard import Part
from packlint.summaries.composition_observer import CompositionObserver
from tests.benchmarks.timing import cpu_seconds, drain, quartiles

__all__ = ["matching"]

_N_SAMPLES, _CHUNK = 1_000_000, 20_000
_PACK = 4096
_VOCABULARY = 50_257
_MEDIAN, _SPREAD = 403, 0.75
_TIMED_PARTS = 12


def matching(folder: Path, rounds: int) -> None:
    """Time matching beside a bare decode of both sides, part by part; then run it as a whole."""
    paths = _data(folder)
    config = parse_config(
        {
            "profile": "pretrain",
            "spec": {"eos_ids": [2], "bos_id": 1, "vocab_size": _VOCABULARY, "max_seq_len": _PACK},
        }
    )
    reference = _reference(paths["reference"], config)
    packed = _packed(paths["packed"], config)
    comparison = _whole_run("whole samples", reference, packed)
    _print_ratios(comparison, reference, packed, rounds)
    del comparison
    _whole_run("cut at 4096, ids known that end samples", reference, _packed(paths["wrapped"], config))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _reference(path: Path, config: RunConfig) -> tuple[ShardPlan, ...]:
    return plan_reference((str(path),), reader_settings(config), None, config.spec)


def _packed(path: Path, config: RunConfig) -> tuple[ShardPlan, ...]:
    shards, broken = open_shards([str(path)], reader_settings(config))
    assert not broken
    return plan_shards(shards, config, config.spec).shards


def _whole_run(title: str, reference: tuple[ShardPlan, ...], packed: tuple[ShardPlan, ...]) -> Comparison:
    """Match all packs, and print what it takes beside decoding both sides."""
    decode = cpu_seconds(partial(_drain_all, reference)) + cpu_seconds(partial(_drain_all, packed))
    start, wall = time.process_time(), time.perf_counter()
    comparison = compare(reference, packed)
    results = local.run(packed, (), survey=comparison.survey())
    scanned = time.process_time() - start
    found, _ = comparison.settle(packed, results)
    total, wall = time.process_time() - start, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    books = found.balance
    assert (books.lost, books.gap, books.unknown, books.repeated) == (0, 0, 0, 0)
    print(
        f"{title}: {books.packed / 1e6:.0f} M tokens, {int(found.copies.sum()):,} whole copies,"
        f" {int(found.is_split.sum()):,} split: {total:.1f} CPU s ({wall:.1f} s), {total - scanned:.1f}"
        f" of them after the scan; {total / decode:.2f} x decode of both sides ({decode:.1f} s);"
        f" peak {peak:.0f} MB"
    )
    return comparison


def _print_ratios(
    comparison: Comparison, reference: tuple[ShardPlan, ...], packed: tuple[ShardPlan, ...], rounds: int
) -> None:
    """Print pairs of CPU times of parts: matching alone, and with the composition that drift needs."""
    composition = CompositionObserver(comparison.samples.specials)
    samples = SamplesObserver(comparison.samples.specials)
    matcher = comparison.matcher
    pairs = list(zip(_parts(reference), _parts(packed), strict=False))[:_TIMED_PARTS]
    for title, extra in (("matching", ()), ("matching and composition", (composition,))):
        ratios = []
        for (ref_plan, ref_part), (plan, part) in pairs * rounds:
            decode = cpu_seconds(partial(drain, ref_plan, ref_part)) + cpu_seconds(partial(drain, plan, part))
            observers: tuple[Observer, ...] = (samples, *extra)
            spent = cpu_seconds(
                partial(scan_part, ref_plan, ref_part, (), survey=Survey(observers=observers))
            )
            survey = Survey(prepare=matcher.prepare, observers=(matcher, *extra))
            spent += cpu_seconds(partial(scan_part, plan, part, (), survey=survey))
            ratios.append(spent / decode)
        print(f"{title} / decode, {len(ratios)} pairs: {quartiles(ratios)}, least {min(ratios):.2f}")


def _parts(plans: tuple[ShardPlan, ...]) -> Iterator[tuple[ShardPlan, Part]]:
    for plan in plans:
        for part in plan.shard.parts():
            yield plan, part


def _drain_all(plans: tuple[ShardPlan, ...]) -> None:
    for plan, part in _parts(plans):
        drain(plan, part)


def _data(folder: Path) -> dict[str, Path]:
    """Return samples, packs of whole samples with their lengths, and the stream cut every 4096 tokens."""
    folder = folder / "matching"
    folder.mkdir(exist_ok=True)
    paths = {name: folder / f"{name}.parquet" for name in ("reference", "packed", "wrapped")}
    if all(path.exists() for path in paths.values()):
        return paths
    writers: dict[str, pq.ParquetWriter] = {}

    def write(name: str, **columns: Any) -> None:
        table = pa.table(columns)
        if name not in writers:
            writers[name] = pq.ParquetWriter(paths[name], table.schema, compression="zstd")
        writers[name].write_table(table)

    rng = np.random.default_rng(7)
    carried = np.zeros(0, np.int32)
    for _ in range(_N_SAMPLES // _CHUNK):
        lengths = np.clip(rng.lognormal(np.log(_MEDIAN), _SPREAD, _CHUNK), 16, 4000).astype(np.int64)
        ids = (np.minimum(rng.zipf(1.2, int(lengths.sum())), _VOCABULARY - 11) + 9).astype(np.int32)
        stops = np.cumsum(lengths)
        ids[stops - 1], ids[stops - lengths] = 2, 1
        write("reference", input_ids=_lists(ids, lengths))
        tokens, n_tokens, seq_lens, n_segments = _next_fit(rng, ids, lengths)
        write("packed", input_ids=_lists(tokens, n_tokens), seq_lens=_lists(seq_lens, n_segments))
        stream = np.concatenate([carried, ids])
        n_packs = stream.size // _PACK
        carried = stream[n_packs * _PACK :]
        write("wrapped", input_ids=_lists(stream[: n_packs * _PACK], np.full(n_packs, _PACK)))
    write("wrapped", input_ids=_lists(carried, np.array([carried.size])))
    for writer in writers.values():
        writer.close()
    return paths


def _lists(values: IntArray, lengths: Int64Array) -> Any:
    offsets: Any = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pa.array(values))


def _next_fit(
    rng: np.random.Generator, ids: IntArray, lengths: Int64Array
) -> tuple[IntArray, Int64Array, IntArray, Int64Array]:
    """Return the tokens of packs, how many each has, the lengths of segments, and how many each pack has."""
    order = rng.permutation(lengths.size)
    sizes = lengths[order]
    first, room = [], 0
    for i, size in enumerate(sizes.tolist()):
        if size > room:
            first.append(i)
            room = _PACK
        room -= size
    starts = (np.cumsum(lengths) - lengths)[order]
    places = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
    n_segments = np.diff([*first, sizes.size])
    return ids[places], np.add.reduceat(sizes, first), sizes.astype(np.int32), n_segments
