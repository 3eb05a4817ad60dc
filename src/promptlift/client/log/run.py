"""Log many conversations concurrently: every record once, with the outcome of each."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from promptlift.client.log.bulk import BulkLog
from promptlift.client.log.ledger import Ledger, LoggedState, ledger_path
from promptlift.client.log.presence import Presence, PresenceCheck, Present
from promptlift.client.log.records import FailedRecord, Outgoing, prepare
from promptlift.client.log.result import LogResult, NotUpdated
from promptlift.client.log.states import compare, is_news
from promptlift.client.retry import leaves_open
from promptlift.client.transport import Call, Task, Transport
from promptlift.client.worker_pool import WorkerPool
from promptlift.errors import (
    ApiError,
    ConnectionFailed,
    InvalidApiKey,
    InvalidState,
    LimitExceeded,
    NotFound,
    RateLimited,
    ServerError,
    UnexpectedResponse,
)
from promptlift.schema import endpoints, limits
from promptlift.schema.conversations import in_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from promptlift.client.connection import Connection

# Concurrent records share one sync of the disk in our service.
LOG_THREADS: Final = 16
# How many records are prepared and in flight at a time; the bodies of the others are not made yet.
_WINDOW: Final = limits.BULK_ROWS
# Groups of new conversations that are in flight at a time: while one is written, the next are on their way.
_GROUPS: Final = 3
# A single record may make the service fail; this many failures in a row mean that the service is broken.
_FAILING_MOST: Final = 2 * LOG_THREADS
# An id shared by this many conversations does not identify a conversation but, say, a customer.
_SHARED: Final = 9
# How often a conversation may change between reading and updating it.
_UPDATE_RACES: Final = 5

Outcome = Literal["logged", "updated", "already_there", "not_updated"]


@dataclass(frozen=True, slots=True)
class _Job:
    """A record that needs the service.

    Attributes
    ----------
    candidates
        Conversations in the service that may be the same one in another state, newest first.
    states
        What was logged from here with its source id, by content hash.
    known_as
        The conversation that it certainly is, when only its status or its source id is to be set.
    """

    one: Outgoing
    candidates: tuple[Present, ...] = ()
    states: Mapping[str, LoggedState] = field(default_factory=dict)
    known_as: Present | None = None

    @property
    def is_new(self) -> bool:
        """Whether nothing is known of it, so that it is logged as it is."""
        return self.known_as is None and not self.candidates


@dataclass(frozen=True, slots=True)
class _Done:
    outcome: Outcome
    conversation_id: str
    status: str | None = None


# Records of one request, and what became of each.
_Jobs = Sequence[_Job]
_Outcomes = list[_Done | Exception]


class LoggingRun:
    """Log records for one prompt.

    Parameters
    ----------
    account_id
        Whose ledger entries count.
    ledger_file
        The ledger; that of the user's data folder when it is left out.
    progress
        Called with the number of records that are done.
    """

    def __init__(
        self,
        transport: Transport,
        prompt_id: str,
        *,
        account_id: str,
        ledger_file: Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._transport = transport
        self._scheme = transport.config.scheme
        self._prompt_id = prompt_id
        self._task = Task()
        self._result = LogResult()
        self._progress = progress or (lambda _done: None)
        self._done = 0
        self._ledger = Ledger(ledger_file or ledger_path(), account_id=account_id, prompt_id=prompt_id)
        self._check = PresenceCheck(transport, self._task, prompt_id)
        self._bulk = BulkLog(transport, self._task)
        # Source ids of records in flight, and ids that turned out to be shared by conversations.
        self._under_way: set[str] = set()
        self._shared: set[str] = set()
        self._failing = 0

    def run(self, records: Iterable[Any]) -> LogResult:
        """Log all records.

        Raises
        ------
        InvalidApiKey, NotFound
            The key or the prompt is wrong: nothing else would go in either.
        """
        outgoing = prepare(records, self._prompt_id, self._scheme.link)
        pool: WorkerPool[_Jobs, _Outcomes]
        try:
            with WorkerPool(self._transport, self._work_on, task=self._task, threads=LOG_THREADS) as pool:
                self._feed(outgoing, pool)
        finally:
            self._ledger.close()
        self._result.failed.sort(key=lambda failure: failure.index)
        self._result.not_updated.sort(key=lambda changed: changed.index)
        return self._result

    def _feed(self, outgoing: Iterable[Outgoing | FailedRecord], pool: WorkerPool[_Jobs, _Outcomes]) -> None:
        window: list[Outgoing] = []
        for one in outgoing:
            if self._result.stopped is not None:
                self._not_sent()
            elif isinstance(one, FailedRecord):
                self._result.failed.append(one)
                self._report_progress()
            else:
                window.append(one)
                if len(window) >= _WINDOW:
                    self._give(window, pool)
                    window = []
        self._give(window, pool)
        self._collect(pool, leave=0)

    def _give(self, window: list[Outgoing], pool: WorkerPool[_Jobs, _Outcomes]) -> None:
        while window:
            now, later = self._apart(window)
            if not self._under_way.isdisjoint(one.source_id for one in now):
                self._collect(pool, leave=0)
            jobs: list[_Job] = []
            for one, job in self._plan(now):
                if self._result.stopped is not None:
                    self._not_sent()
                elif job is None:
                    self._result.already_there += 1
                    self._report_progress()
                else:
                    if one.source_id is not None:
                        self._under_way.add(one.source_id)
                    jobs.append(job)
            self._submit(jobs, pool)
            few = _GROUPS if self._bulk.is_offered else _WINDOW
            self._collect(pool, leave=0 if later else few)
            window = later

    def _submit(self, jobs: list[_Job], pool: WorkerPool[_Jobs, _Outcomes]) -> None:
        """Hand jobs to the pool: new conversations in groups where the service takes them, the others one by one."""
        new = [job for job in jobs if job.is_new]
        if not self._bulk.takes(len(new)):
            new = []
        for job in jobs:
            if not new or not job.is_new:
                pool.submit([job])
        for group in in_requests(new, lambda job: len(job.one.body)):
            pool.submit(group)

    def _apart(self, window: list[Outgoing]) -> tuple[list[Outgoing], list[Outgoing]]:
        """Keep states of one conversation apart: what becomes of the second depends on what became of the first."""
        now, later, taken = [], [], set()
        for one in window:
            if one.source_id is None or one.source_id in self._shared:
                now.append(one)
            elif one.source_id in taken:
                later.append(one)
            else:
                taken.add(one.source_id)
                now.append(one)
        return now, later

    def _plan(self, window: list[Outgoing]) -> Iterator[tuple[Outgoing, _Job | None]]:
        """Decide what to do with each record; ``None`` when the service already has it.

        The ledger knows what was logged, the service what it still has: it may have been put back to a former state.
        """
        if self._result.stopped is not None:
            yield from ((one, None) for one in window)
            return
        source_ids = list({one.source_id for one in window if one.source_id is not None})
        known = self._ledger.known([one.key for one in window])
        states = self._ledger.states(source_ids) if source_ids else {}
        ids = {one for found in known.values() for one in found}
        if self._check.offers_lookup is not True:
            ids |= {
                one for found in states.values() for state in found.values() for one in state.conversation_ids
            }
        try:
            present = self._check.ask(ids, source_ids)
        except ApiError as error:
            self._result.stopped = str(error)
            present = Presence()
        for one in window:
            yield one, self._job(one, known.get(one.key, []), states.get(one.source_id or "", {}), present)

    def _job(
        self,
        one: Outgoing,
        known_ids: list[str],
        states: Mapping[str, LoggedState],
        present: Presence,
    ) -> _Job | None:
        known = next((present.by_id[it] for it in known_ids if it in present.by_id), None)
        if one.source_id is None:
            return _Job(one) if known is None else None
        if self._check.offers_lookup:
            found = present.by_source.get(one.source_id, [])
        else:
            ids = dict.fromkeys(it for state in states.values() for it in state.conversation_ids)
            found = [present.by_id[it] for it in ids if it in present.by_id]
        same = next((it for it in found if it.content_hash == one.content_hash), None)
        if same is None and len(found) >= _SHARED:
            self._shared.add(one.source_id)
            found = []
        if same is None and known is not None and (not found or not self._check.offers_lookup):
            # It was logged before its source id was kept, or the service does not say what it has.
            same = known
        if same is None:
            return _Job(one, candidates=tuple(found), states=states)
        to_set = is_news(same.status, one.status) or (self._check.offers_lookup and not found)
        return _Job(one, known_as=same) if to_set else None

    def _work_on(self, jobs: _Jobs, connection: Connection) -> _Outcomes:
        """Log the records of one request; called in a thread of the pool."""
        if len(jobs) == 1:
            return [self._work(jobs[0], connection)]
        try:
            outcomes = self._bulk.send([job.one for job in jobs], connection)
        except ApiError as error:
            if leaves_open(error) or isinstance(error, InvalidApiKey):
                raise
            # Something between here and the service may take no large bodies.
            self._bulk.is_offered = False
            return [self._alone(job, connection) for job in jobs]
        return [
            one
            if isinstance(one, ApiError)
            else _Done("logged" if one.get("created") else "already_there", one["id"], one.get("status"))
            for one in outcomes
        ]

    def _alone(self, job: _Job, connection: Connection) -> _Done | Exception:
        try:
            return self._work(job, connection)
        except ApiError as error:
            return error

    def _work(self, job: _Job, connection: Connection) -> _Done:
        one = job.one
        try:
            if job.known_as is not None:
                return self._set(job.known_as, one, connection)
            done = self._reconcile(job, connection)
        except NotFound:  # it was there a moment ago
            done = None
        return done or self._post(one, connection)

    def _reconcile(self, job: _Job, connection: Connection) -> _Done | None:
        """Compare a record with the states that the service has; ``None`` when it is none of them."""
        for _ in range(_UPDATE_RACES):
            with contextlib.suppress(InvalidState):  # it was updated since it was read
                return self._compare(job, connection)
        raise UnexpectedResponse(
            f"Conversation {job.one.source_id} changes too often to be updated; log it again later"
        )

    def _compare(self, job: _Job, connection: Connection) -> _Done | None:
        one = job.one
        older: _Done | None = None
        grown: Present | None = None
        for candidate in job.candidates:
            found = self._read(candidate.id, connection)
            if found is None:
                continue
            there, status = found
            if there is None:  # its transcript was deleted because of its age, and does not come back
                return _Done("already_there", candidate.id, status)
            relation = compare(there, one.content)
            there_hash = hashlib.sha256(there.encode("utf-8", "surrogatepass")).hexdigest()
            if relation == "same":
                return self._set(Present(candidate.id, status, there_hash), one, connection, source_id=False)
            if relation == "edited":
                relation = "older" if _was_replaced(one, there_hash, job.states) else "newer"
            if relation == "older":
                older = _Done("already_there", candidate.id, status)
            elif relation == "newer" and grown is None:
                grown = Present(candidate.id, status, there_hash)
        if older is not None or grown is None:
            return older
        if not self._check.offers_lookup:
            return _Done("not_updated", grown.id, grown.status)
        fields = {
            "content": one.content,
            "status": one.status,
            "ifContentHash": grown.content_hash,
            **one.facts,
        }
        self._patch(grown.id, fields, connection)
        return _Done("updated", grown.id, one.status or grown.status)

    def _read(self, conversation_id: str, connection: Connection) -> tuple[str | None, str | None] | None:
        query = {"include_insights": False}
        call = Call.to(endpoints.CONVERSATIONS_GET, self._scheme, conversation_id, query=query)
        try:
            data = self._transport.send(call, self._task, connection=connection).data
        except NotFound:
            return None
        if not isinstance(data, dict) or not isinstance(data.get("content", 0), str | None):
            raise UnexpectedResponse("The answer is not a conversation with content", request=call.label)
        return data["content"], data.get("status")

    def _set(self, there: Present, one: Outgoing, connection: Connection, *, source_id: bool = True) -> _Done:
        """Set the status or the source id of a conversation whose content is the same."""
        news = is_news(there.status, one.status)
        if news and not self._check.offers_lookup:
            return _Done("not_updated", there.id, there.status)
        fields = {
            "status": one.status if news else None,
            "sourceId": one.source_id if source_id and there.content_hash is None else None,
        }
        if any(fields.values()):
            self._patch(there.id, fields, connection)
        return _Done("updated" if news else "already_there", there.id, one.status if news else there.status)

    def _patch(self, conversation_id: str, fields: dict[str, Any], connection: Connection) -> None:
        body = orjson.dumps({name: value for name, value in fields.items() if value is not None})
        call = Call.to(endpoints.CONVERSATIONS_UPDATE, self._scheme, conversation_id, body=body)
        self._transport.send(call, self._task, connection=connection)

    def _post(self, one: Outgoing, connection: Connection) -> _Done:
        call = Call.to(endpoints.CONVERSATIONS_CREATE, self._scheme, body=one.body, keyed=True)
        answer = self._transport.send(call, self._task, connection=connection)
        if not isinstance(answer.data, dict) or not isinstance(answer.data.get("id"), str):
            raise UnexpectedResponse("The answer is not a conversation with an id", request=call.label)
        # unspecified: the status for a conversation that was there. Ours answers 200, a new one is 201.
        outcome: Outcome = "already_there" if answer.status == 200 else "logged"
        return _Done(outcome, answer.data["id"], answer.data.get("status"))

    def _collect(self, pool: WorkerPool[_Jobs, _Outcomes], *, leave: int) -> None:
        """Collect results until at most ``leave`` requests are in flight."""
        for jobs, done, error in pool.results(leave=leave):
            outcomes: Sequence[_Done | Exception | None] = done or [error] * len(jobs)
            for job, outcome in zip(jobs, outcomes, strict=True):
                if job.one.source_id is not None:
                    self._under_way.discard(job.one.source_id)
                if isinstance(outcome, _Done):
                    self._count(job.one, outcome)
                elif outcome is not None:
                    self._note(job.one, outcome, pool)
                self._report_progress()

    def _count(self, one: Outgoing, done: _Done) -> None:
        self._failing = 0
        if done.outcome == "not_updated":
            changed = NotUpdated(one.index, one.source, one.source_id or "", done.conversation_id)
            self._result.not_updated.append(changed)
            return
        if done.outcome == "logged":
            self._result.logged += 1
        elif done.outcome == "updated":
            self._result.updated += 1
        else:
            self._result.already_there += 1
        self._check.note(done.conversation_id, done.status)
        content_hash = one.content_hash if one.source_id is not None else ""
        self._ledger.add(one.key, done.conversation_id, source_id=one.source_id, content_hash=content_hash)

    def _note(self, one: Outgoing, error: Exception, pool: WorkerPool[_Jobs, _Outcomes]) -> None:
        if isinstance(error, InvalidApiKey | NotFound) or not isinstance(error, ApiError):
            raise error
        final = isinstance(error, LimitExceeded | ConnectionFailed | RateLimited)
        if not final:
            self._result.failed.append(FailedRecord(one.index, one.source, str(error)))
        self._failing += isinstance(error, ServerError | UnexpectedResponse)
        if final or self._failing >= _FAILING_MOST:
            # Nothing else would be accepted now. Records in flight are awaited; the rest is counted.
            if self._result.stopped is None:
                self._result.stopped = str(error)
            self._result.not_sent += final + sum(len(jobs) for jobs in pool.cancel_pending())

    def _not_sent(self) -> None:
        self._result.not_sent += 1
        self._report_progress()

    def _report_progress(self) -> None:
        self._done += 1
        self._progress(self._done)


def _was_replaced(one: Outgoing, there_hash: str, states: Mapping[str, LoggedState]) -> bool:
    """Whether this content was logged from here before what the service has now."""
    mine, other = states.get(one.content_hash), states.get(there_hash)
    return mine is not None and (other is None or mine.number < other.number)
