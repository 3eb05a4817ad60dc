from __future__ import annotations

import contextlib
import random

import pytest

from promptlift.client.reads.paging import ListBroken, Walk


class ChangingList:
    """A list that changes between two pages, as a seed says."""

    def __init__(self, count, seed, *, events, deletes, where, burst):
        self.chance = random.Random(seed)
        self.rows = [{"id": f"r{number}"} for number in range(count)]
        self.stable = {row["id"] for row in self.rows}
        self.events, self.deletes, self.where, self.burst = events, deletes, where, burst
        self.made = 0

    def change(self, offset):
        for _ in range(self.chance.choice([0, 0, 1, self.burst])):
            if self.made >= self.events:
                return
            self.made += 1
            if self.rows and self.chance.random() < self.deletes:
                read = min(len(self.rows), max(1, offset))
                among = read if self.chance.random() < 0.8 else len(self.rows)
                self.stable.discard(self.rows.pop(self.chance.randrange(among))["id"])
            else:
                end = len(self.rows)
                place = {"top": 0, "end": end, "anywhere": self.chance.randrange(end + 1)}[self.where]
                self.rows.insert(place, {"id": f"new{self.made}"})

    def read(self, limit=100):
        walk = Walk(limit=limit)
        while not walk.done:
            if walk.pages:
                self.change(walk.offset)
            walk.take(self.rows[walk.offset : walk.offset + limit], total=len(self.rows), limit=limit)
        return walk


@pytest.mark.parametrize(
    ("where", "deletes", "burst"),
    [("top", 0.0, 2), ("top", 0.5, 30), ("end", 1.0, 5), ("anywhere", 0.5, 5), ("anywhere", 1.0, 30)],
)
def test_no_row_that_was_there_throughout_is_missed(where, deletes, burst):
    for seed in range(6):
        for count, limit in ((37, 10), (450, 100), (230, 20)):
            changing = ChangingList(count, seed, events=40, deletes=deletes, where=where, burst=burst)
            walk = changing.read(limit)
            assert changing.stable <= set(walk.rows), (seed, count, limit)
            assert walk.complete, (seed, count, limit)


@pytest.mark.parametrize(("where", "deletes"), [("top", 0.0), ("end", 0.5)])
def test_twenty_changes_cost_at_most_a_seventh_more_than_the_plain_list(where, deletes):
    ratios = []
    for seed in range(20):
        changing = ChangingList(2000, seed, events=20, deletes=deletes, where=where, burst=1)
        ratios.append(changing.read().pages / 20)
    assert max(ratios) <= 1.15


KINDS = ("drop", "repeat", "skip", "early", "total", "shift", "short", "other")


def noise(kind, chance, rows, offset):
    """A page and its total, wrong in one way now and then."""
    page, total = rows[offset : offset + 100], len(rows)
    if chance.random() < 0.6:
        return page, total
    if kind == "drop" and page:
        page.pop(chance.randrange(len(page)))
    elif kind == "repeat" and page:
        page[chance.randrange(len(page))] = chance.choice(rows)
    elif kind in ("skip", "early"):
        start = max(0, offset + chance.randrange(1, 6) * (1 if kind == "skip" else -1))
        page = rows[start : start + 100]
    elif kind == "total":
        total = max(0, total + chance.choice([-200, -50, -3, -1, 1, 3, 50, 200]))
    elif kind == "shift" and len(page) == 100:
        page = page[1:] + rows[offset + 100 : offset + 101]
    elif kind == "short":
        page = page[: chance.randrange(len(page) + 1)]
    elif kind == "other":
        page = chance.sample(rows, len(page))
    return page, total


@pytest.mark.parametrize("kind", KINDS)
def test_pages_that_are_wrong_at_random_never_make_a_complete_list_of_a_part(kind):
    rows = [{"id": str(number)} for number in range(450)]
    complete = 0
    for seed in range(50):
        chance, walk = random.Random(f"{kind}.{seed}"), Walk()
        with contextlib.suppress(ListBroken):
            while not walk.done:
                page, total = noise(kind, chance, rows, walk.offset)
                walk.take(page, total=total, limit=100)
        assert not walk.complete or len(walk.rows) == 450, seed
        complete += walk.complete
    assert complete  # some come through, and whole
