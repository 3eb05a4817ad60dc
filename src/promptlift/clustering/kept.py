"""Topics that stay the same from day to day: found anew, matched to those of before by the conversations that both have."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import orjson

from promptlift.clustering.clusters import SMALLEST, find_clusters, nearest_of
from promptlift.clustering.grouping import Grouping
from promptlift.clustering.names import names, telling_terms
from promptlift.clustering.vectors import Block, Space, opening, turns_of, unit

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from promptlift.clustering.vectors import Points

# unspecified: share of the conversations of either that two topics have in common if they are the same one.
_SAME: Final = 1 / 3
# Share of the conversations of a topic that are nearer to its centre than those that belong to none.
_REACH: Final = 0.99
_TYPICAL: Final = 2


class Found(NamedTuple):
    """A topic as it was found."""

    number: int
    name: str
    stability: float | None


@dataclass(frozen=True)
class KeptTopics:
    """Where topics are, by number.

    Attributes
    ----------
    space
        Where conversations are points.
    numbers
        Of the topics.
    centres
        Of the topics, in the same order.
    reach
        How near a conversation of each topic must be.
    """

    space: Space
    numbers: tuple[int, ...]
    centres: Points
    reach: NDArray[np.float32]

    def place(self, points: Points) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the number of the topic of each point, 0 if it is near none, and how near it is."""
        if not self.numbers:
            return np.zeros(len(points), np.intp), np.zeros(len(points), np.float32)
        nearest = nearest_of(points, self.centres)[0]
        near = (points * self.centres[nearest]).sum(axis=1)
        belongs = (nearest >= 0) & (near >= self.reach[nearest])
        return np.where(belongs, np.array(self.numbers)[nearest], 0), near

    def topics_of(self, contents: Sequence[str]) -> list[int]:
        """Return the number of the topic of each conversation, 0 if it is near none."""
        place, _ = self.place(self.space.points([opening(turns_of(content)) for content in contents]))
        return [int(number) for number in place]

    def typical(self, points: Points) -> dict[int, tuple[int, list[int]]]:
        """Return for each topic how many of some points belong to it, and the places of the nearest ones."""
        place, near = self.place(points)
        members = {number: np.flatnonzero(place == number) for number in self.numbers}
        return {
            number: (len(some), some[np.argsort(-near[some], kind="stable")][:_TYPICAL].tolist())
            for number, some in members.items()
        }

    def without(self, numbers: Collection[int]) -> KeptTopics:
        """Return the other topics."""
        kept = [at for at, number in enumerate(self.numbers) if number not in numbers]
        left = tuple(self.numbers[at] for at in kept)
        return replace(self, numbers=left, centres=self.centres[kept], reach=self.reach[kept])

    def joined(self, number: int, parts: Sequence[int]) -> KeptTopics:
        """Return the topics with some joined into one with its own number."""
        at = [self.numbers.index(part) for part in parts if part in self.numbers]
        rest = self.without(parts)
        if not at:
            return rest
        centre, reach = self.centres[at].mean(axis=0, keepdims=True), self.reach[at].min(keepdims=True)
        return replace(
            rest,
            numbers=(*rest.numbers, number),
            centres=np.concatenate([rest.centres, centre]),
            reach=np.concatenate([rest.reach, reach]),
        )

    def split(
        self, number: int, contents: Sequence[str], *, first: int
    ) -> tuple[KeptTopics, list[Found]] | None:
        """Divide a topic by what differs between its conversations among some; ``None`` if nothing does.

        Parameters
        ----------
        first
            Number of the first part.
        """
        documents = [opening(turns_of(content)) for content in contents]
        points = self.space.points(documents)
        inside = np.flatnonzero(self.place(points)[0] == number)
        found = find_clusters(points[inside], np.random.default_rng(0))
        if found.count < 2:
            return None
        named = names(telling_terms(found.labels, found.count, [documents[at] for at in inside]))
        rest = self.without([number])
        parts = tuple(range(first, first + found.count))
        centres = np.concatenate([rest.centres, found.centres])
        kept = replace(rest, numbers=(*rest.numbers, *parts), centres=centres)
        found_parts = [
            Found(part, name, float(stability))
            for part, name, stability in zip(parts, named, found.stability, strict=True)
        ]
        return kept.reaching(points), found_parts

    def reaching(self, points: Points) -> KeptTopics:
        """Return the topics with their reach among some points."""
        place, near = replace(self, reach=np.full(len(self.numbers), -1, np.float32)).place(points)
        reach = [
            np.quantile(near[place == number], 1.0 - _REACH) if (place == number).any() else 0.0
            for number in self.numbers
        ]
        return replace(self, reach=np.array(reach, np.float32))

    def carried(self, number: int, space: Space) -> Points:
        """Return the centre of a topic in another space, by the terms that both know."""
        centre = self.centres[self.numbers.index(number)]
        weights = dict(zip(self.space.terms, (self.space.axes @ centre).tolist(), strict=True))
        moved = Block.of([weights], space.terms).counts @ space.axes
        return np.asarray(unit(moved)[0] * np.linalg.norm(centre), np.float32)

    def to_bytes(self) -> bytes:
        """Return the topics as bytes."""
        terms, written = orjson.dumps([*self.space.terms]), io.BytesIO()
        np.savez(
            written,
            terms=np.frombuffer(terms, np.uint8),
            rarity=self.space.rarity,
            axes=self.space.axes,
            numbers=np.array(self.numbers, np.int64),
            centres=self.centres,
            reach=self.reach,
        )
        return written.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> KeptTopics:
        """Read what ``to_bytes`` wrote."""
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            terms = orjson.loads(found["terms"].tobytes())
            places = {term: place for place, term in enumerate(terms)}
            space = Space(places, found["rarity"], found["axes"])
            return cls(space, tuple(found["numbers"].tolist()), found["centres"], found["reach"])


