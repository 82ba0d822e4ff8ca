"""SHD003: raised by the engine for a shard without packs; here, what the rule says of it."""

from __future__ import annotations

from packlint.finding import Severity
from packlint.rule import ReaderRule, documentation
from packlint_rules.shards.shd003_empty_shard import EmptyShard


def test_a_warning_that_no_code_of_the_rule_raises() -> None:
    assert issubclass(EmptyShard, ReaderRule)
    assert EmptyShard.meta.severity is Severity.WARNING
    assert not hasattr(EmptyShard, "check")


def test_page_points_to_the_rule_on_empty_packs() -> None:
    assert "FIL003" in documentation(EmptyShard)["Limits"]
