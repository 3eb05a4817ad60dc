"""Log conversations of instrumented applications when nothing was added to them for a while."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

from promptlift.schema.conversations import ConversationCreate, ConversationUpdate
from promptlift.schema.spans.model_call import ModelCall
from promptlift.schema.transcript import parse_content
from promptlift.service import clock
from promptlift.service.actions.logging.content import accept
from promptlift.service.actions.logging.conversation_log import Entry, Logged, log_entries
from promptlift.service.actions.logging.updates import Update, apply_updates
from promptlift.service.background.kind import Kind
from promptlift.service.errors import ApiException
from promptlift.service.otlp.transcript import extend, write_content
from promptlift.service.store import SQLAlchemyError, accounts, conversations, traced
from promptlift.service.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.conversations import ConversationStatus
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.conversations import TracedConversationRow


_LOG = logging.getLogger(__name__)
# How long a conversation that was closed is recognised by its words when it goes on.
_REMEMBERED: Final = clock.DAY


class TracedConversations(Kind):
    """Close conversations that spans told of.

    Parameters
    ----------
    database
        Where they are kept.
    worker
        Name of the worker in the rows that it has.
    quiet_seconds
        How long a conversation stays open after its last call.
    """

    name = "traced conversation"
    chunk = 32

    def __init__(self, database: Database, *, worker: str, quiet_seconds: float) -> None:
        super().__init__()
        self.leases = traced.leases(quiet=round(quiet_seconds * clock.SECOND))
        self._database = database
        self._worker = worker

    def work(self, ids: Sequence[str]) -> None:
        """Log these conversations, or add to those that were logged before; each with all its calls, or not at all."""
        try:
            self._close(ids)
        except SQLAlchemyError:
            raise
        except Exception:
            if len(ids) == 1:
                raise
            self._close_each(ids)

    def _close_each(self, ids: Sequence[str]) -> None:
        """Close conversations one by one: a defect that one of them shows must not hold up the others."""
        problems = []
        for one in ids:
            try:
                self._close([one])
            except Exception as problem:  # noqa: BLE001 - raised below
                problems.append(problem)
        if problems:
            raise problems[0]

    def _close(self, ids: Sequence[str]) -> None:
        with self._database.write(durable=True) as connection:
            claimed = traced.claimed(Rows(connection), ids, self._worker)
            for account_id in sorted({row.account_id for row in claimed}):
                accounts.lock(connection, account_id)
            with Rows(connection) as rows:
                _close(rows, traced.claimed(rows, ids, self._worker))
                rows.flush()


def drop_closed(connection: Connection) -> None:
    """Forget conversations that were closed long ago."""
    traced.drop_closed(connection, before=clock.now() - _REMEMBERED)


def _close(rows: Rows, claimed: Sequence[TracedConversationRow]) -> None:
    connection, now = rows.core, clock.now()
    calls: dict[str, list[ModelCall]] = {}
    for call in traced.calls(rows, [row.id for row in claimed]):
        calls.setdefault(call.traced_id, []).append(ModelCall.load(call.data))
    wanted: list[tuple[TracedConversationRow, Entry | Update]] = []
    for row in claimed:
        try:
            wanted.append((row, _wanted(connection, row, calls.get(row.id, []))))
        except ApiException as problem:
            _settle(rows, row, problem, now)
    # Apart, so that each moves the counts of conversations once.
    new = [(row, one) for row, one in wanted if isinstance(one, Entry)]
    for (row, _), logged in zip(new, log_entries(connection, [one for _, one in new], now=now), strict=True):
        _settle(rows, row, logged, now)
    grown = [(row, one) for row, one in wanted if isinstance(one, Update)]
    outcomes = apply_updates(connection, [one for _, one in grown], now=now)
    for (row, one), outcome in zip(grown, outcomes, strict=True):
        _settle(rows, row, outcome if isinstance(outcome, ApiException) else one, now)


def _settle(
    rows: Rows, row: TracedConversationRow, outcome: Logged | Update | ApiException, now: int
) -> None:
    if isinstance(outcome, Logged):
        traced.closed(rows, row, outcome.id)
    elif isinstance(outcome, Update):
        traced.closed(rows, row, outcome.conversation_id)
    elif outcome.code == "LIMIT_EXCEEDED":
        # Acknowledged, so it is logged when the plan has room again.
        row.close_at, row.changed_at, row.worker = clock.billing_period(now)[1], now, None
    else:
        _LOG.warning("a conversation of an instrumented application is dropped: %s", outcome)
        traced.closed(rows, row, None)


def _wanted(connection: Connection, row: TracedConversationRow, calls: Sequence[ModelCall]) -> Entry | Update:
    """Return what is to be logged, or changed where the conversation was logged before.

    Raises
    ------
    ApiException
        When nothing can be made of it.
    """
    caller = accounts.caller_of(connection, row.account_id)
    logged_id = row.conversation_id
    if logged_id is None and row.source_id is not None:
        logged_id = traced.logged(connection, row.account_id, row.prompt_id, row.source_id)
    before = None if logged_id is None else conversations.find(connection, row.account_id, logged_id)
    content_before = None if before is None else before.content  # deleted where it was old
    transcript = None if content_before is None else parse_content(content_before.decode())
    messages = [] if transcript is None else list(transcript.messages)
    metadata = {} if transcript is None else transcript.metadata or {}
    extend(messages, calls)
    content = write_content(messages, {**metadata, **_metadata(row, calls)})
    shape = accept(content)
    # unspecified: the status of a conversation whose last call brought no answer. Nobody helped the user, who has gone.
    status: ConversationStatus = "abandoned" if messages[-1].role == "user" else "completed"
    costs = [call.cost for call in calls if call.cost is not None]
    if before is not None:
        cost = sum(costs) + (before.cost or 0.0) if costs else None
        changed = {"content": content, "status": status} | ({} if cost is None else {"cost": cost})
        return Update(caller, before.id, ConversationUpdate.model_validate(changed), shape)
    models = Counter(call.model for call in calls if call.model)
    body = ConversationCreate(
        prompt_id=row.prompt_id,
        content=content,
        status=status,
        llm_model=models.most_common(1)[0][0] if models else None,
        source_id=row.source_id,
        # Tokens, tools and times are in the transcript.
        cost=sum(costs) if costs else None,
    )
    return Entry(caller, body, shape)


def _metadata(row: TracedConversationRow, calls: Sequence[ModelCall]) -> dict[str, object]:
    users = [call.user for call in calls if call.user is not None]
    return {
        "channel": "otlp",
        **({"sessionId": row.source_id} if row.source_id is not None else {}),
        **({"userId": users[0]} if users else {}),
        **({"failedCalls": failed} if (failed := sum(call.failed for call in calls)) else {}),
    }
