"""How much is kept and how much work waits, over all accounts, for whoever operates the service."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.service import clock
from promptlift.service.background.kind import SingletonJob
from promptlift.service.store import SQLAlchemyError, conversation_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.background.kind import Kind
    from promptlift.service.store.database import Database

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Backlog:
    """What the database holds.

    Attributes
    ----------
    conversations
        Counts by status and whether there are insights.
    work
        By kind: rows that are due or under way, and for how many seconds the oldest has been due.
    """

    conversations: Mapping[tuple[str, bool], int]
    work: Mapping[str, tuple[int, float]]


def look(database: Database, kinds: Sequence[Kind]) -> Backlog | None:
    """Count what is kept and what waits; ``None`` when the database does not answer."""
    now = clock.now()
    try:
        with database.read() as connection:
            # A job that one worker does for ever is no work that waits.
            found = {
                kind.name: kind.leases.backlog(connection, now=now)
                for kind in kinds
                if not isinstance(kind, SingletonJob)
            }
            conversations = conversation_counts.kept(connection)
    except SQLAlchemyError as error:
        _LOG.warning("metrics cannot look into the database: %s", str(error).partition("\n")[0])
        return None
    return Backlog(
        conversations,
        {
            kind: (count, 0.0 if due is None else max(0, now - due) / clock.SECOND)
            for kind, (count, due) in found.items()
        },
    )
