"""Logging and changing conversations: many requests that come at once share one transaction.

A request is answered when the transaction that holds its conversation is committed and on the disk, so nothing that was
acknowledged can be lost, not even by a power cut. While one transaction is written, the next requests gather for the following one.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from promptlift.schema import limits
from promptlift.service import clock
from promptlift.service.actions.access import refusal_of
from promptlift.service.actions.logging.content import facts_columns
from promptlift.service.actions.logging.updates import Update, Updated, apply_updates
from promptlift.service.errors import ApiException, not_found, quota
from promptlift.service.identifiers import new_id
from promptlift.service.store import accounts, conversation_updates, conversations, events, prompts, usage
from promptlift.service.store.errors import IntegrityError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.conversations import ConversationCreate
    from promptlift.schema.naming import Scheme
    from promptlift.service.actions.logging.content import Shape
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

BATCH = 64
# When several come side by side, the others of this moment are waited for: one transaction for all costs less.
GATHER_SECONDS = 0.001
# How often another process may take a key between the look and the write.
KEY_RACES = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """One conversation to log, already checked."""

    caller: Caller
    scheme: Scheme
    prompt_id: str
    body: ConversationCreate
    shape: Shape


@dataclass(frozen=True, slots=True)
class Logged:
    """A conversation as the create request answers it.

    Attributes
    ----------
    created
        ``False`` when the idempotency key stood for a conversation that was there already.
    """

    id: str
    prompt_id: str
    status: str
    created_at: int
    created: bool


_Outcome = Logged | Updated | ApiException
# A request, or the conversations of one request, and where the outcome goes.
_Waiting = tuple[Entry | Update | list[Entry], asyncio.Future[Any]]


@dataclass(slots=True)
class _Batch:
    rows: list[dict[str, object]] = field(default_factory=list)
    contents: list[dict[str, object]] = field(default_factory=list)
    outbox: list[dict[str, Any]] = field(default_factory=list)


class ConversationLog:
    """Writer of conversations and their changes for all requests of this process, on a thread of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="conversation-log", daemon=True)
        self._thread.start()

    async def log(self, entry: Entry) -> Logged:
        """Keep a conversation, and return when it is committed.

        Raises
        ------
        ApiException
            ``NOT_FOUND`` for the prompt, ``LIMIT_EXCEEDED`` for the plan, ``SERVICE_UNAVAILABLE`` for the database.
        """
        logged: Logged = await self._outcome_of(entry)
        return logged

    async def log_many(self, entries: list[Entry]) -> list[Logged | ApiException]:
        """Keep conversations in one transaction, and return what became of each when it is committed.

        Raises
        ------
        ApiException
            ``SERVICE_UNAVAILABLE`` for the database: none was kept.
        """
        outcomes: list[Logged | ApiException] = await self._outcome_of(entries)
        return outcomes

    async def update(self, wanted: Update) -> Updated:
        """Change a conversation, and return when the change is committed.

        Raises
        ------
        ApiException
            ``NOT_FOUND``, ``INVALID_STATE`` when another content is there by now, ``SERVICE_UNAVAILABLE`` for the database.
        """
        updated: Updated = await self._outcome_of(wanted)
        return updated

    def _outcome_of(self, request: Entry | Update | list[Entry]) -> asyncio.Future[Any]:
        outcome = asyncio.get_running_loop().create_future()
        self._waiting.put((request, outcome))
        return outcome

    def close(self) -> None:
        """Write what is waiting, and end the thread."""
        self._waiting.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        gathering = False
        while (first := self._waiting.get()) is not None:
            if gathering:
                time.sleep(GATHER_SECONDS)
            batch = [first]
            with suppress(queue.Empty):
                while len(batch) < BATCH:
                    more = self._waiting.get_nowait()
                    if more is None:
                        self._waiting.put(None)  # the end comes after this batch
                        break
                    batch.append(more)
            # Apart, so that each transaction moves the counts of conversations once, in one order.
            for kind in (Entry, Update):
                group = [(one, future) for one, future in batch if isinstance(one, kind)]
                if group:
                    self._write(group)
            for entries, outcome in batch:
                if isinstance(entries, list):
                    self._write_many(entries, outcome)
            gathering = len(batch) > 1

    def _write(self, batch: list[tuple[Entry | Update, asyncio.Future[Any]]]) -> None:
        try:
            outcomes = self._commit_or_again([request for request, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, every request must be answered
            if len(batch) > 1:
                # One bad row must not take its neighbours with it.
                for one in batch:
                    self._write([one])
                return
            outcomes = [_refusal_of(error)]
        by_loop: defaultdict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], _Outcome]]]
        by_loop = defaultdict(list)
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            by_loop[future.get_loop()].append((future, outcome))
        for loop, settled in by_loop.items():
            if not loop.is_closed():  # woken once for all
                loop.call_soon_threadsafe(_settle, settled)

    def _write_many(self, entries: list[Entry], future: asyncio.Future[Any]) -> None:
        outcomes: Any
        try:
            outcomes = self._commit_or_again(entries)
        except Exception as error:  # noqa: BLE001 - whatever it is, the request must be answered
            outcomes = _refusal_of(error)
            if outcomes.code != "SERVICE_UNAVAILABLE":
                # One bad row must not take its neighbours with it.
                outcomes = [self._outcome_alone(entry) for entry in entries]
        loop = future.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, [(future, outcomes)])

    def _outcome_alone(self, entry: Entry) -> _Outcome:
        try:
            return self._commit_or_again([entry])[0]
        except Exception as error:  # noqa: BLE001
            return _refusal_of(error)

    def _commit_or_again(self, entries: Sequence[Entry | Update]) -> list[_Outcome]:
        for _ in range(KEY_RACES):
            try:
                return self._commit(entries)
            except _KeyTakenError:  # the next look finds the conversation that has the key now
                continue
        return self._commit(entries)

    def _commit(self, entries: Sequence[Entry | Update]) -> list[_Outcome]:
        with self._database.write(durable=True) as connection:
            now = clock.now()
            updates = [entry for entry in entries if isinstance(entry, Update)]
            new = [entry for entry in entries if isinstance(entry, Entry)]
            outcomes: list[_Outcome] = [
                *log_entries(connection, new, now=now),
                *apply_updates(connection, updates, now=now),
            ]
        return outcomes


