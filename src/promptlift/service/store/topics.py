"""The kept topics of prompts, and the conversations in which they are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import and_, exists, or_, select, update

from promptlift.service.store.conversation_counts import ALL_TIME
from promptlift.service.store.leases import in_batches
from promptlift.service.store.rows import equal, wanted
from promptlift.service.store.tables import conversation_sums
from promptlift.service.store.tables.conversations import ContentRow, ConversationRow
from promptlift.service.store.tables.prompts import AtlasRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.rows import Rows

_MANY: Final = 4_000


class DuePrompt(NamedTuple):
    """A prompt whose topics are to be found anew, and how many of its conversations are judged."""

    account_id: str
    prompt_id: str
    judged: int


def due(connection: Connection, *, fewest: int, before: int) -> list[DuePrompt]:
    """Return the prompts with enough conversations, and new ones since a time, or twice as many as then.

    While a few conversations of a prompt wait to be judged, it is not due.
    """
    sums = conversation_sums.c
    judged = sums.positive + sums.neutral + sums.negative
    waiting = exists().where(
        ConversationRow.account_id == sums.account_id,
        ConversationRow.prompt_id == sums.prompt_id,
        ConversationRow.judging.in_(("pending", "claimed")),
    )
    found = connection.execute(
        select(sums.account_id, sums.prompt_id, judged)
        .outerjoin(AtlasRow, AtlasRow.prompt_id == sums.prompt_id)
        .where(sums.start == ALL_TIME, sums.prompt_id != "", judged >= fewest)
        .where(
            or_(
                AtlasRow.id.is_(None),
                and_(AtlasRow.judged != judged, AtlasRow.found_at <= before),
                judged >= 2 * AtlasRow.judged_anew,
            ),
            or_(judged >= _MANY, ~waiting),
        )
        .order_by(sums.prompt_id)
    )
    return [DuePrompt._make(row) for row in found]


def of_prompt(rows: Rows, prompt_id: str) -> AtlasRow | None:
    """Return the kept topics of a prompt."""
    return rows.find(wanted(AtlasRow, prompt_id=prompt_id))


def judged_seqs(connection: Connection, account_id: str, prompt_id: str) -> list[int]:
    """Return the numbers of the judged conversations of a prompt, in order."""
    where = equal(ConversationRow, account_id=account_id, prompt_id=prompt_id, has_insights=True)
    return [*connection.scalars(select(ConversationRow.seq).where(*where).order_by(ConversationRow.seq))]


def contents(connection: Connection, seqs: Sequence[int]) -> dict[str, str]:
    """Return the transcripts of conversations by id, in the order of their numbers; without those that are deleted."""
    query = select(ConversationRow.id, ContentRow.content).join(
        ContentRow, ContentRow.conversation_id == ConversationRow.id
    )
    found = (
        connection.execute(query.where(ConversationRow.seq.in_(some)).order_by(ConversationRow.seq))
        for some in in_batches(seqs)
    )
    return {conversation_id: content.decode() for rows in found for conversation_id, content in rows}


def save(rows: Rows, row: AtlasRow, *, version: int) -> bool:
    """Store topics that were found anew; return false if they were changed since they were read in a version, 0 for none."""
    if version == 0:
        if of_prompt(rows, row.prompt_id) is not None:
            return False
        rows.insert(row)
        return True
    values = {
        name: getattr(row, name)
        for name in ("judged", "judged_anew", "found", "space", "next_id", "found_at")
    }
    changed = (
        update(AtlasRow)
        .filter_by(prompt_id=row.prompt_id, version=version)
        .values(version=version + 1, **values)
    )
    return bool(rows.core.execute(changed).rowcount)
