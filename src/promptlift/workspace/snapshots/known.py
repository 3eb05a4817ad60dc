"""What a snapshot knows of every conversation before it is brought up to date."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.snapshot.snapshot import Snapshot

    Place = tuple[str | None, str | None]

_COLUMNS: Final = ("conversation_id", "status", "has_insights", "position", "list_hash")
# The hash of a row whose form in the list is not known.
UNKNOWN_HASH: Final = 0


def list_hash(row: dict[str, Any]) -> int:
    """Return a hash of a row as the list has it, 64 bits with a sign."""
    data = orjson.dumps(row, option=orjson.OPT_SORT_KEYS)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), signed=True)


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
        self._positions: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._partitions: list[Place] = []
        self._status: dict[str, set[str]] = {}
        self._unjudged: set[str] = set()
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
        for one, status, judged in zip(ids, rows["status"], rows["has_insights"], strict=True):
            self._status.setdefault(status, set()).add(one)
            if judged is False:
                self._unjudged.add(one)

    def __len__(self) -> int:
        return len(self._positions)

    def __contains__(self, conversation_id: object) -> bool:
        return conversation_id in self._positions

    def in_order(self) -> list[str]:
        """Return all ids in the order of the list."""
        return sorted(self._positions, key=self._positions.__getitem__, reverse=True)

    def of_status(self, status: str) -> set[str]:
        """Return the ids of a status."""
        return self._status.get(status, set())

    def unjudged(self) -> set[str]:
        """Return the ids of conversations without insights."""
        return self._unjudged

    def places(self, conversation_ids: Iterable[str]) -> list[Place]:
        """Return prompt and month of the partitions that have these conversations."""
        numbers = {self._places[one] for one in conversation_ids if one in self._places}
        return [self._partitions[number] for number in sorted(numbers)]

    def prompt_of(self, conversation_id: str) -> str | None:
        """Return the prompt of a conversation."""
        return self._partitions[self._places[conversation_id]][0]

    def positions_for(self, late: dict[str, int], found: list[str]) -> dict[str, int]:
        """Return the places in the list of rows that were read; those that are known keep theirs.

        Parameters
        ----------
        late
            Rows that are above everything that was known when they were found, to the number of the attempt.
        found
            All rows, in the order in which they were read.
        """
        values = np.fromiter(self._positions.values(), np.int64, len(self._positions))
        top, bottom = (int(values.max()), int(values.min())) if len(values) else (0, 1)
        positions = {one: self._positions[one] for one in found if one in self._positions}
        new = [one for one in dict.fromkeys(found) if one not in positions]
        below = [one for one in new if not late.get(one)]
        above = sorted((one for one in new if late.get(one)), key=lambda one: -late[one])
        positions |= {one: bottom - 1 - place for place, one in enumerate(below)}
        positions |= {one: top + len(above) - place for place, one in enumerate(above)}
        return positions
