"""Conversations and their insights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints, limits
from promptlift.schema.conversations import ConversationCreate
from promptlift.schema.naming import LINKS, SCHEMES
from promptlift.service import clock
from promptlift.service.actions import conversations
from promptlift.service.actions.logging.content import Shape, accept
from promptlift.service.actions.logging.conversation_log import Entry
from promptlift.service.actions.logging.updates import Update
from promptlift.service.errors import ApiException, invalid
from promptlift.service.routes.http.messages import validated

if TYPE_CHECKING:
    from collections.abc import Sequence

    import orjson

    from promptlift.schema.conversations import ConversationLookup, ConversationsCreate, ConversationUpdate
    from promptlift.schema.naming import Scheme
    from promptlift.schema.queries import (
        ConversationQuery,
        ConversationsQuery,
        DeletedConversationsQuery,
    )
    from promptlift.service.actions.logging.conversation_log import Logged
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions
    from promptlift.service.store.accounts import Caller

# A transcript longer than this is checked on a thread.
_LARGE = 32 * limits.KB


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Conversations(context)
    return {
        endpoints.CONVERSATIONS_CREATE: room.create,
        endpoints.CONVERSATIONS_LOG_MANY: room.log_many,
        endpoints.CONVERSATIONS_LIST: room.list,
        endpoints.CONVERSATIONS_DELETED: room.deleted,
        endpoints.CONVERSATIONS_GET: room.get,
        endpoints.CONVERSATIONS_UPDATE: room.update,
        endpoints.CONVERSATIONS_LOOKUP: room.lookup,
        endpoints.CONVERSATIONS_INSIGHTS: room.insights,
    }


class _Conversations:
    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._database = context.database

    async def create(self, request: Call[ConversationCreate, None]) -> dict[str, Any]:
        body = request.body
        prompt_id, link = _link(body)
        shape = await _shape(body.content)
        logged = await self._context.log.log(
            Entry(
                caller=request.caller,
                scheme=_scheme_of(link),
                prompt_id=prompt_id,
                body=body,
                shape=shape,
            )
        )
        content = {
            "id": logged.id,
            link: logged.prompt_id,
            "status": logged.status,
            "createdAt": clock.iso(logged.created_at),
        }
        # unspecified: the status code for a conversation that an idempotency key stood for. 200: nothing was created.
        request.status = 201 if logged.created else 200
        return content

    async def log_many(self, request: Call[ConversationsCreate, None]) -> dict[str, Any]:
        checked = await run_in_threadpool(_check_many, request.caller, request.body.conversations)
        entries = [one for one in checked if isinstance(one, Entry)]
        logged = iter(await self._context.log.log_many(entries) if entries else [])
        outcomes = [next(logged) if isinstance(one, Entry) else one for one in checked]
        return {"data": [_row(index, outcome) for index, outcome in enumerate(outcomes)]}

    async def update(self, request: Call[ConversationUpdate, None]) -> dict[str, Any]:
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
                facts=body.facts(),
            )
        )
        waits = self._context.jobs.waits_because
        return conversations.wire(updated.row, waits, with_content=False)

    def lookup(self, request: Call[ConversationLookup, None]) -> dict[str, Any]:
        return conversations.lookup(self._database, request.caller, request.scheme, request.id, request.body)

    def list(self, request: Call[None, ConversationsQuery]) -> dict[str, Any]:
        waits = self._context.jobs.waits_because
        return conversations.page(self._database, request.caller, request.query, waits_because=waits)

    def deleted(self, request: Call[None, DeletedConversationsQuery]) -> dict[str, Any]:
        return conversations.deleted(self._database, request.caller, request.query)

    def get(self, request: Call[None, ConversationQuery]) -> dict[str, Any]:
        return conversations.get(
            self._database,
            request.caller,
            request.id,
            waits_because=self._context.jobs.waits_because,
            with_insights=request.query.include_insights,
        )

    def insights(self, request: Call[None, None]) -> orjson.Fragment:
        return conversations.insights(self._database, request.caller, request.id)


def _check_many(caller: Caller, conversations: Sequence[Any]) -> list[Entry | ApiException]:
    """Check each conversation as if it were logged alone; called on a thread."""
    return [_check(caller, one) for one in conversations]


def _check(caller: Caller, document: Any) -> Entry | ApiException:
    try:
        if isinstance(document, bytes):
            raise invalid({"body": "is not valid JSON"}, "The line is not valid JSON")
        missing = isinstance(document, dict) and not document.keys() & set(LINKS)
        body = validated(ConversationCreate, document, {"promptId": "Required field"} if missing else {})
        prompt_id, link = _link(body)
        shape = accept(body.content)
    except ApiException as refusal:
        return refusal
    return Entry(caller, _scheme_of(link), prompt_id, body, shape)


def _row(index: int, outcome: Logged | ApiException) -> dict[str, Any]:
    if isinstance(outcome, ApiException):
        return {"index": index, "created": False, **outcome.body()}
    return {
        "index": index,
        "id": outcome.id,
        "status": outcome.status,
        "created": outcome.created,
        "createdAt": clock.iso(outcome.created_at),
        "error": None,
    }


def _scheme_of(link: str) -> Scheme:
    return SCHEMES["agent" if link == "agentId" else "prompt"]


async def _shape(text: str) -> Shape:
    """Check a transcript; a large one on a thread, so that the event loop stays free."""
    if len(text) > _LARGE:
        return await run_in_threadpool(accept, text)
    return accept(text)


def _link(body: ConversationCreate) -> tuple[str, str]:
    given = {"promptId": body.prompt_id, "agentId": body.agent_id}
    links = {name: value for name, value in given.items() if value is not None}
    if not links:
        raise invalid({"promptId": "Required field"}, "Required field: promptId (or agentId)")
    if len(set(links.values())) > 1:
        raise invalid({"agentId": "must be the same as promptId, or absent"})
    scheme, prompt_id = next(iter(links.items()))
    return prompt_id, scheme
