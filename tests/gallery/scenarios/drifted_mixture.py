"""A mixture that packing changed: long samples fell out, and most of a domain; batches go by length."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from tests.gallery import texts
from tests.gallery.packing import Pack, filled_in_order, reference_rows, trl_rows, write_lines
from tests.gallery.samples import Sample, document
from tests.gallery.scenario import WHOLE, Scenario
from tests.gallery.tokenizer import END, write_tokenizer

_WIDTH, _N_SAMPLES, _N_SHARDS = 256, 700, 2
_MANIFEST = {
    "schema": "packlint/manifest/v1",
    "max_seq_len": _WIDTH,
    "boundary_tokens": [END],
    "packing_algorithm": "in order, by buckets of length",
    "cross_document_attention": False,
    "loss_mask_rule": "all",
    "samples_per_pack": 1.84,
    "distribution_change": "none",
    "measured": {"n_packs": 403, "n_segments": 740},
}
"""Written beside the build before this one."""
_CONFIG = f"""profile = "pretrain"
tokenizer = "tokenizer"

[spec]
max_seq_len = {_WIDTH}

[rules.ORD001]
judges_stored_order = true       # the trainer runs with shuffle_dataset = false

[rules.ORD002]
judges_stored_order = true
"""


def _write(folder: Path) -> None:
    rng = random.Random(55)
    samples = list(_samples(rng))
    reference = reference_rows(samples)
    for part in range(2):
        write_lines(folder / "tokenized" / f"part-{part}.jsonl", reference[part::2])
    # The faults: what does not fit a row is dropped, and rows are filled from buckets of like length.
    kept = sorted((s for s in samples if len(s) <= _WIDTH), key=lambda s: (len(s), s.number))
    packs = filled_in_order(kept, _WIDTH)
    size = -(-len(packs) // _N_SHARDS)
    for shard in range(_N_SHARDS):
        _write_shard(folder / "packed" / f"train-{shard:05d}.jsonl", packs[shard * size : (shard + 1) * size])
    manifest = json.dumps(_MANIFEST, indent=1)
    (folder / "packed" / "packlint-manifest.json").write_text(manifest, encoding="utf-8")
    write_tokenizer(folder / "tokenizer", is_chat=False)
    (folder / "packlint.toml").write_text(_CONFIG, encoding="utf-8")


def _write_shard(file: Path, packs: list[Pack]) -> None:
    rows = trl_rows(packs)
    for row, pack in zip(rows, packs, strict=True):
        row["domain"] = [sample.domain for sample in pack]
        row["language"] = [sample.language for sample in pack]
    write_lines(file, rows)


def _samples(rng: random.Random) -> Iterator[Sample]:
    """Yield web pages in three languages, code, books, of which most are too long, and laws: all are."""
    for number in range(_N_SAMPLES):
        kind = rng.random()
        if kind < 0.02:
            text, domain, language = texts.prose(rng, rng.randint(45, 60), "de"), "law", "de"
        elif kind < 0.15:
            text, domain, language = texts.prose(rng, rng.randint(12, 40)), "books", "en"
        elif kind < 0.4:
            text, domain, language = texts.code(rng, rng.randint(1, 5)), "code", "en"
        else:
            language = rng.choice(("en", "en", "en", "de", "fr"))
            text, domain = texts.prose(rng, rng.randint(2, 16), language), "web"
        yield document(number, text, domain=domain, language=language)


SCENARIO = Scenario(
    name="drifted-mixture",
    title="Drifted mixture",
    planted="Samples longer than a row were dropped: all laws, most books. Rows were filled from buckets of "
    "like length and stored in that order. The manifest is that of the build before.",
    write=_write,
    command=("check", "packed", "--reference", "tokenized", "--by", "domain,language"),
    exit_code=1,
    found=dict.fromkeys(
        (
            *("DRF001", "DRF002", "DRF003", "DRF004", "DRF005", "DRF006", "SMP001"),
            *("FIL001", "FIL002", "MAN002", "MAN003", "ORD001", "ORD002", "ORD003"),
        ),
        WHOLE,
    ),
)
