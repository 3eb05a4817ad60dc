"""Prompts: making, changing and deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptlift.schema.naming import SCHEMES
from promptlift.service import clock
from promptlift.service.actions.views.prompt_completion import completion_views
from promptlift.service.deployments import current_version, transitions
from promptlift.service.errors import invalid, not_found, quota
from promptlift.service.identifiers import new_id
from promptlift.service.optimizations import requests
from promptlift.service.store import accounts, events, prompts, usage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from promptlift.schema.naming import Scheme
    from promptlift.schema.prompts import PromptCreate, PromptUpdate
    from promptlift.schema.queries import PromptsQuery
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow

_LISTED = (
    *("id", "name", "content", "contentKnown", "llmModel", "description", "tags", "status"),
    *("createdAt", "updatedAt"),
)


def wire(row: AnyRow, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a prompt in its API form; ``names`` picks fields."""
    whole = {
        "id": row.id,
        "name": row.name,
        "content": row.content,
        "contentKnown": row.content_known,
        "llmModel": row.llm_model,
        "description": row.description,
        "tags": orjson.loads(row.tags),
        "temperature": row.temperature,
        "maxTokens": row.max_tokens,
        "objective": row.objective,
        "status": row.status,
        "createdAt": clock.iso(row.created_at),
        "updatedAt": clock.iso(row.updated_at),
    }
    return whole if names is None else {name: whole[name] for name in names}


def page(database: Database, caller: Caller, query: PromptsQuery) -> dict[str, Any]:
    """Return one page of prompts, newest first."""
    with database.read() as connection:
        rows, total = prompts.page(
            connection,
            caller.account_id,
            tags=query.tags,
            status=query.status,
            limit=query.limit,
            offset=query.offset,
        )
        found = [wire(row, _LISTED) for row in rows]
        if query.include_completion:
            views = completion_views(connection, caller.account_id, [row.id for row in rows])
            found = [{**one, "completion": views[one["id"]]} for one in found]
    return {
        "data": found,
        "pagination": {"total": total, "limit": query.limit, "offset": query.offset},
    }


def get(database: Database, caller: Caller, scheme: Scheme, prompt_id: str) -> AnyRow:
    """Read the row of a prompt.

    Raises
    ------
    ApiException
        ``NOT_FOUND`` when the account has no such prompt.
    """
    with database.read() as connection:
        return find(connection, caller, scheme, prompt_id)


def find(
    connection: Connection, caller: Caller, scheme: Scheme, prompt_id: str, *, lock: bool = False
) -> AnyRow:
    """Read the row of a prompt as `get` does, inside a transaction; ``lock`` is that of the store."""
    row = prompts.find(connection, caller.account_id, prompt_id, lock=lock)
    if row is None:
        raise not_found(scheme.noun)
    return row


def create(database: Database, caller: Caller, body: PromptCreate) -> AnyRow:
    """Add a prompt, whose model name was checked already, and return its row.

    Raises
    ------
    ApiException
        ``LIMIT_EXCEEDED`` for the plan.
    """
    with database.write() as connection:
        return add(connection, caller, body)


def add(connection: Connection, caller: Caller, body: PromptCreate) -> AnyRow:
    """Add a prompt inside a transaction and return its row.

    Raises
    ------
    ApiException
        ``LIMIT_EXCEEDED`` for the plan.
    """
    now = clock.now()
    _check_quota(connection, caller, now)
    prompt_id = new_id("prm")
    values = {
        "id": prompt_id,
        "account_id": caller.account_id,
        "name": body.name,
        "content": body.content,
        "content_known": body.content_known is not False,
        "llm_model": body.llm_model,
        "description": body.description,
        "tags": orjson.dumps(body.tags or []).decode(),
        "temperature": body.temperature,
        "max_tokens": body.max_tokens,
        "objective": body.objective,
        "status": "active",
        "created_at": now,
        "updated_at": now,
    }
    prompts.add(connection, values, live_from=_instant(body.live_from))
    return find(connection, caller, SCHEMES["prompt"], prompt_id)