class Renewed(NamedTuple):
    """Topics found anew.

    Attributes
    ----------
    kept
        Where they are; ``None`` if there are none.
    found
        Those that were found, with their names today.
    points
        The conversations.
    """

    kept: KeptTopics | None
    found: list[Found]
    points: Points


def renew(
    contents: Sequence[str],
    before: KeptTopics | None,
    *,
    held: Collection[int] = (),
    anew: bool = False,
    first: int = 1,
) -> Renewed:
    """Find the topics of conversations, with the numbers of those of before that have the same conversations.

    Parameters
    ----------
    before
        Topics of before.
    held
        Numbers of those that stay, found or not: their conversations make no other topic.
    anew
        Whether only they stay, and all others are matched by overlap. Otherwise every topic stays that still has conversations, and
        those that are near none make new ones.
    first
        The first number for new topics.
    """
    documents = [opening(turns_of(content)) for content in contents]
    grouping, places = Grouping.of(
        np.array([*contents, None], object)[:-1], opening, np.random.default_rng(0)
    )
    was = np.zeros(len(contents), np.intp)
    if before is not None:
        was = before.place(before.space.points(documents))[0]
        there = [number for number in before.numbers if not anew and (was == number).sum() >= SMALLEST]
        held = [number for number in before.numbers if number in held or number in there]
    if grouping.space is None:
        kept = None if before is None or not held else before.without(set(before.numbers) - set(held))
        points = np.zeros((len(contents), 1), np.float32) if kept is None else kept.space.points(documents)
        return Renewed(kept, [], points)
    points, labels = grouping.space.points(documents), places.labels
    stays = np.isin(was, [*held])
    others = [at for at in range(grouping.clusters.count) if stays[labels == at].mean() <= 0.5]
    same = _same_topics(labels, others, np.where(stays, 0, was))
    centres: dict[int, Points] = {}
    if before is not None:
        for number in held:
            mine = points[(was == number) & ~np.isin(labels, others)]
            enough = len(mine) >= SMALLEST
            centres[number] = mine.mean(axis=0) if enough else before.carried(number, grouping.space)
    found = []
    for at in others:
        number = same.get(at, first)
        first += number == first
        found.append(Found(number, grouping.names[at], float(grouping.clusters.stability[at])))
        centres[number] = grouping.clusters.centres[at]
    if not centres:
        return Renewed(None, [], points)
    every = np.array(list(centres.values()), np.float32)
    kept = KeptTopics(grouping.space, tuple(centres), every, np.zeros(len(every), np.float32))
    return Renewed(kept.reaching(points), found, points)


def _same_topics(labels: NDArray[np.intp], new: Sequence[int], was: NDArray[np.intp]) -> dict[int, int]:
    """Return the number of before for each new topic that has one; the largest overlap first."""
    overlaps = []
    for at in new:
        mine = labels == at
        for number in np.unique(was[mine & (was > 0)]).tolist():
            both = np.count_nonzero(mine & (was == number))
            overlaps.append((both / (mine.sum() + np.count_nonzero(was == number) - both), at, number))
    same: dict[int, int] = {}
    for share, at, number in sorted(overlaps, key=lambda one: (-one[0], one[1], one[2])):
        if share >= _SAME and at not in same and number not in same.values():
            same[at] = number
    return same
