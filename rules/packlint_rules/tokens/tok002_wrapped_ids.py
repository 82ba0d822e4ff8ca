"""TOK002 wrapped-ids: the storage type cannot hold the vocabulary, or its upper ids are missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.ids import IdRange, IdRanges
from packlint.summaries.places import worst_shards

_LARGEST = {np.dtype(code).name: int(np.iinfo(code).max) for code in "bBhHiIqQ"}


class WrappedIds(DatasetRule[IdRanges]):
    """Ids went through a type that is too small for the vocabulary.

    ## What it checks
    Whether the storage type of each shard holds `vocab_size` - 1 (error). Where it does: whether many tokens
    hold no id above 65,535 although the reference does (error), or the vocabulary might (warning).

    ## Why it matters
    Ids that do not fit wrap to other, valid ids: 65,546 becomes 10. Nothing crashes; rare tokens turn common.

    ## How to fix
    Tokenize again into 32 bits; casting the stored ids cannot bring them back. Megatron-LM chooses the type
    by vocabulary; nanoGPT and dolma write uint16 unless told otherwise.

    ## Limits
    Without a reference, missing upper ids are no proof. A rounded-up `vocab_size` is taken as given.

    ## Sources
    huggingface/transformers#2825 (uint16, 119,547 ids: 45 % wrap), princeton-nlp/LLM-Shearing#65.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """When missing upper ids are suspicious.

        Args:
            min_tokens: tokens in which none of them was seen.
            min_vocab_size: ids that the vocabulary must have at least.
            min_missing_tokens: of these, tokens to be expected by the reference from which it is proven.
        """

        min_tokens: int = 1_000_000
        min_vocab_size: int = 70_000
        min_missing_tokens: int = 20

    meta = RuleMeta(
        code="TOK002", name="wrapped-ids", severity=Severity.ERROR, since="0.1.0", needs=(Need.VOCAB_SIZE,)
    )
    why = "Ids that do not fit wrap to other valid ids: nothing crashes, rare tokens turn into common ones."
    fix = "Tokenize again into a 32-bit type; the wrapped ids cannot be recovered."
    good = ({"input_ids": [[1, 11, 2]], "config": {"spec": {"vocab_size": 65_536, "token_dtype": "uint16"}}},)
    bad = ({"input_ids": [[1, 11, 2]], "config": {"spec": {"vocab_size": 65_537, "token_dtype": "uint16"}}},)

    def zero(self) -> IdRanges:
        """Return no shards."""
        return IdRanges()

    def observe(self, summary: IdRanges, batch: PackBatch) -> IdRanges:
        """Add the largest id and the narrower of the stored and the declared type."""
        vocab, declared = batch.spec.vocab_size, batch.spec.token_dtype
        if vocab is None:
            return summary
        names = [batch.tokens.dtype.name, *([declared.value] if declared else [])]
        storage = min((_LARGEST[name], name) for name in names if name in _LARGEST)
        high = batch.token_range[1]
        ids = IdRange(max_id=high, n_tokens=batch.n_tokens, storage=storage, vocab_size=vocab.value)
        return summary.merge(IdRanges({batch.shard.index: ids}))

    def judge(self, summary: IdRanges, dataset: Dataset) -> Iterator[Judgement]:
        """Report shards whose type is too small, and upper ids that are missing from the others."""
        narrow = summary.where(fits=False)
        if ids := narrow.total():
            n, (limit, dtype) = len(narrow.by_shard), ids.storage
            shards = "1 shard stores its ids" if n == 1 else f"{n:,} shards store their ids"
            yield Judgement(
                message=f"{shards} as {dtype}, which holds ids to {limit:,}; needed: {ids.vocab_size - 1:,}",
                n_hits=n,
                n_tokens=ids.n_tokens,
                measured={"largest_storable_id": limit, "vocab_size": ids.vocab_size},
                locations=worst_shards(dataset.shards, narrow.n_tokens, narrow.storage_of),
            )
        ids, limit, options = summary.where(fits=True).total(), _LARGEST["uint16"], self.options
        if ids is None or ids.max_id > limit:
            return
        used = 0.0 if dataset.reference is None else dataset.reference.tokens.fraction_above(limit)
        is_proven = used * ids.n_tokens > options.min_missing_tokens
        why = f"{100 * used:.3g} % of the reference is" if used else f"vocab_size is {ids.vocab_size:,}"
        if is_proven or (ids.n_tokens >= options.min_tokens and ids.vocab_size > options.min_vocab_size):
            yield Judgement(
                message=f"no id above {limit:,} in {ids.n_tokens:,} tokens (largest {ids.max_id:,})"
                f" although {why}: ids {'were' if is_proven else 'may have been'} cut to 16 bits",
                n_hits=1,
                severity=None if is_proven else Severity.WARNING,
                confidence=Confidence.CERTAIN if is_proven else Confidence.LIKELY,
                measured={"max_id": ids.max_id, "n_tokens": ids.n_tokens, "vocab_size": ids.vocab_size},
            )
