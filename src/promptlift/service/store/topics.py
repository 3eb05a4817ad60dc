"""The kept topics of prompts, and the conversations in which they are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
from sqlalchemy import and_, bindparam, exists, null, or_, select, true, update

from promptlift.service.identifiers import new_id
from promptlift.service.store import changes, conversation_counts
from promptlift.service.store.conversation_counts import ALL_TIME
from promptlift.service.store.leases import in_batches
from promptlift.service.store.rows import equal, wanted
from promptlift.service.store.tables.conversations import (
    ContentRow,
    ConversationRow,
    InsightsRow,
    conversation_sums,
)
from promptlift.service.store.tables.prompts import AtlasRow, PromptRow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.rows import Rows
    from promptlift.service.store.tables.prompts import Waiting

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


def of_prompt(rows: Rows, prompt_id: str, *, lock: bool = False) -> AtlasRow | None:
    """Return the kept topics of a prompt; with a lock nobody else changes them until the transaction ends."""
    query = wanted(AtlasRow, prompt_id=prompt_id)
    return rows.find(query.with_for_update() if lock else query)


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


def save(rows: Rows, prompt: DuePrompt, *, version: int, **found: Any) -> bool:
    """Store topics that were found anew; return false if they were changed since they were read in a version, 0 for none."""
    rows.core.execute(select(PromptRow.id).filter_by(id=prompt.prompt_id).with_for_update())
    row = of_prompt(rows, prompt.prompt_id, lock=True)
    if version != (0 if row is None else row.version):
        return False
    if row is None:
        new = {"id": new_id("atl"), "account_id": prompt.account_id, "prompt_id": prompt.prompt_id}
        rows.insert(AtlasRow(**new, **found, version=1))
    else:
        row.change({**found, "version": version + 1})
        rows.flush()
    return True


# Conversations whose topic was changed wait for it (`Waiting`); the newest get it first.


class Placed(NamedTuple):
    """A judged conversation with its number and name of a topic, and its transcript if that decides."""

    seq: int
    id: str
    number: int
    topic: str | None
    content: bytes | None


def waiting_prompts(connection: Connection) -> list[str]:
    """Return the prompts of which conversations wait for their topic."""
    return [*connection.scalars(select(AtlasRow.prompt_id).where(AtlasRow.waiting != []))]


def next_waiting(connection: Connection, row: AtlasRow, *, limit: int) -> list[Placed]:
    """Return the newest conversations that wait by the first entry."""
    entry, there = row.waiting[0], InsightsRow.topic_number
    query = (
        select(ConversationRow.seq, ConversationRow.id, there, InsightsRow.topic, ContentRow.content)
        if entry["read"]
        else select(ConversationRow.seq, ConversationRow.id, there, InsightsRow.topic, null())
    ).join(InsightsRow, InsightsRow.conversation_id == ConversationRow.id)
    if entry["read"]:
        # Without its transcript a conversation keeps its topic.
        query = query.join(ContentRow, ContentRow.conversation_id == ConversationRow.id)
    query = query.where(
        *equal(ConversationRow, account_id=row.account_id, prompt_id=row.prompt_id),
        there.is_not(None) if entry["numbers"] is None else there.in_(entry["numbers"]),
        true() if entry["below"] is None else ConversationRow.seq < entry["below"],
    )
    return [
        Placed._make(one)
        for one in connection.execute(query.order_by(ConversationRow.seq.desc()).limit(limit))
    ]


def write(
    connection: Connection,
    row: AtlasRow,
    new: Mapping[str, tuple[int, str | None]],
    *,
    waiting: list[Waiting],
) -> None:
    """Store the number and name of the topic of some conversations, and which ones wait from now on.

    Nothing is stored if the topics were changed meanwhile, which may have changed these as well.
    """
    unchanged = update(AtlasRow).filter_by(prompt_id=row.prompt_id, version=row.version)
    if not connection.execute(unchanged.values(waiting=waiting)).rowcount or not new:
        return
    stamp = changes.stamp(connection, [row.account_id])
    with conversation_counts.following(connection, new):
        known = select(InsightsRow.conversation_id, InsightsRow.document).where(
            InsightsRow.conversation_id.in_(new), InsightsRow.topic_number.is_not(None)
        )
        found = [
            {"id": one, "number": new[one][0], "name": new[one][1], "new": with_topic(document, new[one][1])}
            for one, document in connection.execute(known)
        ]
        connection.execute(
            update(InsightsRow.__table__)
            .where(InsightsRow.conversation_id == bindparam("id"))
            .values(topic_number=bindparam("number"), topic=bindparam("name"), document=bindparam("new")),
            found,
        )
        connection.execute(
            update(ConversationRow).where(ConversationRow.id.in_(new)).values(updated_at=stamp)
        )


def with_topic(document: str, name: str | None) -> str:
    """Return an insights document with this topic."""
    return orjson.dumps(orjson.loads(document) | {"topics": [] if name is None else [name]}).decode()


def versions(connection: Connection, prompt_ids: Collection[str], *, hold: bool = False) -> dict[str, int]:
    """Return the versions of the topics of prompts; held ones stay the same until the transaction ends."""
    if not prompt_ids:
        return {}
    query = select(AtlasRow.prompt_id, AtlasRow.version).where(AtlasRow.prompt_id.in_(prompt_ids))
    if hold:
        query = query.order_by(AtlasRow.seq).with_for_update(read=True)
    return dict(connection.execute(query).all())
