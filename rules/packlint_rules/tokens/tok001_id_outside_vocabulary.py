"""TOK001 id-outside-vocabulary: a token id is negative or not below the vocabulary size."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.spans import Spans
from packlint.model.spec import Origin
from packlint.rule import PackRule, RuleMeta, Totals


class IdOutsideVocabulary(PackRule):
    """A token id is below 0 or not below `vocab_size`.

    ## What it checks
    Every stored id, padding included. A declared pad id is allowed inside padding, whatever its value
    (some formats pad with -1). Without `vocab_size` only negative ids are looked for.

    ## Why it matters
    The id has no row in the embedding table. A GPU reads foreign memory or stops with an assertion that
    names no shard; loaders that fold ids into the vocabulary train on wrong tokens in silence.

    ## How to fix
    Tokenize again with the tokenizer that the model has, and store the ids in a type that holds them:
    Megatron-LM and NeoX `preprocess_data` take the type from the vocabulary, dolma takes `--dtype uint32`.
    If tokens were added, resize the embeddings and give `[spec] vocab_size` with them.

    ## Limits
    An id of a foreign tokenizer that happens to be small enough is not seen (see TOK003).

    ## Sources
    urvashik/knnlm#6, shoarora/transformers-trainers#12 (int16: ids above 32,767 turn negative),
    mlfoundations/open_lm#77 (ids folded into the vocabulary).
    """

    meta = RuleMeta(code="TOK001", name="id-outside-vocabulary", severity=Severity.ERROR, since="0.1.0")
    partial = True
    why = "The id has no row in the embedding table: a crash far from the data, or another token in silence."
    fix = "Tokenize again with the model's tokenizer, into a storage type that holds its whole vocabulary."
    good = ({"input_ids": [[1, 11, 99, 2]], "config": {"spec": {"vocab_size": 100}}},)
    bad = (
        {"input_ids": [[1, 11, 100, 2]], "config": {"spec": {"vocab_size": 100}}},
        {"input_ids": [[1, -11, 12, 2]], "config": {"spec": {"vocab_size": 100}}},
    )

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say that only half of the rule works without a vocabulary."""
        if batch.spec.vocab_size is not None:
            return None
        return "vocab_size: unknown, so only negative ids are found; give [spec] vocab_size or --tokenizer"

    def check(self, batch: PackBatch) -> Hits:
        """Return the runs of ids that the vocabulary does not have."""
        low, high = batch.token_range
        size = batch.spec.vocab_size.value if batch.spec.vocab_size else high + 1
        if low >= 0 and high < size:
            return Hits.none()
        places = np.flatnonzero((batch.tokens < 0) | (batch.tokens >= size))
        pad = batch.spec.pad_id
        if pad is not None and pad.origin is not Origin.DETECTED:
            places = places[~((batch.tokens[places] == pad.value) & batch.padding.contains(places))]
        n_negative = int(np.count_nonzero(batch.tokens[places] < 0))
        return Hits.of_spans(
            batch, Spans.from_indices(places), negative_ids=n_negative, large_ids=places.size - n_negative
        )

    def message(self, totals: Totals) -> str:
        """Count both kinds and show one id."""
        negative, large = totals.measured.get("negative_ids", 0), totals.measured.get("large_ids", 0)
        worst, vocab = totals.worst, totals.shard.spec.vocab_size
        shown = worst.context[worst.start - worst.context_start]
        tokens = "1 token has an id" if totals.n_tokens == 1 else f"{totals.n_tokens:,} tokens have ids"
        allowed = "0 and above" if vocab is None else f"0 to {vocab.value - 1:,}"
        kinds = f"{negative:,} negative, {large:,} too large"
        return f"{tokens} outside the vocabulary ({kinds}; one is {shown}); allowed: {allowed}"
