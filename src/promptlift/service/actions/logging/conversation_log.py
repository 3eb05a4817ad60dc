"""Logging and changing conversations: concurrent requests share one transaction.

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

import orjson

from promptlift.schema import limits
from promptlift.service import clock
from promptlift.service.actions.access import refusal_of
from promptlift.service.actions.logging.entries import (
    Entry,
    Logged,
    LookAgain,
    Update,
    assigned_columns,
    changed_columns,
    facts_columns,
)
from promptlift.service.actions.logging.states import FormerStates, at_its_state
from promptlift.service.errors import ApiException, invalid_state, not_found, quota
from promptlift.service.identifiers import new_id
from promptlift.service.store import (
    IntegrityError,
    accounts,
    conversation_counts,
    conversation_updates,
    conversations,
    events,
    judging,
    prompts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.database import Database

BATCH = 64
# When several requests are concurrent, wait briefly for others: one transaction for all costs less.
GATHER_SECONDS = 0.001
# How often another process may take a key between the lookup and the write.
KEY_RACES = 5
# How often a conversation may change between the lookup and its update.
UPDATE_RACES = 5


# Outcomes of an entry, and of an entry or an update.
Added = Logged | Update | LookAgain | ApiException
Outcome = Added | conversations.StoredConversation
# The conversations of a request, and the future that receives the outcome.
Waiting = tuple[Entry | Update | list[Entry], asyncio.Future[Any]]


class ConversationLog:
    """Writer of conversations and their changes for all requests of this process, on a thread of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="conversation-log", daemon=True)
        self._thread.start()

    async def log(self, entry: Entry) -> Logged:
        """Store a conversation, and return when it is committed.

        Raises
        ------
        ApiException
            ``NOT_FOUND`` for the prompt, ``LIMIT_EXCEEDED`` for the plan, ``SERVICE_UNAVAILABLE`` for the database.
        """
        logged: Logged = await self._outcome_of(entry)
        return logged

    async def log_many(self, entries: list[Entry]) -> list[Logged | ApiException]:
        """Store conversations, and return the outcome of each when it is committed. The new ones share a transaction.

        Raises
        ------
        ApiException
            ``SERVICE_UNAVAILABLE`` for the database: none was stored.
        """
        outcomes: list[Logged | ApiException] = await self._outcome_of(entries)
        return outcomes

    async def update(self, wanted: Update) -> conversations.StoredConversation:
        """Change a conversation, and return when the change is committed.

        Raises
        ------
        ApiException
            ``NOT_FOUND``, ``INVALID_STATE`` when the content has changed in the meantime,
            ``SERVICE_UNAVAILABLE`` for the database.
        """
        updated: conversations.StoredConversation = await self._outcome_of(wanted)
        return updated

    def _outcome_of(self, request: Entry | Update | list[Entry]) -> asyncio.Future[Any]:
        outcome = asyncio.get_running_loop().create_future()
        self._waiting.put((request, outcome))
        return outcome

    def close(self) -> None:
        """Write everything queued, and end the thread."""
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
            # Separately, so that each transaction updates the counts of conversations once, in one order.
            for kind in (Entry, Update):
                group = [(one, future) for one, future in batch if isinstance(one, kind)]
                if group:
                    requests, futures = zip(*group, strict=True)
                    _settle(zip(futures, self._outcomes(requests), strict=True))
            for entries, future in batch:
                if isinstance(entries, list):
                    outcomes = self._reconciled(entries)
                    failed = all(map(_is_unavailable, outcomes))
                    _settle([(future, outcomes[0] if failed else outcomes)])
            gathering = len(batch) > 1

    def _reconciled(self, entries: Sequence[Entry]) -> Sequence[Outcome]:
        """Add new conversations, then update those that existed in an earlier state, until the request is done."""
        outcomes: dict[int, Outcome] = dict(enumerate(self._outcomes(entries)))
        for _ in range(len(entries) + UPDATE_RACES):
            updates = {place: one for place, one in outcomes.items() if isinstance(one, Update)}
            done = self._outcomes(list(updates.values())) if updates else ()
            outcomes |= {place: _as_logged(one) for place, one in zip(updates, done, strict=True)}
            again = [place for place, one in outcomes.items() if one is LookAgain.LATER]
            if not again:
                break
            outcomes |= zip(again, self._outcomes([entries[place] for place in again]), strict=True)
        often = invalid_state("The conversation changes too often to be updated; log it again later")
        return [often if isinstance(one, Update | LookAgain) else one for one in outcomes.values()]

    def _outcomes(self, requests: Sequence[Entry | Update]) -> Sequence[Outcome]:
        """Commit requests together, or one by one: one bad row must not take its neighbours with it."""
        try:
            for _ in range(KEY_RACES):
                with suppress(_KeyTakenError):  # the next lookup finds the conversation that has the key now
                    return self._commit(requests)
            return self._commit(requests)
        except Exception as error:  # noqa: BLE001 - whatever it is, every request must be answered
            refusal = _refusal_of(error)
        if len(requests) == 1 or _is_unavailable(refusal):
            return [refusal] * len(requests)
        return [self._outcomes([one])[0] for one in requests]

    def _commit(self, requests: Sequence[Entry | Update]) -> list[Outcome]:
        with self._database.write(durable=True) as connection:
            now = clock.now()
            new = [one for one in requests if isinstance(one, Entry)]
            updates = [one for one in requests if isinstance(one, Update)]
            return [
                *log_entries(connection, new, now=now),
                *apply_updates(connection, updates, now=now),
            ]


