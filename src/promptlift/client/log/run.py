"""Log many conversations concurrently: every record once, with the outcome of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.log.records import FailedRecord, Outgoing, prepare
from promptlift.client.log.result import LogResult
from promptlift.client.retry import ONCE, leaves_open
from promptlift.client.transport import ASK_PLAN_FROM, Call, Task, Transport
from promptlift.client.worker_pool import WorkerPool
from promptlift.errors import (
    ApiError,
    ConnectionFailed,
    InvalidApiKey,
    LimitExceeded,
    NotFound,
    RateLimited,
    ServerError,
    UnexpectedResponse,
    from_response,
)
from promptlift.schema import endpoints, limits
from promptlift.schema.conversations import in_requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptlift.client.connection import Connection

# Concurrent records share one disk sync in a service that accepts them one by one.
LOG_THREADS: Final = 16
# Maximum records prepared and in flight; the bodies of the others are not built yet.
_WINDOW: Final = limits.BULK_ROWS
# Maximum groups in flight: while one is written, the next are in transit.
_GROUPS: Final = 3
# A single record may make the service fail; this many failures in a row mean that the service is broken.
_FAILING_MOST: Final = 2 * LOG_THREADS

# Records of one request, and the row of the answer for each, or why it was refused.
_Group = Sequence[Outgoing]
_Outcomes = list[dict[str, Any] | Exception]


class LoggingRun:
    """Log records for one prompt.

    They are sent in groups if the service supports it: it recognizes conversations logged before, and
    replaces their earlier state. Otherwise they are sent one by one, and their idempotency keys prevent
    duplicates.

    Parameters
    ----------
    progress
        Called with the number of finished records.
    first
        Sends the first request in place of the transport, for records that are kept until they can be sent: nothing is
        then tried twice, and a prompt that was deleted refuses its records only.

    Attributes
    ----------
    settled
        Keys of the records that the service has, or will never accept.
    """

    def __init__(
        self,
        transport: Transport,
        prompt_id: str,
        *,
        progress: Callable[[int], None] | None = None,
        first: Transport | None = None,
    ) -> None:
        self._transport = transport
        self._scheme = transport.config.scheme
        self._prompt_id = prompt_id
        self._first = first
        self._task = Task(policy=None if first is None else ONCE)
        self.settled: set[str] = set()
        self._result = LogResult()
        self._progress = progress or (lambda _done: None)
        self._done = 0
        self._failing = 0
        self._takes_groups: bool | None = None

    def run(self, records: Iterable[Any]) -> LogResult:
        """Log all records.

        Raises
        ------
        InvalidApiKey, NotFound
            The key or the prompt is wrong, so the other records would fail too.
        """
        pool: WorkerPool[_Group, _Outcomes]
        with WorkerPool(self._transport, self._log, task=self._task, threads=LOG_THREADS) as pool:
            window: list[Outgoing] = []
            for one in prepare(records, self._prompt_id, self._scheme.link):
                if self._result.stopped is not None:
                    self._not_sent(1)
                elif isinstance(one, FailedRecord):
                    self._result.failed.append(one)
                    self._report_progress()
                else:
                    window.append(one)
                    if len(window) >= _WINDOW:
                        self._submit(window, pool)
                        window = []
            self._submit(window, pool)
            self._collect(pool, leave=0)
        self._result.failed.sort(key=lambda failure: failure.index)
        return self._result

    def _submit(self, window: list[Outgoing], pool: WorkerPool[_Group, _Outcomes]) -> None:
        if not window:
            return
        if self._takes_groups is None:
            self._takes_groups = self._offers_groups()
        if self._takes_groups:
            groups = list(in_requests(window, lambda one: len(one.body)))
        else:
            if len(window) > ASK_PLAN_FROM:
                self._transport.ask_plan(self._task)
            groups = [[one] for one in window]
        for group in groups:
            if self._result.stopped is not None:
                self._not_sent(len(group))
                continue
            pool.submit(group)
            self._collect(pool, leave=_GROUPS if self._takes_groups else _WINDOW)

    def _offers_groups(self) -> bool:
        try:
            data = (self._first or self._transport).send(self._bulk_call([]), self._task).data
        except InvalidApiKey:
            raise
        except ApiError as error:  # also if it could not answer: one by one always works
            if self._first is not None and leaves_open(error):
                raise
            return False
        return isinstance(data, dict) and data.get("data") == []

    def _log(self, group: _Group, connection: Connection) -> _Outcomes:
        """Log the records of one request; runs in a thread of the pool."""
        if not self._takes_groups:
            return [self._post(one, connection) for one in group]
        call = self._bulk_call([one.body for one in group])
        try:
            data = self._transport.send(call, self._task, connection=connection).data
        except ApiError as error:
            if leaves_open(error) or isinstance(error, InvalidApiKey):
                raise
            # Something between here and the service may reject large bodies.
            self._takes_groups = False
            return [self._post(one, connection) for one in group]
        rows = data.get("data") if isinstance(data, dict) else None
        if not isinstance(rows, list) or len(rows) != len(group):
            raise UnexpectedResponse(
                "The answer does not have a row for each conversation", request=call.label
            )
        return [
            row
            if isinstance(row, dict) and isinstance(row.get("id"), str)
            else from_response(400, row, request=call.label)
            for row in rows
        ]

    def _bulk_call(self, bodies: Sequence[bytes]) -> Call:
        body = b'{"conversations":[' + b",".join(bodies) + b"]}"
        return Call.to(endpoints.CONVERSATIONS_LOG_MANY, self._scheme, body=body, keyed=True)

    def _post(self, one: Outgoing, connection: Connection) -> dict[str, Any] | Exception:
        call = Call.to(endpoints.CONVERSATIONS_CREATE, self._scheme, body=one.body, keyed=True)
        try:
            answer = self._transport.send(call, self._task, connection=connection)
        except ApiError as error:
            return error
        if not isinstance(answer.data, dict) or not isinstance(answer.data.get("id"), str):
            return UnexpectedResponse("The answer is not a conversation with an id", request=call.label)
        # unspecified: the status for an existing conversation. Ours answers 200, and 201 for a new one.
        return {"id": answer.data["id"], "created": answer.status != 200}

    def _collect(self, pool: WorkerPool[_Group, _Outcomes], *, leave: int) -> None:
        """Collect results until at most ``leave`` requests are in flight."""
        for group, done, error in pool.results(leave=leave):
            outcomes: Sequence[Any] = done if done is not None else [error] * len(group)
            for one, outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    self._note(one, outcome, pool)
                else:
                    self.settled.add(one.key)
                    self._count(outcome)
                self._report_progress()

    def _count(self, row: dict[str, Any]) -> None:
        self._failing = 0
        if row.get("created"):
            self._result.logged += 1
        elif row.get("updated"):
            self._result.updated += 1
        else:
            self._result.already_there += 1

    def _note(self, one: Outgoing, error: Exception, pool: WorkerPool[_Group, _Outcomes]) -> None:
        if not isinstance(error, ApiError) or isinstance(error, InvalidApiKey):
            raise error
        # Without a code it may be from something between here and the service.
        if isinstance(error, NotFound) and (self._first is None or error.code is None):
            raise error
        final = isinstance(error, LimitExceeded | ConnectionFailed | RateLimited)
        if not final:
            self._result.failed.append(FailedRecord(one.index, one.source, str(error)))
        if not leaves_open(error):
            self.settled.add(one.key)
        self._failing += isinstance(error, ServerError | UnexpectedResponse)
        if final or self._failing >= _FAILING_MOST:
            # Nothing else would be accepted now. Records in flight are awaited; the rest is counted.
            if self._result.stopped is None:
                self._result.stopped = str(error)
            self._result.not_sent += final + sum(len(group) for group in pool.cancel_pending())

    def _not_sent(self, count: int) -> None:
        self._result.not_sent += count
        for _ in range(count):
            self._report_progress()

    def _report_progress(self) -> None:
        self._done += 1
        self._progress(self._done)
