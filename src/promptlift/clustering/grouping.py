"""Groups of conversations with names, and where others belong: found on a sample, by the words that they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from promptlift.clustering.clusters import Clusters, find_clusters, has_topics, nearest_of
from promptlift.clustering.names import Term, names, telling_terms
from promptlift.clustering.vectors import Block, Space, turns_of, unit
from promptlift.schema.topics import FEWEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from promptlift.clustering.vectors import Document, Points

    Read = Callable[[Sequence[Mapping[str, Any]]], Document]

SAMPLE: Final = 3_000
"""Most conversations that are compared."""
_AT_ONCE: Final = 1_000
# Coarser groups of endings mix what fails with what does not.
_FEWEST_WITHIN: Final = 6


class Texts(Protocol):
    """Contents of conversations, such as an array of NumPy or of a column."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: Any, /) -> Iterable[Any]: ...


class Places(NamedTuple):
    """Where conversations belong.

    Attributes
    ----------
    labels
        Number of the cluster of each, -1 for none.
    margins
        By how much the second nearest cluster is farther.
    closeness
        To the centre of its cluster.
    """

    labels: NDArray[np.intp]
    margins: NDArray[np.float64]
    closeness: NDArray[np.float64]


@dataclass(frozen=True)
class Grouping:
    """Clusters of conversations, and what tells where another one belongs.

    Attributes
    ----------
    clusters
        Of the conversations that were compared.
    names, terms
        Of each cluster.
    """

    clusters: Clusters
    names: list[str]
    terms: list[list[Term]]
    _read: Read
    space: Space | None
    _usual: Points

    @classmethod
    def of(
        cls,
        contents: Texts,
        read: Read,
        rng: np.random.Generator,
        *,
        within: NDArray[np.intp] | None = None,
    ) -> tuple[Grouping, Places]:
        """Cluster conversations by what ``read`` takes from their turns: on a sample if there are many, the rest placed by it.

        Parameters
        ----------
        contents
            Of the conversations; a missing one is no text.
        read
            What they are compared by.
        rng
            Source of all draws.
        within
            Topic of each conversation, -1 for none: they are compared by what differs from the others of their topic, and in at
            least six groups. Without it there are clusters only where words make topics.
        """
        n = len(contents)
        drawn = np.sort(rng.choice(n, min(n, SAMPLE), replace=False))
        block, documents = read_block(contents[drawn], read)
        space, usual = None, np.zeros((1, 1), np.float32)
        points = np.zeros((len(drawn), 1), np.float32)
        clusters = Clusters(np.full(len(drawn), -1), np.zeros((0, 1), np.float32), np.zeros(0))
        if n >= FEWEST and block.terms and (within is not None or has_topics(block, rng)):
            topics = None if within is None else within[drawn]

            def fit(places: NDArray[np.intp]) -> tuple[Space, Points, Points]:
                space, points = Space.fit(block.rows(places), rng)
                if topics is None:
                    return space, usual, points
                means = _means(points, topics[places])
                return space, means, unit(points - means[topics[places]])

            space, usual, points = fit(np.arange(len(drawn)))
            fewest = 2 if within is None else _FEWEST_WITHIN
            clusters = find_clusters(points, rng, fewest=fewest, refit=lambda places: fit(places)[2])
        terms = telling_terms(clusters.labels, clusters.count, documents)
        found = cls(clusters, names(terms), terms, read, space, usual)
        places = found.place(contents, within) if n > len(drawn) else found._at(points)
        places.labels[drawn] = clusters.labels
        return found, places

    def place(self, contents: Texts, within: NDArray[np.intp] | None = None) -> Places:
        """Return the cluster of each conversation; ``within`` has its topic where the clusters are within topics."""
        n = len(contents)
        places = Places(np.full(n, -1), np.zeros(n), np.zeros(n))
        if self.space is None:
            return places
        for start in range(0, n, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            at = self.space.points([self._read(turns_of(content)) for content in contents[part]])
            if within is not None:
                at = unit(at - self._usual[within[part]])
            for every, some in zip(places, self._at(at), strict=True):
                every[part] = some
        return places

    def _at(self, points: Points) -> Places:
        if not self.clusters.count:
            return Places(np.full(len(points), -1), np.zeros(len(points)), np.zeros(len(points)))
        labels, margins = nearest_of(points, self.clusters.centres)
        return Places(labels, margins, (points * self.clusters.centres[labels]).sum(axis=1))


def read_block(contents: Iterable[Any], read: Read) -> tuple[Block, list[Document]]:
    """Return the terms of conversations that may tell them apart, and what names them, without the words."""
    documents: list[Document] = []

    def terms() -> Iterator[Mapping[str, int]]:
        for content in contents:
            document = read(turns_of(content))
            documents.append(document._replace(terms={}))
            yield document.terms

    return Block.of(terms()).telling(), documents


def _means(points: Points, topics: NDArray[np.intp]) -> Points:
    """Return the mean of each topic, and last that of the conversations without one."""
    rows = [points[topics == topic] for topic in (*range(int(topics.max(initial=-1)) + 1), -1)]
    return np.array(
        [some.mean(axis=0) if len(some) else np.zeros(points.shape[1]) for some in rows], np.float32
    )
