"""Requests that log conversations or change logged ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints, limits
from promptlift.schema.conversations import ConversationCreate
from promptlift.schema.naming import LINKS
from promptlift.service import clock
from promptlift.service.actions.conversations import wire
from promptlift.service.actions.logging.entries import Entry, Shape, Update, accept
from promptlift.service.call import writes
from promptlift.service.errors import ApiException, invalid, prompt_link
from promptlift.service.routes.messages import validated

if TYPE_CHECKING:
    from promptlift.schema.conversations import ConversationsCreate, ConversationUpdate
    from promptlift.service.actions.logging.entries import Logged
    from promptlift.service.call import Call
    from promptlift.service.store.accounts import Caller

# Longer transcripts are checked on a thread.
_LARGE = 32 * limits.KB


@writes(endpoints.CONVERSATIONS_CREATE)
async def create(call: Call[ConversationCreate]) -> dict[str, object]:
    """Log a conversation."""
    body = call.body
    prompt_link(body.prompt_id, body.agent_id)
    entry = Entry(call.caller, body, await _shape(body.content))
    logged = await call.context.log.log(entry)
    # unspecified: the status code for an idempotency key that was used before. 200: nothing was created.
    call.status = 201 if logged.created else 200
    return {
        "id": logged.id,
        entry.scheme.link: logged.prompt_id,
        "status": logged.status,
        "createdAt": clock.iso(logged.created_at),
    }


@writes(endpoints.CONVERSATIONS_LOG_MANY)
async def log_many(call: Call[ConversationsCreate]) -> dict[str, object]:
    """Log conversations, and return the outcome of each."""
    checked = await run_in_threadpool(lambda: [_check(call.caller, one) for one in call.body.conversations])
    entries = [one for one in checked if isinstance(one, Entry)]
    logged = iter(await call.context.log.log_many(entries) if entries else [])
    outcomes = [next(logged) if isinstance(one, Entry) else one for one in checked]
    return {"data": [_row(index, outcome) for index, outcome in enumerate(outcomes)]}


@writes(endpoints.CONVERSATIONS_UPDATE)
async def update(call: Call[ConversationUpdate]) -> dict[str, object]:
    """Change a conversation and return it."""
    shape = None if call.body.content is None else await _shape(call.body.content)
    updated = await call.context.log.update(Update(call.caller, call.id, call.body, shape))
    return wire(updated, call.context.jobs, with_content=False)


def _check(caller: Caller, document: Any) -> Entry | ApiException:
    """Check a conversation as if it were logged alone; runs on a thread."""
    try:
        if isinstance(document, bytes):
            raise invalid({"body": "is not valid JSON"}, "The line is not valid JSON")
        missing = isinstance(document, dict) and not document.keys() & set(LINKS)
        body = validated(ConversationCreate, document, {"promptId": "Required field"} if missing else {})
        prompt_link(body.prompt_id, body.agent_id)
        return Entry(caller, body, accept(body.content), is_reconciled=True)
    except ApiException as refusal:
        return refusal


def _row(index: int, outcome: Logged | ApiException) -> dict[str, object]:
    if isinstance(outcome, ApiException):
        return {"index": index, "created": False, "updated": False, **outcome.body()}
    return {
        "index": index,
        "id": outcome.id,
        "status": outcome.status,
        "created": outcome.created,
        "updated": outcome.updated,
        "createdAt": clock.iso(outcome.created_at),
        "error": None,
    }


async def _shape(text: str) -> Shape:
    """Check a transcript; a large one on a thread, so that the event loop stays free."""
    if len(text) > _LARGE:
        return await run_in_threadpool(accept, text)
    return accept(text)