def log_entries(connection: Connection, entries: Sequence[Entry], *, now: int) -> list[Added]:
    """Add conversations inside a transaction, and return the outcome of each.

    The outcome of a reconciled conversation may be an update of its earlier state, left to another
    transaction.
    """
    batch = _Batch(connection, now)
    outcomes: dict[int, Added] = {}
    by_account: defaultdict[str, dict[int, Entry]] = defaultdict(dict)
    for place, entry in enumerate(entries):
        by_account[entry.caller.account_id][place] = entry
    # In one order, so that two processes never wait for each other.
    for _, mine in sorted(by_account.items()):
        outcomes |= zip(mine, batch.plan(list(mine.values())), strict=True)
    in_order = [outcomes[place] for place in range(len(entries))]
    if batch.rows:
        conversations.add(connection, batch.rows, batch.contents)
        _hold_keys(connection, entries, in_order, now)
        events.write(connection, batch.outbox)
    return in_order


@dataclass(slots=True)
class _Batch:
    """The rows of one transaction."""

    connection: Connection
    now: int
    rows: list[dict[str, object]] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    outbox: list[events.NewEvent] = field(default_factory=list)

    def plan(self, entries: Sequence[Entry]) -> list[Added]:
        """Plan the rows of conversations of one account."""
        connection, now, caller = self.connection, self.now, entries[0].caller
        account_id = caller.account_id
        standing = prompts.standing(connection, account_id, list({one.prompt_id for one in entries}))
        keys = [one.body.idempotency_key for one in entries if one.body.idempotency_key is not None]
        limit = caller.limits.conversations_per_month
        with_source = [one for one in entries if one.is_reconciled and one.body.source_id is not None]
        if (
            limit is not None or with_source
        ):  # no other process may count, or log the same conversation, in between
            accounts.lock(connection, account_id)
        by_key = {one.body.idempotency_key: one for one in entries}
        there = conversations.held_by_keys(connection, account_id, keys, now=now)
        held: dict[str, Added] = {one: at_its_state(by_key[one], row) for one, row in there.items()}
        states = FormerStates(connection, with_source)
        used = (
            0 if limit is None else accounts.used_in_period(connection, account_id, "conversations", now=now)
        )
        outcomes: list[Added] = []
        before = len(self.rows)
        for entry in entries:
            key, counted = entry.body.idempotency_key, used + len(self.rows) - before
            if key is not None and key in held:
                outcomes.append(held[key])
            elif entry.prompt_id not in standing:
                outcomes.append(not_found(entry.scheme.noun))
            elif (outcome := states.outcome_of(entry)) is not None:
                outcomes.append(outcome)
            elif limit is not None and counted >= limit:
                outcomes.append(quota("conversations per month", limit=limit, used=counted, now=now))
            else:
                logged = self._add(entry)
                outcomes.append(logged)
                states.note_added(entry)
                if key is not None:
                    held[key] = replace(logged, created=False)
        if added := len(self.rows) - before:
            accounts.add_usage(connection, account_id, "conversations", added, now=now)
        return outcomes

    def _add(self, entry: Entry) -> Logged:
        body, now = entry.body, self.now
        # unspecified: the status of a conversation that is logged without one. Logged conversations have usually ended.
        logged = Logged(new_id("cnv"), entry.prompt_id, body.status or "completed", now, created=True)
        raw = body.content.encode()
        self.rows.append(
            {
                "id": logged.id,
                "account_id": entry.caller.account_id,
                "prompt_id": logged.prompt_id,
                "status": logged.status,
                "llm_model": body.llm_model,
                "company_name": body.company_name,
                "idempotency_key": body.idempotency_key,
                "source_id": body.source_id,
                "content_hash": None if body.source_id is None else conversation_updates.content_hash(raw),
                **facts_columns({**entry.shape.facts, **body.facts()}),
                "created_at": now,
                **entry.shape.columns(began=now, now=now),
                "generation": 1,
            }
        )
        self.contents[logged.id] = raw
        payload = {
            "conversationId": logged.id,
            "promptId": logged.prompt_id,
            "status": logged.status,
            "createdAt": clock.iso(now),
        }
        account_id = entry.caller.account_id
        self.outbox.append(events.row("conversation.created", account_id, logged.id, payload, now=now))
        return logged


