"""The kept topics of prompts, and the conversations in which they are found."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
from sqlalchemy import Text, and_, bindparam, exists, or_, select, true, type_coerce, update

from promptlift.schema.topics import PromptTopics
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
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.conversations import StoredConversation
    from promptlift.service.store.rows import Rows
    from promptlift.service.store.tables.prompts import Waiting

_MANY: Final = 4_000
# Prompts whose names of topics are kept in memory.
_KEPT: Final = 256


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


def names(connection: Connection, rows: Iterable[StoredConversation]) -> dict[str, dict[int, str]]:
    """Return the names of the topics of conversations by prompt and number as JSON; excluded ones have none."""
    found: dict[str, dict[int, str]] = {}
    for row in rows:
        if row.topic_number is not None and row.prompt_id not in found:
            found[row.prompt_id] = _names(connection.scalar(_FOUND, {"prompt": row.prompt_id}))
    return found


_FOUND = select(type_coerce(AtlasRow.found, Text)).where(AtlasRow.prompt_id == bindparam("prompt"))


@lru_cache(_KEPT)
def _names(found: str | None) -> dict[int, str]:
    names = {} if found is None else PromptTopics.model_validate_json(found).names()
    return {number: orjson.dumps(name).decode() for number, name in names.items()}


def change(rows: Rows, row: AtlasRow, found: PromptTopics, **values: Any) -> None:
    """Store changed topics; the conversations of those with another name have other insights from now on."""
    before, after = row.found.names(), found.names()
    known = {one.id for one in row.found.topics} & {one.id for one in found.topics}
    if any(before.get(number) != after.get(number) for number in known):
        changes.note_all_insights(rows.core, row.account_id)
    row.change({"found": found, "version": row.version + 1, **values})
    rows.flush()


def save(rows: Rows, prompt: DuePrompt, found: PromptTopics, *, version: int, **values: Any) -> bool:
    """Store topics that were found anew; return false if they were changed since they were read in a version, 0 for none."""
    rows.core.execute(select(PromptRow.id).filter_by(id=prompt.prompt_id).with_for_update())
    row = of_prompt(rows, prompt.prompt_id, lock=True)
    if version != (0 if row is None else row.version):
        return False
    if row is None:
        new = {"id": new_id("atl"), "account_id": prompt.account_id, "prompt_id": prompt.prompt_id}
        rows.insert(AtlasRow(**new, **values, found=found, version=1))
    else:
        change(rows, row, found, **values)
    return True


# Conversations whose topic was changed wait for it (`Waiting`); the newest get it first.


class Placed(NamedTuple):
    """A judged conversation with the number of its topic, and its transcript."""

    seq: int
    id: str
    number: int
    content: bytes


def waiting_prompts(connection: Connection) -> list[str]:
    """Return the prompts of which conversations wait for their topic."""
    return [*connection.scalars(select(AtlasRow.prompt_id).where(AtlasRow.waiting.is_not(None)))]


def next_waiting(connection: Connection, row: AtlasRow, waiting: Waiting, *, limit: int) -> list[Placed]:
    """Return the newest conversations that wait; without its transcript a conversation keeps its topic."""
    query = (
        select(ConversationRow.seq, ConversationRow.id, InsightsRow.topic_number, ContentRow.content)
        .join(InsightsRow, InsightsRow.conversation_id == ConversationRow.id)
        .join(ContentRow, ContentRow.conversation_id == ConversationRow.id)
        .where(
            *equal(ConversationRow, account_id=row.account_id, prompt_id=row.prompt_id),
            InsightsRow.topic_number.in_(waiting["numbers"]),
            true() if waiting["below"] is None else ConversationRow.seq < waiting["below"],
        )
    )
    return [
        Placed._make(one)
        for one in connection.execute(query.order_by(ConversationRow.seq.desc()).limit(limit))
    ]


def write(connection: Connection, row: AtlasRow, new: Mapping[str, int], *, waiting: Waiting | None) -> None:
    """Store the number of the topic of some conversations, and which ones wait from now on.

    Nothing is stored if the topics were changed meanwhile, which may have changed these as well.
    """
    unchanged = update(AtlasRow).filter_by(prompt_id=row.prompt_id, version=row.version)
    if not connection.execute(unchanged.values(waiting=waiting)).rowcount or not new:
        return
    stamp = changes.stamp(connection, [row.account_id])
    with conversation_counts.following(connection, new):
        connection.execute(
            update(InsightsRow.__table__)
            .where(InsightsRow.conversation_id == bindparam("id"), InsightsRow.topic_number.is_not(None))
            .values(topic_number=bindparam("number")),
            [{"id": one, "number": number} for one, number in new.items()],
        )
        connection.execute(
            update(ConversationRow).where(ConversationRow.id.in_(new)).values(updated_at=stamp)
        )


def versions(connection: Connection, prompt_ids: Collection[str], *, hold: bool = False) -> dict[str, int]:
    """Return the versions of the topics of prompts; held ones stay the same until the transaction ends."""
    if not prompt_ids:
        return {}
    query = select(AtlasRow.prompt_id, AtlasRow.version).where(AtlasRow.prompt_id.in_(prompt_ids))
    if hold:
        query = query.order_by(AtlasRow.seq).with_for_update(read=True)
    return dict(connection.execute(query).all())