# What an answer depends on beside the text.
_MODEL_FIELDS = ("llm_model", "temperature", "max_tokens")


def update(
    database: Database,
    caller: Caller,
    scheme: Scheme,
    prompt_id: str,
    body: PromptUpdate,
) -> AnyRow:
    """Update the provided fields of a prompt and return its row.

    The first text that a prompt of unknown text gets is its text from the beginning, not a second version.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, ``VALIDATION_ERROR`` for a text that was live before the one that is now, ``LIMIT_EXCEEDED`` when
        a prompt becomes active again.
    """
    changes = body.model_dump(exclude_unset=True, exclude={"live_from"})
    if "content" in changes:
        changes["content_known"] = True
    if "tags" in changes:
        changes["tags"] = orjson.dumps(changes["tags"] or []).decode()
    with database.write() as connection:
        now = clock.now()
        if "status" in changes:
            accounts.lock(connection, caller.account_id)  # before the prompt's, as everywhere
        before = find(connection, caller, scheme, prompt_id, lock=True)
        if before.status != "active" and changes.get("status") == "active":
            # Only active prompts count, so it must fit in.
            _check_quota(connection, caller, now)
        text = changes.get("content")
        changed = text is not None and (text != before.content or not before.content_known)
        if changed and text is not None:
            _keep_text(connection, before, text, _instant(body.live_from), now=now)
        if any(name in changes and changes[name] != getattr(before, name) for name in _MODEL_FIELDS):
            transitions.model_changed(connection, caller.account_id, prompt_id, now)
        prompts.change(connection, caller.account_id, prompt_id, {**changes, "updated_at": now})
        after = find(connection, caller, scheme, prompt_id)
        if changed:
            current_version.record_update(connection, after, "manual", now=now)
    return after


def _keep_text(connection: Connection, prompt: AnyRow, text: str, live_from: int | None, *, now: int) -> None:
    """Keep a text from a client as a version, before the prompt gets it."""
    _, count = prompts.versions(connection, prompt.account_id, prompt.id, limit=1, offset=0)
    live = prompts.current_version(connection, prompt.account_id, prompt.id)
    if not live.content_known and count == 1:
        # unspecified: texts that are not known. What stood in for the text was never one of the prompt's texts.
        prompts.fill_version(connection, live.seq, text, live_from=live_from)
        return
    if live_from is not None and live_from < live.created_at:
        since = clock.iso(live.created_at)
        raise invalid(
            {"liveFrom": f"must not be before {since}, since when the current text has been in use"}
        )
    transitions.supersede(connection, prompt.account_id, prompt.id, now)
    since_when = now if live_from is None else live_from
    prompts.add_version(connection, prompt.account_id, prompt.id, text, "updated", now=since_when)


def _instant(time: datetime | None) -> int | None:
    return None if time is None else clock.from_datetime(time)


def delete(database: Database, caller: Caller, scheme: Scheme, prompt_id: str) -> None:
    """Delete a prompt. Its conversations stay readable."""
    # unspecified: what becomes of the conversations of a deleted prompt.
    with database.write() as connection:
        find(connection, caller, scheme, prompt_id)
        now = clock.now()
        accounts.lock(connection, caller.account_id)
        requests.stop_all_of(connection, caller.account_id, prompt_id, now=now)
        transitions.prompt_deleted(connection, caller.account_id, prompt_id, now)
        prompts.change(connection, caller.account_id, prompt_id, {"deleted_at": now})
        payload = {"promptId": prompt_id, "deletedAt": clock.iso(now)}
        events.write(
            connection, [events.row("prompt.deleted", caller.account_id, prompt_id, payload, now=now)]
        )


def _check_quota(connection: Connection, caller: Caller, now: int) -> None:
    limit = caller.limits.prompts
    if limit is None:
        return
    accounts.lock(connection, caller.account_id)
    used = usage.active_prompts(connection, caller.account_id)
    if used >= limit:
        raise quota("prompts", limit=limit, used=used, now=now)
