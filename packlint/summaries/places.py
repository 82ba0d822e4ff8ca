"""The few places that a finding about the whole data set shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from packlint.finding import Location

__all__ = ["MAX_PLACES", "worst_shards"]

MAX_PLACES = 5
"""Places shown per finding; counts stay exact."""


def worst_shards(
    names: Sequence[str], amounts: Mapping[int, int], note: Callable[[int], str]
) -> tuple[Location, ...]:
    """Return the shards with the largest amounts, worst first; those with none are left out.

    Args:
        names: name of each shard.
        amounts: how bad each is, by shard index.
        note: says of a shard index what is special about it.
    """
    bad = [shard for shard, amount in amounts.items() if amount]
    worst = sorted(bad, key=lambda shard: (-amounts[shard], names[shard]))[:MAX_PLACES]
    return tuple(Location(shard=names[i], pack=-1, amount=amounts[i], note=note(i)) for i in worst)
