"""SHD001: raised by readers and by the engine; here, that the rule explains what the engine reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from packlint.engine.scan import ShardPlan, scan_part
from packlint.errors import UnreadableError
from packlint.model.batch import ShardContext, Unit
from packlint.model.spec import DatasetSpec, Policy
from packlint.readers.reading import Reading
from packlint.readers.shard import Part, RawRows, Role
from packlint.rule import documentation
from packlint.testing import ColumnsShard, shard_of
from packlint_rules.shards.shd001_unreadable_shard import UnreadableShard


@dataclass(frozen=True, slots=True, kw_only=True)
class CutShard(ColumnsShard):
    """Serve rows as usual, then break off."""

    columns: dict[Role, list[list[int]]] = field(default_factory=dict)

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows, then fail as a cut file does."""
        yield from ColumnsShard.rows(self, part, roles, block_tokens)
        raise UnreadableError("row 2: the file ends early")


def test_what_cannot_be_read_is_a_finding_and_what_came_before_stays() -> None:
    whole = shard_of({"input_ids": [[1, 11, 2], [1, 12, 2]]})
    shard = CutShard(columns=dict(whole.columns), layout=whole.layout)
    context = ShardContext(
        name="a", index=0, unit=Unit.PACK, spec=DatasetSpec(), contract=None, policy=Policy()
    )
    plan = ShardPlan(shard, Reading(layout=shard.layout, context=context), frozenset(shard.columns))

    result = scan_part(plan, shard.parts()[0], [])

    assert result.counts["n_packs"] == 2
    tally = result.tallies[UnreadableShard.meta.code]
    assert tally.n_hits == 1
    assert tally.exemplars[0].note == "row 2: the file ends early"


def test_page() -> None:
    assert documentation(UnreadableShard)[""].startswith("A shard, or some of its rows,")
