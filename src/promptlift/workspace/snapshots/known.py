"""What a snapshot knows of every conversation before it is brought up to date."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from promptlift.snapshot.columns import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from promptlift.snapshot.snapshot import Snapshot

    Place = tuple[str | None, str | None]

_COLUMNS: Final = ("conversation_id", "position", "list_hash")


def list_hash(row: dict[str, Any]) -> int:
    """Return a hash of a row as the list has it, 64 bits with a sign."""
    return int.from_bytes(hashlib.blake2b(to_json(row), digest_size=8).digest(), signed=True)


class KnownConversations:
    """The conversations of a snapshot by id.

    Parameters
    ----------
    snapshot
        The snapshot; ``None`` knows nothing.

    Attributes
    ----------
    hashes
        Conversation to the hash of its row in the list.
    """

    def __init__(self, snapshot: Snapshot | None) -> None:
        self.hashes: dict[str, int] = {}
        self._positions: dict[str, float] = {}
        self._places: dict[str, int] = {}
        self._partitions: list[Place] = []
        if snapshot is not None:
            for place, rows in snapshot.partitions("conversations", _COLUMNS):
                self._take(place, rows.to_pydict())

    def _take(self, place: Place, rows: dict[str, list[Any]]) -> None:
        ids = rows["conversation_id"]
        self._partitions.append(place)
        number = len(self._partitions) - 1
        self._places.update(dict.fromkeys(ids, number))
        self._positions.update(zip(ids, rows["position"], strict=True))
        self.hashes.update(zip(ids, rows["list_hash"], strict=True))

    def __contains__(self, conversation_id: object) -> bool:
        return conversation_id in self._positions

    def in_order(self) -> list[str]:
        """Return all ids in the order of the list."""
        return sorted(self._positions, key=self._positions.__getitem__, reverse=True)

    def places(self, conversation_ids: Iterable[str]) -> list[Place]:
        """Return prompt and month of the partitions that have these conversations."""
        numbers = {self._places[one] for one in conversation_ids if one in self._places}
        return [self._partitions[number] for number in sorted(numbers)]

    def place_of(self, conversation_id: str) -> Place:
        """Return prompt and month of the partition that has a conversation."""
        return self._partitions[self._places[conversation_id]]

    def positions_for(self, order: list[str]) -> dict[str, float]:
        """Return the places in the list of all rows of an order, higher ones first; those that are known keep theirs.

        What is new between two that are known gets places between theirs, so that nothing else has to be written anew.
        """
        places = dict(self._positions)
        above: float | None = None
        run: list[str] = []
        for one in dict.fromkeys(order):
            if one in self._positions:
                places.update(_between(run, above, self._positions[one]))
                above, run = self._positions[one], []
            else:
                run.append(one)
        places.update(_between(run, above, None))
        return places


def _between(run: list[str], above: float | None, below: float | None) -> Iterator[tuple[str, float]]:
    """Yield places for rows that follow each other, between two others or beyond the only one."""
    count = len(run)
    for number, one in enumerate(run):
        if above is None:
            yield one, (0.0 if below is None else below) + count - number
        elif below is None:
            yield one, above - 1 - number
        else:
            yield one, above - (above - below) * (number + 1) / (count + 1)
