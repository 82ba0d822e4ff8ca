"""MAN002 undeclared-field: the manifest leaves open what nobody can measure later."""

from __future__ import annotations

from collections.abc import Iterator

from packlint.finding import Location, Severity
from packlint.model.batch import PackBatch
from packlint.model.manifest import FIELDS
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.counts import ShardCounts

_ALL = {
    "tokenizer": "gpt2 @ 607a30d",
    "max_seq_len": 3,
    "boundary_tokens": [2],
    "packing_algorithm": "best-fit decreasing, samples whole",
    "cross_document_attention": False,
    "attention_mask_type": "block_causal",
    "loss_mask_rule": "completion",
    "padding_fraction": 0.0,
    "samples_per_pack": 1.0,
    "distribution_change": "none: every sample is packed once",
}


class UndeclaredField(DatasetRule[ShardCounts]):
    """The manifest says nothing of some of the ten things that a reader of the shards must know.

    ## What it checks
    That each manifest declares: tokenizer version, sequence length, boundary token, packing algorithm,
    whether documents may see each other, attention mask type, loss mask rule, padding ratio, mean samples
    per pack, and change of the domain or language distribution.

    ## Why it matters
    An undeclared value is guessed by the next trainer, and a wrong one cannot be found.

    ## How to fix
    Run `packlint manifest SHARDS` with `--tokenizer`, `--packing-algorithm` and `--distribution-change`: all
    else is measured. With TRL or LLaMA-Factory, name the strategy and version that packed.

    ## Limits
    Whether a declared text is true is for MAN003, as far as it can be measured.

    ## Sources
    PrimeIntellect-ai/prime-rl#2944, huggingface/transformers#44642 (the label convention is stated nowhere).
    """

    meta = RuleMeta(code="MAN002", name="undeclared-field", severity=Severity.WARNING, since="0.1.0")
    why = "An undeclared value is guessed by the next trainer, and a wrong one cannot be found."
    fix = "Run packlint manifest again and name what cannot be measured: tokenizer, algorithm, distribution."
    good = ({"input_ids": [[1, 11, 2]], "manifest": _ALL},)
    bad = ({"input_ids": [[1, 11, 2]], "manifest": {"max_seq_len": 3}},)

    def zero(self) -> ShardCounts:
        """Return no packs."""
        return ShardCounts()

    def observe(self, summary: ShardCounts, batch: PackBatch) -> ShardCounts:
        """Count nothing: only the manifests are looked at."""
        return summary

    def judge(self, summary: ShardCounts, dataset: Dataset) -> Iterator[Judgement]:
        """Name the fields that are missing in any manifest."""
        lacking = {m.name: m.undeclared for m in dataset.manifests or () if m.undeclared}
        names = [name for name in FIELDS if any(name in missing for missing in lacking.values())]
        if not names:
            return
        fields = "1 field is" if len(names) == 1 else f"{len(names)} of {len(FIELDS)} fields are"
        words = "; ".join(FIELDS[name] for name in names)
        places = sorted(lacking.items(), key=lambda item: (-len(item[1]), item[0]))[:5]
        yield Judgement(
            message=f"{fields} declared nowhere: {words}",
            n_hits=sum(map(len, lacking.values())),
            measured={"undeclared": ", ".join(names), "manifests": len(lacking)},
            locations=tuple(
                Location(shard=name, pack=-1, amount=len(missing), note=f"lacks {', '.join(missing)}")
                for name, missing in places
            ),
        )
