"""Find who is best where: the candidates that are as good as any other in some cell, and one of them drawn as a parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Collection

    from promptlift.service.search.evidence import Outcomes

__all__ = ["draw_parent", "front"]


def front(outcomes: Outcomes, members: Collection[int]) -> dict[int, int]:
    """Return the candidates that no other one dominates, each with the number of cells in which it is among the best.

    One dominates another when it is nowhere worse on the cells that both have, and somewhere better. Where each is
    dominated by another one, which happens in a circle when pairs share different cells, all are in front.
    """
    best: dict[int, int] = dict.fromkeys(sorted(members), 0)
    for found in outcomes.values():
        there = {one: reached for one, reached in found.items() if one in best and reached is not None}
        if len(there) > 1 and (most := max(there.values())):
            for one, reached in there.items():
                best[one] += reached == most
    ahead = {
        one: cells
        for one, cells in best.items()
        if not any(_dominates(outcomes, other, one) for other in best if other != one)
    }
    return ahead or best


def draw_parent(outcomes: Outcomes, members: Collection[int], rng: random.Random) -> int:
    """Draw a parent from the front: the more often where the more cells have it among the best."""
    found = front(outcomes, members)
    names = list(found)
    return rng.choices(names, [found[name] + 1 for name in names])[0]


def _dominates(outcomes: Outcomes, one: int, other: int) -> bool:
    pairs = [
        (mine, its)
        for found in outcomes.values()
        if (mine := found.get(one)) is not None and (its := found.get(other)) is not None
    ]
    return any(mine > its for mine, its in pairs) and not any(its > mine for mine, its in pairs)