def log_entries(connection: Connection, entries: Sequence[Entry], *, now: int) -> list[Logged | ApiException]:
    """Add conversations inside a transaction, and return the outcome of each."""
    outcomes: list[Logged | ApiException | None] = [None] * len(entries)
    batch = _Batch()
    callers = {entry.caller.account_id: entry.caller for entry in entries}
    # In one order, so that two processes never wait for each other.
    for _, account in sorted(callers.items()):
        mine = [i for i, entry in enumerate(entries) if entry.caller.account_id == account.account_id]
        _plan_account(
            connection, account, entries=entries, mine=mine, outcomes=outcomes, batch=batch, now=now
        )
    if batch.rows:
        conversations.add(connection, batch.rows, batch.contents)
        _hold_keys(connection, entries, outcomes, now)
        events.write(connection, batch.outbox)
    return [outcome for outcome in outcomes if outcome is not None]


def _plan_account(
    connection: Connection,
    caller: Caller,
    *,
    entries: Sequence[Entry],
    mine: Sequence[int],
    outcomes: list[Logged | ApiException | None],
    batch: _Batch,
    now: int,
) -> None:
    account_id = caller.account_id
    standing = prompts.standing(connection, account_id, list({entries[i].prompt_id for i in mine}))
    keys = [key for i in mine if (key := entries[i].body.idempotency_key) is not None]
    held = {
        key: Logged(row.id, row.prompt_id, row.status, row.created_at, created=False)
        for key, row in conversations.held_by_keys(connection, account_id, keys, now=now).items()
    }
    limit = caller.limits.conversations_per_month
    used = 0
    if limit is not None:  # no other process may count in between
        accounts.lock(connection, account_id)
        used = usage.used(connection, account_id, "conversations", now=now)
    added = 0
    for i in mine:
        entry, key = entries[i], entries[i].body.idempotency_key
        if key is not None and key in held:
            outcomes[i] = held[key]
        elif entry.prompt_id not in standing:
            outcomes[i] = not_found(entry.scheme.noun)
        elif limit is not None and used + added >= limit:
            outcomes[i] = quota("conversations per month", limit=limit, used=used + added, now=now)
        else:
            outcomes[i] = logged = _plan_row(entry, batch, now)
            added += 1
            if key is not None:
                held[key] = replace(logged, created=False)
    if added:
        usage.add(connection, account_id, "conversations", added, now=now)


def _plan_row(entry: Entry, batch: _Batch, now: int) -> Logged:
    conversation_id = new_id("cnv")
    body, shape = entry.body, entry.shape
    # unspecified: the status of a conversation that is logged without one. Logged conversations have usually ended.
    status = body.status or "completed"
    raw = body.content.encode()
    batch.rows.append(
        {
            "id": conversation_id,
            "account_id": entry.caller.account_id,
            "prompt_id": entry.prompt_id,
            "status": status,
            "llm_model": body.llm_model,
            "company_name": body.company_name,
            "idempotency_key": body.idempotency_key,
            "source_id": body.source_id,
            "content_hash": None if body.source_id is None else conversation_updates.content_hash(raw),
            **facts_columns({**shape.facts, **body.facts()}),
            "created_at": now,
            **shape.columns(began=now, now=now),
            "generation": 1,
        }
    )
    batch.contents.append({"conversation_id": conversation_id, "content": raw})
    payload = {
        "conversationId": conversation_id,
        "promptId": entry.prompt_id,
        "status": status,
        "createdAt": clock.iso(now),
    }
    batch.outbox.append(
        events.row("conversation.created", entry.caller.account_id, conversation_id, payload, now=now)
    )
    return Logged(conversation_id, entry.prompt_id, status, now, created=True)


def _hold_keys(
    connection: Connection,
    entries: Sequence[Entry],
    outcomes: Sequence[Logged | ApiException | None],
    now: int,
) -> None:
    rows = [
        {
            "account_id": entry.caller.account_id,
            "key": entry.body.idempotency_key,
            "conversation_id": outcome.id,
            "expires_at": now + limits.IDEMPOTENCY_HOURS * clock.HOUR,
        }
        for entry, outcome in zip(entries, outcomes, strict=True)
        if entry.body.idempotency_key is not None and isinstance(outcome, Logged) and outcome.created
    ]
    try:
        conversations.hold_keys(connection, rows)
    except IntegrityError as error:
        raise _KeyTakenError from error


class _KeyTakenError(Exception):
    """Another process took a key after it was looked up."""


def _refusal_of(error: Exception) -> ApiException:
    if isinstance(error, _KeyTakenError):
        return ApiException(
            "SERVICE_UNAVAILABLE", "Another request is using the same idempotency key; try again"
        )
    return refusal_of(error, "a conversation could not be kept")


def _settle(settled: Sequence[tuple[asyncio.Future[Any], _Outcome | list[_Outcome]]]) -> None:
    for future, outcome in settled:
        if future.done():
            continue
        if isinstance(outcome, ApiException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
