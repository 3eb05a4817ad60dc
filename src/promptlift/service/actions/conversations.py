"""Reading conversations and their insights, and asking for insights again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import orjson

from promptlift.schema import endpoints
from promptlift.schema.insights import RegenerateAnswer
from promptlift.service import clock
from promptlift.service.call import Call, answers
from promptlift.service.errors import ApiException, not_found
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.store import accounts, changes, conversation_updates, conversations, judging, prompts
from promptlift.service.store.rows import Rows

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.conversations import ConversationLookup
    from promptlift.schema.naming import Scheme
    from promptlift.schema.queries import ConversationsQuery, DeletedConversationsQuery
    from promptlift.service.context import AppContext
    from promptlift.service.insights.exclusions import Exclusions
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow


def page(
    database: Database, caller: Caller, query: ConversationsQuery, *, waits_because: str | None
) -> dict[str, Any]:
    """Return one page of conversations, newest first.

    Parameters
    ----------
    waits_because
        Why no conversation is judged now, where something keeps the model from it.
    """
    with_insights, with_content = query.include_insights, query.include_content
    since = None if query.updated_since is None else clock.from_datetime(query.updated_since)
    horizon = None if since is None else changes.horizon(database)
    with database.read() as connection:
        as_of = {} if since is None else _as_of(connection, caller, horizon)
        if since is not None and with_insights:
            since = None if changes.all_insights_since(connection, caller.account_id, since) else since
        rows, total = conversations.page(
            connection,
            caller.account_id,
            prompt_id=query.linked_id,
            status=query.status,
            has_insights=query.has_insights,
            updated_since=since,
            with_insights=with_insights,
            with_content=with_content,
            limit=query.limit,
            offset=query.offset,
        )
        exclusions = _exclusions(connection, caller) if with_insights else None
    return {
        "data": [wire(row, waits_because, exclusions=exclusions, with_content=with_content) for row in rows],
        "pagination": {"total": total, "limit": query.limit, "offset": query.offset},
        **as_of,
    }


def deleted(database: Database, caller: Caller, query: DeletedConversationsQuery) -> dict[str, Any]:
    """Return one page of the conversations that are no longer there, the last deleted first."""
    since = query.deleted_since
    horizon = None if since is None else changes.horizon(database)
    with database.read() as connection:
        as_of = {} if since is None else _as_of(connection, caller, horizon)
        rows, total = changes.deleted(
            connection,
            caller.account_id,
            prompt_id=query.linked_id,
            since=None if since is None else clock.from_datetime(since),
            limit=query.limit,
            offset=query.offset,
        )
    return {
        "data": [
            {
                "id": row.id,
                "promptId": row.prompt_id,
                "agentId": row.prompt_id,
                "deletedAt": clock.iso(row.deleted_at),
            }
            for row in rows
        ],
        "pagination": {"total": total, "limit": query.limit, "offset": query.offset},
        **as_of,
    }


def _as_of(connection: Connection, caller: Caller, horizon: int | None) -> dict[str, str]:
    """Return what a client asks with next, so that it misses no change."""
    # unspecified: how to ask for what is new. A time of ours, in answers to a client that asks for it.
    return {"asOf": clock.iso(changes.as_of(connection, caller.account_id, horizon))}


def _exclusions(connection: Connection, caller: Caller) -> Exclusions:
    """Return what must not appear now: insights may be older than the setting."""
    general = accounts.settings(connection, caller.account_id)["general"]
    return read_exclusions(general["excludedDataAndTopics"])


def _find(connection: Connection, caller: Caller, conversation_id: str) -> AnyRow:
    row = conversations.find(connection, caller.account_id, conversation_id)
    if row is None:
        raise not_found("Conversation")
    return row


def get(
    database: Database,
    caller: Caller,
    conversation_id: str,
    *,
    waits_because: str | None,
    with_insights: bool,
) -> dict[str, Any]:
    """Return a conversation with its content.

    Parameters
    ----------
    waits_because
        Why no conversation is judged now, where something keeps the model from it.

    Raises
    ------
    ApiException
        ``NOT_FOUND``.
    """
    with database.read() as connection:
        row = _find(connection, caller, conversation_id)
        exclusions = _exclusions(connection, caller) if with_insights else None
    item = wire(row, waits_because, exclusions=exclusions, with_content=True)
    return {**item, "idempotencyKey": row.idempotency_key}


def insights(database: Database, caller: Caller, conversation_id: str) -> orjson.Fragment:
    """Return the insights of a conversation.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, also while there are none.
    """
    with database.read() as connection:
        row = _find(connection, caller, conversation_id)
        exclusions = _exclusions(connection, caller)
    if row.document is None:
        raise _not_judged(row)
    return orjson.Fragment(exclusions.applied_to_document(row.document))


def lookup(
    database: Database, caller: Caller, scheme: Scheme, prompt_id: str, body: ConversationLookup
) -> dict[str, Any]:
    """Return which conversations of a prompt have one of the ids.

    Raises
    ------
    ApiException
        ``NOT_FOUND`` for the prompt.
    """
    with database.read() as connection:
        prompts.found(Rows(connection), caller.account_id, prompt_id, scheme.noun)
        rows = conversation_updates.lookup(
            connection,
            caller.account_id,
            prompt_id,
            ids=body.ids or (),
            source_ids=body.source_ids or (),
        )
    return {
        "data": [
            {
                "id": row.id,
                "sourceId": row.source_id,
                "status": row.status,
                "contentHash": row.content_hash,
            }
            for row in rows
        ]
    }


def ask_again(
    context: AppContext, account_id: str, *, prompt_id: str | None = None, conversation_id: str | None = None
) -> int:
    """Queue conversations to be judged again in the background, and return how many."""
    with context.database.write() as connection:
        return judging.ask_again(
            connection, account_id, prompt_id=prompt_id, conversation_id=conversation_id, now=clock.now()
        )


@answers(endpoints.CONVERSATIONS_REGENERATE_INSIGHTS)
def regenerate(call: Call) -> RegenerateAnswer:
    """Queue a conversation to be judged again in the background."""
    with call.read() as rows:
        _find(rows.core, call.caller, call.id)
    count = ask_again(call.context, call.account_id, conversation_id=call.id)
    return RegenerateAnswer(success=True, message="The conversation will be judged again", queued=count)


@answers(endpoints.PROMPTS_REGENERATE_INSIGHTS)
def regenerate_all(call: Call) -> RegenerateAnswer:
    """Queue all conversations of a prompt to be judged again in the background."""
    with call.read() as rows:
        prompts.found(rows, call.account_id, call.id, call.scheme.noun)
    count = ask_again(call.context, call.account_id, prompt_id=call.id)
    return RegenerateAnswer(success=True, message=f"{count} conversations will be judged again", queued=count)


def wire(
    row: AnyRow, waits_because: str | None, *, exclusions: Exclusions | None = None, with_content: bool
) -> dict[str, Any]:
    """Return a conversation as the API writes it.

    Parameters
    ----------
    exclusions
        What must not appear in its insights; ``None`` leaves the insights out.
    """
    item: dict[str, Any] = {
        "id": row.id,
        # unspecified: which link an answer carries when the request names no scheme. Both.
        "promptId": row.prompt_id,
        "agentId": row.prompt_id,
        "status": row.status,
        "llmModel": row.llm_model,
        "companyName": row.company_name,
        "sourceId": row.source_id,
        "hasInsights": row.has_insights,
        "insightsError": _insights_error(row, waits_because),
        "title": row.title,
        "messageCount": row.message_count,
        "inputTokens": row.input_tokens,
        "outputTokens": row.output_tokens,
        "cost": row.cost,
        "latencyMs": _latency_ms(row),
        "toolCalls": row.tool_calls,
        "toolErrors": row.tool_errors,
        "metadata": None if row.metadata is None else orjson.Fragment(row.metadata),
        "createdAt": clock.iso(row.created_at),
        "startedAt": clock.iso(row.started_at),
        "endedAt": clock.iso(row.ended_at),
    }
    if with_content:
        # unspecified: the content of a conversation whose transcript was deleted because of its age.
        item["content"] = None if row.content is None else row.content.decode()
    if exclusions is not None:
        document = row.document
        item["insights"] = (
            None if document is None else orjson.Fragment(exclusions.applied_to_document(document))
        )
    return item


def _latency_ms(row: AnyRow) -> float | None:
    """Return the mean time until an answer: as it was logged, else from the times of the messages."""
    if row.latency_ms is None and row.response_seconds is not None:
        return round(float(row.response_seconds) * 1000, 3)
    return cast("float | None", row.latency_ms)


def _insights_error(row: AnyRow, waits_because: str | None) -> str | None:
    """Return why insights are missing or late; ``None`` when they are not."""
    if row.judging == "failed":
        return str(row.judge_problem)
    why = row.judge_problem or waits_because
    return f"Not yet: {why}" if row.judging != "done" and why else None


def _not_judged(row: AnyRow) -> ApiException:
    if row.judging == "failed":
        return ApiException("NOT_FOUND", f"Insights not found: judging failed ({row.judge_problem})")
    return ApiException("NOT_FOUND", "Insights not found: they are not ready yet")
