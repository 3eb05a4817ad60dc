"""Conversations and their insights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from starlette.concurrency import run_in_threadpool

from promptlift.schema import limits
from promptlift.schema.conversations import (
    CONVERSATION_STATUSES,
    Conversation,
    ConversationCreate,
    ConversationLookup,
    ConversationUpdate,
    LookupAnswer,
)
from promptlift.schema.insights import Insights, RegenerateAnswer
from promptlift.schema.naming import LINKS, SCHEMES
from promptlift.schema.pages import Page
from promptlift.service import clock
from promptlift.service.actions import conversation_content, insights
from promptlift.service.actions.conversation_log import Entry
from promptlift.service.actions.conversation_updates import Update
from promptlift.service.errors import ApiException, invalid, not_found
from promptlift.service.routes import endpoint
from promptlift.service.routes.http import Query, answer, caller_of, path_id, read_body
from promptlift.service.store import conversation_updates, conversations, prompts

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.context import AppContext
    from promptlift.service.store.tables import AnyRow

# A transcript of this size is checked on a thread.
_LARGE = 32 * limits.KB


_FLAG = {"type": "boolean"}
_LISTING = (
    endpoint.parameter("promptId", {"type": "string"}, "Only of this prompt (agentId in the agent scheme)"),
    endpoint.parameter("agentId", {"type": "string"}, "The same in the agent scheme"),
    endpoint.parameter("status", {"type": "string", "enum": list(CONVERSATION_STATUSES)}, "Only this status"),
    endpoint.parameter("hasInsights", _FLAG, "Only with or without insights"),
    endpoint.parameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": limits.LIST_LIMIT_MAX},
        "Items of a page",
    ),
    endpoint.parameter("offset", {"type": "integer", "minimum": 0}, "Items before the page"),
    endpoint.parameter("includeInsights", _FLAG, "Beyond the specification: items carry insights"),
    endpoint.parameter("includeContent", _FLAG, "Beyond the specification: items carry content"),
)
_WITH_INSIGHTS = (
    endpoint.parameter("includeInsights", _FLAG, "Whether insights are in the answer; default true"),
)


def add_to(endpoints: endpoint.Endpoints, context: AppContext) -> None:
    """Add the endpoints."""
    _Conversations(context).add_to(endpoints)


class _Conversations:
    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._database = context.database

    def add_to(self, endpoints: endpoint.Endpoints) -> None:
        root, one = "/conversations", "/conversations/{id}"
        add = endpoint.add
        add(
            endpoints,
            "POST",
            root,
            self.create,
            answer=Conversation,
            status=201,
            also=(200,),
            body=ConversationCreate,
            errors=("NOT_FOUND", "LIMIT_EXCEEDED"),
            summary="Log a conversation",
            operation="create_conversation",
        )
        add(
            endpoints,
            "GET",
            root,
            self.list,
            answer=Page[Conversation],
            query=_LISTING,
            summary="List conversations",
            operation="list_conversations",
        )
        add(
            endpoints,
            "GET",
            one,
            self.get,
            answer=Conversation,
            query=_WITH_INSIGHTS,
            summary="Get a conversation",
            operation="get_conversation",
        )
        add(
            endpoints,
            "PATCH",
            one,
            self.update,
            answer=Conversation,
            body=ConversationUpdate,
            errors=("INVALID_STATE",),
            summary="Beyond the specification: replace the content or the status of a conversation",
            operation="update_conversation",
        )
        for scheme in SCHEMES.values():
            add(
                endpoints,
                "POST",
                f"/{scheme.segment}/{{id}}/conversations/lookup",
                self.lookup,
                answer=LookupAnswer,
                body=ConversationLookup,
                summary="Beyond the specification: which of these conversations are there",
                operation=f"lookup_conversations_of_{scheme.name}",
            )
        add(
            endpoints,
            "GET",
            f"{one}/insights",
            self.insights,
            answer=Insights,
            summary="Insights of a conversation",
            operation="get_conversation_insights",
        )
        add(
            endpoints,
            "POST",
            f"{one}/insights/regenerate",
            self.regenerate,
            answer=RegenerateAnswer,
            summary="Judge a conversation again",
            operation="regenerate_conversation_insights",
        )

    async def create(self, request: Request) -> Response:
        body = await read_body(request, ConversationCreate, either=LINKS)
        prompt_id, scheme = _link(body)
        shape = await _shape(body.content)
        logged = await self._context.log.log(
            Entry(
                caller=caller_of(request),
                scheme=SCHEMES["agent" if scheme == "agentId" else "prompt"],
                prompt_id=prompt_id,
                content=body.content,
                shape=shape,
                # unspecified: the status of a conversation that is logged without one. Logs are of what is over.
                status=body.status or "completed",
                llm_model=body.llm_model,
                company_name=body.company_name,
                idempotency_key=body.idempotency_key,
                source_id=body.source_id,
            )
        )
        # unspecified: the status code for a conversation that an idempotency key stood for. 200: nothing was created.
        return answer(
            {
                "id": logged.id,
                scheme: logged.prompt_id,
                "status": logged.status,
                "createdAt": clock.wire(logged.created_at),
            },
            201 if logged.created else 200,
        )

    async def update(self, request: Request) -> Response:
        body = await read_body(request, ConversationUpdate)
        updated = await self._context.log.update(
            Update(
                caller=caller_of(request),
                conversation_id=path_id(request),
                content=body.content,
                shape=None if body.content is None else await _shape(body.content),
                status=body.status,
                source_id=body.source_id,
                if_content_hash=body.if_content_hash,
            )
        )
        waits = self._context.jobs.waits_because
        return answer(_item(updated.row, waits, with_insights=False, with_content=False))

    async def lookup(self, request: Request) -> Response:
        body = await read_body(request, ConversationLookup)
        account_id, prompt_id = caller_of(request).account_id, path_id(request)
        scheme = next(one for one in SCHEMES.values() if f"/{one.segment}/" in request.url.path)

        def read() -> list[AnyRow]:
            with self._database.read() as connection:
                if prompts.find(connection, account_id, prompt_id) is None:
                    raise not_found(scheme.noun)
                return [
                    *conversation_updates.lookup(
                        connection,
                        account_id,
                        prompt_id,
                        ids=body.ids or (),
                        source_ids=body.source_ids or (),
                    )
                ]

        rows = await run_in_threadpool(read)
        return answer({"data": [_known(row) for row in rows]})

    async def list(self, request: Request) -> Response:
        query = Query(request)
        limit, offset = query.page(limits.CONVERSATIONS_LIMIT_DEFAULT)
        prompt_id = query.text("promptId") or query.text("agentId")
        status = query.choice("status", CONVERSATION_STATUSES)
        has_insights = query.flag("hasInsights")
        with_insights = query.flag("includeInsights", default=False) or False
        with_content = query.flag("includeContent", default=False) or False
        query.check()
        account_id = caller_of(request).account_id

        def read() -> dict[str, Any]:
            with self._database.read() as connection:
                rows, total = conversations.page(
                    connection,
                    account_id,
                    prompt_id=prompt_id,
                    status=status,
                    has_insights=has_insights,
                    with_insights=with_insights,
                    with_content=with_content,
                    limit=limit,
                    offset=offset,
                )
            waits = self._context.jobs.waits_because
            return {
                "data": [
                    _item(row, waits, with_insights=with_insights, with_content=with_content) for row in rows
                ],
                "pagination": {"total": total, "limit": limit, "offset": offset},
            }

        return answer(await run_in_threadpool(read))

    async def get(self, request: Request) -> Response:
        query = Query(request)
        with_insights = query.flag("includeInsights", default=True)
        query.check()
        row = await self._row(request)
        return answer(
            {
                **_item(
                    row,
                    self._context.jobs.waits_because,
                    with_insights=bool(with_insights),
                    with_content=True,
                ),
                "idempotencyKey": row.idempotency_key,
            }
        )

    async def insights(self, request: Request) -> Response:
        row = await self._row(request)
        if row.document is None:
            raise _not_judged(row)
        return answer(orjson.Fragment(row.document))

    async def regenerate(self, request: Request) -> Response:
        row = await self._row(request)
        count = await run_in_threadpool(
            lambda: insights.ask_again(self._context, row.account_id, conversation_id=row.id)
        )
        return answer({"success": True, "message": "The conversation will be judged again", "queued": count})

    async def _row(self, request: Request) -> AnyRow:
        account_id, conversation_id = caller_of(request).account_id, path_id(request)

        def read() -> AnyRow | None:
            with self._database.read() as connection:
                return conversations.find(connection, account_id, conversation_id)

        row = await run_in_threadpool(read)
        if row is None:
            raise not_found("Conversation")
        return row


async def _shape(text: str) -> conversation_content.Shape:
    """Check a content; a large one on a thread, so that it holds up nobody else."""
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
    """Why insights are not there, or not yet; ``None`` when there is nothing to say."""
    if row.judging == "failed":
        return str(row.judge_problem)
    why = row.judge_problem or waits_because
    return f"Not yet: {why}" if row.judging != "done" and why else None


def _not_judged(row: AnyRow) -> ApiException:
    if row.judging == "failed":
        return ApiException("NOT_FOUND", f"Insights not found: judging failed ({row.judge_problem})")
    return ApiException("NOT_FOUND", "Insights not found: they are not ready yet")