def apply_updates(
    connection: Connection, updates: Sequence[Update], *, now: int
) -> list[conversations.StoredConversation | ApiException]:
    """Change conversations inside a transaction that changes no others, and return the outcome of each.

    The insights of the old content are deleted immediately; those of the new content follow in the
    background. An update that changes nothing has no effect, so a request may be repeated.
    """
    if not updates:
        return []
    # Locks all of them, in one order, before any is read.
    with conversation_counts.following(connection, {one.conversation_id for one in updates}):
        return [_apply(connection, one, now) for one in updates]


def _apply(
    connection: Connection, wanted: Update, now: int
) -> conversations.StoredConversation | ApiException:
    before = conversations.find(connection, wanted.caller.account_id, wanted.conversation_id)
    if before is None:
        return not_found("Conversation")
    body = wanted.body
    raw = None if body.content is None else body.content.encode()
    if raw == before.content:  # also when the request is repeated because its answer was lost
        raw = None
    elif body.if_content_hash not in (None, _content_hash(before)):
        return invalid_state(
            "The content of the conversation has changed in the meantime; read it again before you change it",
        )
    given = {"status": body.status, "source_id": body.source_id}
    values: dict[str, object] = {name: value for name, value in given.items() if value is not None}
    # Facts from the new content override known ones, and are overridden by those of the request.
    facts = {} if raw is None or wanted.shape is None else dict(wanted.shape.facts)
    if "metadata" in facts and before.metadata is not None:
        facts["metadata"] = {**orjson.loads(before.metadata), **facts["metadata"]}
    facts |= body.facts()
    values |= changed_columns(facts)
    if (values.get("source_id") or before.source_id) is not None:
        known = _content_hash(before)
        values["content_hash"] = known if raw is None else conversation_updates.content_hash(raw)
    values = {name: value for name, value in values.items() if value != getattr(before, name)}
    if "metadata" in values:
        values |= assigned_columns(facts)
    if raw is not None and wanted.shape is not None:
        values |= wanted.shape.columns(began=before.created_at, now=now)
        values |= {"worker": None, "generation": before.generation + 1, "judge_problem": None}
    if values or raw is not None:
        # unspecified: an event for a changed conversation. None is emitted; insights.generated follows a new
        # content.
        conversation_updates.change(connection, before, values, raw)
    if "metadata" in values and raw is None:
        # They may now tell how the conversation ended.
        judging.decide_again(connection, before.account_id, conversation_id=before.id, now=now)
    after = conversations.find(connection, before.account_id, before.id)
    return not_found("Conversation") if after is None else after


def _content_hash(row: conversations.StoredConversation) -> str | None:
    """Return the hash of a content; if it was deleted because of its age, the hash is known only with a source id."""
    return row.content_hash if row.content is None else conversation_updates.content_hash(row.content)


def _hold_keys(
    connection: Connection,
    entries: Sequence[Entry],
    outcomes: Sequence[Added],
    now: int,
) -> None:
    rows = [
        {
            "account_id": entry.caller.account_id,
            "key": entry.body.idempotency_key,
            "conversation_id": outcome.id,
            # unspecified: how long the keys of bulk requests are kept. As long as their conversations.
            "expires_at": conversations.NEVER
            if entry.is_reconciled
            else now + limits.IDEMPOTENCY_HOURS * clock.HOUR,
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
        busy = "Another request is using the same idempotency key; try again"
        refusal = ApiException("SERVICE_UNAVAILABLE", busy)
        refusal.__cause__ = error
        return refusal
    return refusal_of(error, "a conversation could not be stored")


def _as_logged(updated: Outcome) -> Outcome:
    """Return the outcome of an entry whose earlier state was to be updated."""
    if isinstance(updated, conversations.StoredConversation):
        place = (updated.id, updated.prompt_id, updated.status, updated.created_at)
        return Logged(*place, created=False, updated=True)
    if isinstance(updated, ApiException) and updated.code == "INVALID_STATE":
        return LookAgain.LATER  # somebody else updated it in between
    return updated


def _is_unavailable(outcome: Outcome) -> bool:
    """Return whether the database caused the failure, which then affects every request."""
    return (
        isinstance(outcome, ApiException)
        and outcome.code == "SERVICE_UNAVAILABLE"
        and not isinstance(outcome.__cause__, _KeyTakenError)
    )


def _settle(settled: Iterable[tuple[asyncio.Future[Any], Outcome | Sequence[Outcome]]]) -> None:
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = defaultdict(list)
    for future, outcome in settled:
        by_loop[future.get_loop()].append((future, outcome))
    for loop, pairs in by_loop.items():
        if not loop.is_closed():  # woken once for all requests
            loop.call_soon_threadsafe(_set_results, pairs)


def _set_results(pairs: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, outcome in pairs:
        if future.done():
            continue
        if isinstance(outcome, ApiException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
