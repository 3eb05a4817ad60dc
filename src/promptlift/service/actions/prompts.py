"""Prompts: making, changing and deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptlift.schema import limits
from promptlift.service import moment
from promptlift.service.actions import deployments, optimizations
from promptlift.service.failures import not_found, quota
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, events, prompts, usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.naming import Scheme
    from promptlift.schema.prompts import PromptCreate, PromptUpdate
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow


def wire(row: AnyRow, names: Sequence[str] | None = None) -> dict[str, Any]:
    """A prompt as the API gives it; ``names`` picks fields."""
    whole = {
        "id": row.id,
        "name": row.name,
        "content": row.content,
        "llmModel": row.llm_model,
        "description": row.description,
        "tags": orjson.loads(row.tags),
        "temperature": row.temperature,
        "maxTokens": row.max_tokens,
        "objective": row.objective,
        "status": row.status,
        "createdAt": moment.wire(row.created_at),
        "updatedAt": moment.wire(row.updated_at),
    }
    return whole if names is None else {name: whole[name] for name in names}


def get(database: Database, caller: Caller, scheme: Scheme, prompt_id: str) -> AnyRow:
    """The row of a prompt.

    Raises
    ------
    Refusal
        ``NOT_FOUND`` when the account has no such prompt.
    """
    with database.read() as connection:
        row = prompts.find(connection, caller.account_id, prompt_id)
    if row is None:
        raise not_found(scheme.noun)
    return row


def create(database: Database, caller: Caller, body: PromptCreate) -> AnyRow:
    """Add a prompt, whose model is known to be valid, and give its row.

    Raises
    ------
    Refusal
        ``LIMIT_EXCEEDED`` for the plan.
    """
    now = moment.now()
    with database.write() as connection:
        _check_quota(connection, caller, now)
        prompt_id = new_id("prm")
        values = {
            "id": prompt_id,
            "account_id": caller.account_id,
            "name": body.name,
            "content": body.content,
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
        prompts.add(connection, values)
        row = prompts.find(connection, caller.account_id, prompt_id)
    if row is None:
        raise not_found("Prompt")
    return row


def update(
    database: Database,
    caller: Caller,
    scheme: Scheme,
    prompt_id: str,
    body: PromptUpdate,
) -> AnyRow:
    """Change the provided fields of a prompt and give its row.

    Raises
    ------
    Refusal
        ``NOT_FOUND``, ``LIMIT_EXCEEDED`` when an archived prompt comes back.
    """
    changes = body.model_dump(exclude_unset=True)
    if "tags" in changes:
        changes["tags"] = orjson.dumps(changes["tags"] or []).decode()
    with database.write() as connection:
        now = moment.now()
        if "status" in changes:
            accounts.lock(connection, caller.account_id)  # before the prompt's, as everywhere
        before = prompts.find(connection, caller.account_id, prompt_id, lock=True)
        if before is None:
            raise not_found(scheme.noun)
        if before.status == "archived" and changes.get("status", "archived") != "archived":
            _check_quota(
                connection, caller, now
            )  # an archived prompt does not count, so it must fit in again
        prompts.change(connection, caller.account_id, prompt_id, {**changes, "updated_at": now})
        after = prompts.find(connection, caller.account_id, prompt_id)
        if after is not None and after.content != before.content:
            deployments.supersede(connection, caller.account_id, prompt_id, now)
            prompts.add_version(connection, caller.account_id, prompt_id, after.content, "updated", now=now)
            payload = {
                "promptId": prompt_id,
                "promptName": after.name,
                # unspecified: values of updateType. "manual" is an edit by a person or program over the API.
                "updateType": "manual",
                "appliedAt": moment.wire(now),
            }
            events.write(
                connection, [events.row("prompt.updated", caller.account_id, prompt_id, payload, now=now)]
            )
    if after is None:
        raise not_found(scheme.noun)
    return after


def delete(database: Database, caller: Caller, scheme: Scheme, prompt_id: str) -> None:
    """Delete a prompt. Its conversations stay readable: they are what happened."""
    # unspecified: what becomes of the conversations of a deleted prompt.
    with database.write() as connection:
        if prompts.find(connection, caller.account_id, prompt_id) is None:
            raise not_found(scheme.noun)
        now = moment.now()
        accounts.lock(connection, caller.account_id)
        optimizations.stop_all_of(connection, caller.account_id, prompt_id, now=now)
        deployments.prompt_deleted(connection, caller.account_id, prompt_id, now)
        prompts.change(connection, caller.account_id, prompt_id, {"deleted_at": now})
        payload = {"promptId": prompt_id, "deletedAt": moment.wire(now)}
        events.write(
            connection, [events.row("prompt.deleted", caller.account_id, prompt_id, payload, now=now)]
        )


def _check_quota(connection: Connection, caller: Caller, now: int) -> None:
    limit = limits.PLANS[caller.plan].prompts
    if limit is None:
        return
    accounts.lock(connection, caller.account_id)
    used = usage.active_prompts(connection, caller.account_id)
    if used >= limit:
        reset_at = moment.wire(moment.billing_period(now)[1]) or ""
        raise quota("prompts", limit=limit, used=used, reset_at=reset_at)
