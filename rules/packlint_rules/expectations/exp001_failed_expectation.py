"""EXP001 failed-expectation: the pack table or the sample table does not do what a suite expects."""

from __future__ import annotations

from packlint.finding import Severity
from packlint.rule import ReaderRule, RuleMeta


class FailedExpectation(ReaderRule):
    """An expectation of the suite that was given does not hold.

    ## What it checks
    `--expectations SUITE` names a suite of Great Expectations 1.x in JSON. It is validated on two tables:
    `packs` has a row per pack (n_tokens, n_padding, padding_fraction, n_segments, n_targets, target_fraction,
    longest_segment, mean_context_tokens), `samples` a row per segment (pack, segment, start, n_tokens,
    n_targets, target_fraction, is_first, ends_with_end_token, reference_row), both with `shard` and all
    metadata. Each failed expectation is a finding: `critical` is an error, `warning` and `info` are what they
    say. One that cannot be judged (unknown type, wrong argument, missing column, no values) is no finding: it
    ends the run with exit code 2.

    ## Why it matters
    A suite holds what a team has agreed on for its own data: mixture, lengths, share of loss. What departs
    from it is another data set than the one that was planned.

    ## How to fix
    Find the step that brought it in: the places show packs and segments with unexpected values, whichever
    trainer reads them (TRL, Megatron-LM). If the change is meant, edit the suite, or make it anew with
    `packlint expectations PATH... > suite.json`.

    ## Limits
    Tokens are never shown to Great Expectations, so no expectation can ask for them. Divergences get
    `tail_weight_holdout = 0.001` where a suite names none: without it one new category makes them infinite.

    ## Sources
    great-expectations/great_expectations `great_expectations/expectations/core`.
    """

    meta = RuleMeta(code="EXP001", name="failed-expectation", severity=Severity.ERROR, since="0.1.0")
    why = "The data departs from what was agreed on for it: its mixture, lengths or share of loss."
    fix = "Find the step that brought it in; if the change is meant, edit the suite."
