"""Prompts: creating, changing and deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.schema.model import Done, Page
from promptlift.schema.prompts import Prompt, PromptChange
from promptlift.service import clock
from promptlift.service.actions.views.completion import completion_views
from promptlift.service.call import Call, answers, known_model
from promptlift.service.deployments.current_version import LivePrompt
from promptlift.service.errors import invalid, quota
from promptlift.service.identifiers import new_id
from promptlift.service.optimizations import lifecycle
from promptlift.service.store import accounts, events, judging, prompts
from promptlift.service.store.rows import wanted
from promptlift.service.store.tables.prompts import PromptRow, VersionRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.prompts import PromptCreate, PromptUpdate
    from promptlift.schema.queries import PromptsQuery
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.rows import Rows

_CREATED = ("id", "name", "content", "content_known", "llm_model", "status", "created_at", "updated_at")
_LISTED = (*_CREATED, "description", "tags")
# Settings other than the text that affect an answer.
_MODEL_FIELDS = ("llm_model", "temperature", "max_tokens")


@answers(endpoints.PROMPTS_LIST)
def page(call: Call[None, PromptsQuery]) -> Page[Prompt]:
    """Return one page of prompts, newest first."""
    query, account_id = call.query, call.account_id
    with call.read() as rows:
        listed = prompts.listed(rows.core.dialect.name, account_id, tags=query.tags, status=query.status)
        some, total = rows.page(listed, query)
        found = [row.shown(Prompt, only=_LISTED) for row in some]
        if query.include_completion:
            views = completion_views(rows.core, account_id, [row.id for row in some])
            for prompt in found:
                prompt.completion = views[prompt.id]
    return Page[Prompt](data=found, pagination=query.of(total))


@answers(endpoints.PROMPTS_GET)
def get(call: Call) -> Prompt:
    """Return a prompt."""
    with call.read() as rows:
        return call.prompt(rows).shown(Prompt)


@answers(endpoints.PROMPTS_CREATE, check=known_model)
def create(call: Call[PromptCreate]) -> Prompt:
    """Add a prompt and return it."""
    with call.write() as rows:
        return add(rows, call.caller, call.body).shown(Prompt, only=_CREATED)


def add(rows: Rows, caller: Caller, body: PromptCreate) -> PromptRow:
    """Add a prompt inside a transaction and return its row.

    Raises
    ------
    ApiException
        ``LIMIT_EXCEEDED`` for the plan.
    """
    now = clock.now()
    _check_quota(rows.core, caller, now)
    row = PromptRow(
        **body.model_dump(exclude={"live_from", "content_known", "tags", "outcome", "alert_below"}),
        id=new_id("prm"),
        account_id=caller.account_id,
        content_known=body.content_known is not False,
        tags=body.tags or [],
        outcome=body.outcome or None,
        alert_below=body.alert_below or None,
        status="active",
        created_at=clock.to_datetime(now),
        updated_at=clock.to_datetime(now),
    )
    return prompts.add(rows, row, live_from=body.live_from)


@answers(endpoints.PROMPTS_UPDATE, check=known_model)
def update(call: Call[PromptUpdate]) -> PromptChange:
    """Update the provided fields of a prompt and return it.

    The first text of a prompt whose text was unknown becomes its first version, not its second.
    """
    caller, body = call.caller, call.body
    changes = body.model_dump(exclude_unset=True, exclude={"live_from"})
    if "content" in changes:
        changes["content_known"] = True
    empty: dict[str, list[str] | None] = {"tags": [], "outcome": None, "alert_below": None}
    changes |= {name: changes[name] or nothing for name, nothing in empty.items() if name in changes}
    with call.write() as rows:
        now = clock.now()
        if "status" in changes:
            accounts.lock(rows.core, caller.account_id)  # before the prompt's lock, as everywhere
        prompt = call.prompt(rows, lock=True)
        live = LivePrompt(rows.core, prompt, now=now)
        if prompt.status != "active" and changes.get("status") == "active":
            # Only active prompts count toward the limit, so there must be room for it.
            _check_quota(rows.core, caller, now)
        text = changes.get("content")
        changed = text is not None and (text != prompt.content or not prompt.content_known)
        if changed and text is not None:
            live_from = None if body.live_from is None else clock.from_datetime(body.live_from)
            _keep_text(rows, prompt, live, text, live_from, now=now)
        if "outcome" in changes and changes["outcome"] != prompt.outcome:
            judging.decide_again(rows.core, caller.account_id, prompt_id=prompt.id, now=now)
        if "alert_below" in changes and changes["alert_below"] != prompt.alert_below:
            changes |= {"alert_since": now, "alerted_at": None}
        if any(name in changes and changes[name] != getattr(prompt, name) for name in _MODEL_FIELDS):
            live.model_changed()
        prompt.change({**changes, "updated_at": clock.to_datetime(now)})
        if changed:
            live.record_update("manual")
        return prompt.shown(PromptChange)


def _keep_text(
    rows: Rows, prompt: PromptRow, live: LivePrompt, text: str, live_from: int | None, *, now: int
) -> None:
    """Store a text from a client as a version, before the prompt gets it."""
    connection = rows.core
    if not live.before.content_known and rows.count(wanted(VersionRow, prompt_id=prompt.id)) == 1:
        # unspecified: texts that are not known. A placeholder was never one of the prompt's texts.
        prompts.fill_version(connection, live.before.seq, text, live_from=live_from)
        return
    if live_from is not None and live_from < live.before.created_at:
        since = clock.iso(live.before.created_at)
        raise invalid(
            {"liveFrom": f"must not be before {since}, since when the current text has been in use"}
        )
    live.supersede()
    since_when = now if live_from is None else live_from
    prompts.add_version(connection, prompt, text, "updated", now=since_when)


@answers(endpoints.PROMPTS_DELETE)
def delete(call: Call) -> Done:
    """Delete a prompt. Its conversations stay readable."""
    # unspecified: what happens to the conversations of a deleted prompt.
    with call.write() as rows:
        accounts.lock(rows.core, call.account_id)  # first: of two requests, one finds the prompt deleted
        prompt, connection = call.prompt(rows), rows.core
        now = clock.now()
        lifecycle.stop_all_of(connection, call.account_id, prompt.id, now=now)
        LivePrompt(connection, prompt, now=now).deleted()
        prompt.deleted_at = clock.to_datetime(now)
        payload = {"promptId": prompt.id, "deletedAt": clock.iso(now)}
        events.write(connection, [events.row("prompt.deleted", call.account_id, prompt.id, payload, now=now)])
    return Done(success=True, message=f"{call.scheme.noun} deleted")


def _check_quota(connection: Connection, caller: Caller, now: int) -> None:
    limit = caller.limits.prompts
    if limit is None:
        return
    accounts.lock(connection, caller.account_id)
    used = accounts.active_prompts(connection, caller.account_id)
    if used >= limit:
        raise quota("prompts", limit=limit, used=used, now=now)
