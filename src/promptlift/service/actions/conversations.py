"""Reading conversations and their insights, and asking for insights again."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import orjson
from pydantic.alias_generators import to_camel

from promptlift.schema import endpoints, limits
from promptlift.schema.conversations import DeletedConversation, KnownConversation, LookupAnswer
from promptlift.schema.insights import RegenerateAnswer
from promptlift.schema.model import Page
from promptlift.service import clock
from promptlift.service.call import Call, answers, writes
from promptlift.service.errors import ApiException, invalid, not_found
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.store import accounts, changes, conversation_updates, conversations, judging, topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.conversations import ConversationLookup
    from promptlift.schema.queries import ConversationQuery, ConversationsQuery, DeletedConversationsQuery
    from promptlift.service.insights.exclusions import Exclusions
    from promptlift.service.insights.worker import InsightJobs
    from promptlift.service.store.conversations import StoredConversation


_AS_STORED: Final = (
    *("id", "prompt_id", "status", "llm_model", "company_name", "source_id", "has_insights", "title"),
    *("message_count", "input_tokens", "output_tokens", "cost", "tool_calls", "tool_errors"),
)
_STORED_NAMES: Final = tuple(map(to_camel, _AS_STORED))
_stored_values: Final = attrgetter(*_AS_STORED)


@dataclass(frozen=True, slots=True)
class Reading:
    """How insights are read now: without what is excluded by now, and with the present names of topics."""

    exclusions: Exclusions
    names: dict[str, dict[int, str]]

    @classmethod
    def of(cls, connection: Connection, account_id: str, rows: Sequence[StoredConversation]) -> Reading:
        """Return how the insights of some conversations are read."""
        general = accounts.settings(connection, account_id)["general"]
        return cls(read_exclusions(general["excludedDataAndTopics"]), topics.names(connection, rows))

    def insights(self, row: StoredConversation) -> orjson.Fragment | None:
        """Return the insights of a conversation, ``None`` if it has none."""
        document = row.document
        if document is None:
            return None
        if row.topic_number is not None:
            name = self.names[row.prompt_id].get(row.topic_number, "")
            document = f'{document[:-1]},"topics":[{name}]}}'
        return orjson.Fragment(self.exclusions.applied_to_document(document))


def exclusions_of(connection: Connection, account_id: str) -> Exclusions:
    """Return the exclusions that apply now: insights may be older than the setting."""
    return read_exclusions(accounts.general(connection, account_id)["excludedDataAndTopics"])


@writes(endpoints.CONVERSATIONS_LIST)
def page(call: Call[None, ConversationsQuery]) -> dict[str, object]:
    """Return one page of conversations, newest first."""
    query = call.query
    with_insights, with_content = query.include_insights, query.include_content
    if with_content and query.limit > limits.LIST_LIMIT_MAX:
        raise invalid(
            {"limit": f"must be a whole number from 1 to {limits.LIST_LIMIT_MAX} with includeContent"}
        )
    since = None if query.updated_since is None else clock.from_datetime(query.updated_since)
    horizon = None if since is None else changes.horizon(call.context.database)
    as_of, max_limit = {}, {}
    if not with_content and query.limit >= limits.LIST_LIMIT_MAX:
        max_limit["maxLimit"] = limits.CONVERSATIONS_LIMIT_MAX
    with call.read() as rows:
        if since is not None:
            # unspecified: how to ask for new conversations. With a time of the service's clock, included in
            # answers on request.
            as_of["asOf"] = clock.iso(changes.as_of(rows.core, call.account_id, horizon))
            if with_insights and changes.all_insights_since(rows.core, call.account_id, since):
                since = None
        some, total = conversations.page(rows.core, call.account_id, query, since=since)
        reading = Reading.of(rows.core, call.account_id, some) if with_insights else None
    return {
        "data": [wire(row, call.context.jobs, reading=reading, with_content=with_content) for row in some],
        "pagination": {"total": total, "limit": query.limit, "offset": query.offset, **max_limit},
        **as_of,
    }


@answers(endpoints.CONVERSATIONS_DELETED)
def deleted(call: Call[None, DeletedConversationsQuery]) -> Page[DeletedConversation]:
    """Return one page of deleted conversations, the most recently deleted first."""
    query = call.query
    since = None if query.deleted_since is None else clock.from_datetime(query.deleted_since)
    horizon = None if since is None else changes.horizon(call.context.database)
    with call.read() as rows:
        as_of = None if since is None else changes.as_of(rows.core, call.account_id, horizon)
        some, total = rows.page(
            changes.deleted(call.account_id, prompt_id=query.linked_id, since=since), query
        )
    gone = [row.shown(DeletedConversation, deleted_at=clock.to_datetime(row.deleted_at)) for row in some]
    page = Page[DeletedConversation](data=gone, pagination=query.of(total))
    if as_of is not None:
        page.as_of = clock.to_datetime(as_of)
    return page


@writes(endpoints.CONVERSATIONS_GET)
def get(call: Call[None, ConversationQuery]) -> dict[str, object]:
    """Return a conversation with its content."""
    account_id = call.account_id
    with call.context.database.read() as connection:
        row = conversations.find(connection, account_id, call.id)
        if row is None:
            raise not_found("Conversation")
        reading = Reading.of(connection, account_id, [row]) if call.query.include_insights else None
    item = wire(row, call.context.jobs, reading=reading, with_content=True)
    return {**item, "idempotencyKey": row.idempotency_key}


@writes(endpoints.CONVERSATIONS_INSIGHTS)
def insights(call: Call) -> orjson.Fragment:
    """Return the insights of a conversation."""
    account_id = call.account_id
    with call.context.database.read() as connection:
        row = conversations.find(connection, account_id, call.id)
        if row is None:
            raise not_found("Conversation")
        found = Reading.of(connection, account_id, [row]).insights(row)
    if found is None:
        why = f"judging failed ({row.judge_problem})" if row.judging == "failed" else "they are not ready yet"
        raise ApiException("NOT_FOUND", f"Insights not found: {why}")
    return found


@answers(endpoints.CONVERSATIONS_LOOKUP)
def lookup(call: Call[ConversationLookup]) -> LookupAnswer:
    """Return which conversations of a prompt have one of the ids."""
    ids, source_ids = call.body.ids or (), call.body.source_ids or ()
    with call.read() as rows:
        call.prompt(rows)
        known = conversation_updates.lookup(
            rows.core, call.account_id, call.id, ids=ids, source_ids=source_ids
        )
    return LookupAnswer(data=[KnownConversation(**one._asdict()) for one in known])


@answers(endpoints.CONVERSATIONS_REGENERATE_INSIGHTS)
def regenerate(call: Call) -> RegenerateAnswer:
    """Queue a conversation to be judged again in the background."""
    with call.write() as rows:
        if conversations.find(rows.core, call.account_id, call.id) is None:
            raise not_found("Conversation")
        count = judging.ask_again(rows.core, call.account_id, conversation_id=call.id, now=clock.now())
    return RegenerateAnswer(success=True, message="The conversation will be judged again", queued=count)


@answers(endpoints.PROMPTS_REGENERATE_INSIGHTS)
def regenerate_all(call: Call) -> RegenerateAnswer:
    """Queue all conversations of a prompt to be judged again in the background."""
    with call.write() as rows:
        call.prompt(rows)
        count = judging.ask_again(rows.core, call.account_id, prompt_id=call.id, now=clock.now())
    return RegenerateAnswer(success=True, message=f"{count} conversations will be judged again", queued=count)


def wire(
    row: StoredConversation,
    jobs: InsightJobs,
    *,
    reading: Reading | None = None,
    with_content: bool,
) -> dict[str, object]:
    """Return a conversation in its API form, as a dictionary: building models would be too slow for lists.

    Parameters
    ----------
    jobs
        Which say why no conversation is judged now.
    reading
        How its insights are read; ``None`` leaves them out.
    """
    latency = row.latency_ms
    if latency is None and row.response_seconds is not None:  # from the times of the messages
        latency = round(row.response_seconds * 1000, 3)
    insights_error = None
    if row.judging == "failed":
        insights_error = row.judge_problem
    elif row.judging != "done" and (why := row.judge_problem or jobs.waits_because):
        insights_error = f"Not yet: {why}"
    item: dict[str, object] = {
        # unspecified: which link an answer contains when the request names no scheme. Both.
        "agentId": row.prompt_id,
        **dict(zip(_STORED_NAMES, _stored_values(row), strict=True)),
        "insightsError": insights_error,
        "latencyMs": latency,
        "metadata": None if row.metadata is None else orjson.Fragment(row.metadata),
        "createdAt": clock.iso(row.created_at),
        "startedAt": clock.iso(row.started_at),
        "endedAt": clock.iso(row.ended_at),
    }
    if with_content:
        # unspecified: the content of a conversation whose transcript was deleted because of its age.
        item["content"] = None if row.content is None else row.content.decode()
    if reading is not None:
        item["insights"] = reading.insights(row)
    return item
