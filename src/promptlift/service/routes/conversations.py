"""Conversations and their insights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints, limits
from promptlift.schema.naming import SCHEMES
from promptlift.service import clock
from promptlift.service.actions import conversation_content, insights
from promptlift.service.actions.conversation_log import Entry
from promptlift.service.actions.conversation_updates import Update
from promptlift.service.errors import ApiException, invalid, not_found
from promptlift.service.routes.serve import Reply
from promptlift.service.store import conversation_updates, conversations, prompts

if TYPE_CHECKING:
    from promptlift.schema.conversations import ConversationCreate, ConversationLookup, ConversationUpdate
    from promptlift.schema.queries import ConversationQuery, ConversationsQuery
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions, ApiRequest
    from promptlift.service.store.tables import AnyRow

# A transcript longer than this is checked on a thread.
_LARGE = 32 * limits.KB


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Conversations(context)
    return {
        endpoints.CONVERSATIONS_CREATE: room.create,
        endpoints.CONVERSATIONS_LIST: room.list,
        endpoints.CONVERSATIONS_GET: room.get,
        endpoints.CONVERSATIONS_UPDATE: room.update,
        endpoints.CONVERSATIONS_LOOKUP: room.lookup,
        endpoints.CONVERSATIONS_INSIGHTS: room.insights,
        endpoints.CONVERSATIONS_REGENERATE_INSIGHTS: room.regenerate,
    }


class _Conversations:
    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._database = context.database

    async def create(self, request: ApiRequest[ConversationCreate, None]) -> Reply:
        body = request.body
        prompt_id, link = _link(body)
        shape = await _shape(body.content)
        logged = await self._context.log.log(
            Entry(
                caller=request.caller,
                scheme=SCHEMES["agent" if link == "agentId" else "prompt"],
                prompt_id=prompt_id,
                content=body.content,
                shape=shape,
                # unspecified: the status of a conversation that is logged without one. Logged conversations have usually ended.
                status=body.status or "completed",
                llm_model=body.llm_model,
                company_name=body.company_name,
                idempotency_key=body.idempotency_key,
                source_id=body.source_id,
            )
        )
        content = {
            "id": logged.id,
            link: logged.prompt_id,
            "status": logged.status,
            "createdAt": clock.wire(logged.created_at),
        }
        # unspecified: the status code for a conversation that an idempotency key stood for. 200: nothing was created.
        return Reply(content, 201 if logged.created else 200)

    async def update(self, request: ApiRequest[ConversationUpdate, None]) -> dict[str, Any]:
        body = request.body
        updated = await self._context.log.update(
            Update(
                caller=request.caller,
                conversation_id=request.id,
                content=body.content,
                shape=None if body.content is None else await _shape(body.content),
                status=body.status,
                source_id=body.source_id,
                if_content_hash=body.if_content_hash,
            )
        )
        waits = self._context.jobs.waits_because
        return _item(updated.row, waits, with_insights=False, with_content=False)

    def lookup(self, request: ApiRequest[ConversationLookup, None]) -> dict[str, Any]:
        account_id = request.caller.account_id
        with self._database.read() as connection:
            if prompts.find(connection, account_id, request.id) is None:
                raise not_found(request.scheme.noun)
            rows = conversation_updates.lookup(
                connection,
                account_id,
                request.id,
                ids=request.body.ids or (),
                source_ids=request.body.source_ids or (),
            )
            return {"data": [_known(row) for row in rows]}

    def list(self, request: ApiRequest[None, ConversationsQuery]) -> dict[str, Any]:
        query = request.query
        with_insights, with_content = query.include_insights, query.include_content
        with self._database.read() as connection:
            rows, total = conversations.page(
                connection,
                request.caller.account_id,
                prompt_id=query.linked_id,
                status=query.status,
                has_insights=query.has_insights,
                with_insights=with_insights,
                with_content=with_content,
                limit=query.limit,
                offset=query.offset,
            )
        waits = self._context.jobs.waits_because
        return {
            "data": [
                _item(row, waits, with_insights=with_insights, with_content=with_content) for row in rows
            ],
            "pagination": {"total": total, "limit": query.limit, "offset": query.offset},
        }

    def get(self, request: ApiRequest[None, ConversationQuery]) -> dict[str, Any]:
        row = self._row(request)
        waits, with_insights = self._context.jobs.waits_because, request.query.include_insights
        item = _item(row, waits, with_insights=with_insights, with_content=True)
        return {**item, "idempotencyKey": row.idempotency_key}

    def insights(self, request: ApiRequest[None, None]) -> orjson.Fragment:
        row = self._row(request)
        if row.document is None:
            raise _not_judged(row)
        return orjson.Fragment(row.document)

    def regenerate(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        row = self._row(request)
        count = insights.ask_again(self._context, row.account_id, conversation_id=row.id)
        return {"success": True, "message": "The conversation will be judged again", "queued": count}

    def _row(self, request: ApiRequest[Any, Any]) -> AnyRow:
        with self._database.read() as connection:
            row = conversations.find(connection, request.caller.account_id, request.id)
        if row is None:
            raise not_found("Conversation")
        return row


async def _shape(text: str) -> conversation_content.Shape:
    """Check a transcript; a large one on a thread, so that the event loop stays free."""
    if len(text) > _LARGE:
        return await run_in_threadpool(conversation_content.accept, text)
    return conversation_content.accept(text)


def _known(row: AnyRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "sourceId": row.source_id,
        "status": row.status,
        "contentHash": row.content_hash,
    }


def _link(body: ConversationCreate) -> tuple[str, str]:
    given = {"promptId": body.prompt_id, "agentId": body.agent_id}
    links = {name: value for name, value in given.items() if value is not None}
    if not links:
        raise invalid({"promptId": "Required field"}, "Required field: promptId (or agentId)")
    if len(set(links.values())) > 1:
        raise invalid({"agentId": "must be the same as promptId, or absent"})
    scheme, prompt_id = next(iter(links.items()))
    return prompt_id, scheme


def _item(
    row: AnyRow, waits_because: str | None, *, with_insights: bool, with_content: bool
) -> dict[str, Any]:
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
        "createdAt": clock.wire(row.created_at),
        "startedAt": clock.wire(row.started_at),
        "endedAt": clock.wire(row.ended_at),
    }
    if with_content:
        item["content"] = row.content.decode()
    if with_insights:
        item["insights"] = None if row.document is None else orjson.Fragment(row.document)
    return item


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
