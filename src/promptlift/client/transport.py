"""Send requests and decode answers, with the pace, retries and errors."""

from __future__ import annotations

import json
import random
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlencode

import orjson

from promptlift.client.connection import Connection, ConnectionFactory, ExchangeFailed, RawAnswer
from promptlift.client.known_answers import KnownAnswers
from promptlift.client.pace import Pace
from promptlift.client.retry import CUT_OFF, Attempt, RetryPolicy
from promptlift.errors import ApiError, ConnectionFailed, RateLimited, UnexpectedResponse, from_response
from promptlift.retry import read_retry_after
from promptlift.schema import endpoints
from promptlift.schema.account import account_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.client.config import ClientConfig
    from promptlift.schema.endpoints import Endpoint
    from promptlift.schema.naming import Scheme


# With fewer requests no plan is exceeded within a minute, so the plan need not be requested.
ASK_PLAN_FROM: Final = 50
# Without a body: the previous answer is still current.
_NOT_MODIFIED = 304
_KEY_REFUSED = (401, 403)
_RATE_HEADERS = ("limit", "remaining", "reset")
# A larger reset value is in seconds since 1970.
_EPOCH_FROM = 1_000_000_000


class Clock:
    """The transport's clock; tests pass their own."""

    def now(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()

    def wall(self) -> float:
        """Return seconds since 1970."""
        return time.time()

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        """Wait in short intervals, so that Ctrl-C is handled on every system."""
        end = time.monotonic() + seconds
        while not stop.is_set() and (left := end - time.monotonic()) > 0:
            stop.wait(min(left, 0.25))
        return stop.is_set()


class Stopped(Exception):
    """The task was stopped while its request waited. Never raised outside the client."""


@dataclass(slots=True)
class Task:
    """A unit of work of possibly many requests: it counts them and can be stopped.

    Attributes
    ----------
    policy
        Retries of its requests, if different from the transport's.
    """

    stop: threading.Event = field(default_factory=threading.Event)
    requests: int = 0
    policy: RetryPolicy | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self) -> None:
        """Count one request."""
        with self._lock:
            self.requests += 1


@dataclass(frozen=True, slots=True)
class Call:
    """One request as a value.

    Attributes
    ----------
    path
        Below the base address, identifiers percent-encoded.
    query
        Query parameters as strings.
    body
        JSON, encoded.
    repeatable
        Whether sending it again has no further effect.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    repeatable: bool = False

    @classmethod
    def to(
        cls,
        endpoint: Endpoint[Any],
        scheme: Scheme,
        identifier: str | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        keyed: bool = False,
    ) -> Self:
        """Make the call of an endpoint.

        Parameters
        ----------
        query
            Python names of query parameters, and their values; ``None`` values are left out.
        body
            JSON, encoded.
        keyed
            Whether the body has an idempotency key.

        Raises
        ------
        ValidationError
            The endpoint needs an identifier and it is missing.
        """
        path = endpoint.path_for(scheme, identifier)
        params = endpoint.query.to_wire(query, scheme) if endpoint.query and query else {}
        return cls(endpoint.method, path, params, body, repeatable=endpoint.is_repeatable(keyed=keyed))

    def page(self, limit: int, offset: int) -> Call:
        """Return the call of one page of a list."""
        return replace(self, query={**self.query, "limit": str(limit), "offset": str(offset)})

    @property
    def lists(self) -> bool:
        """Whether it requests a page of a list."""
        return self.method == "GET" and "limit" in self.query

    @property
    def label(self) -> str:
        """Method and path, for messages: no query values, no body, no key."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: its body is decoded where it is used, possibly in another thread."""

    status: int
    body: bytes
    call: Call

    @property
    def data(self) -> Any:
        """The decoded body; every access decodes it again.

        Raises
        ------
        UnexpectedResponse
            The body is not JSON.
        """
        data = _loads(self.body)
        if data is not None:
            return data[0]
        start = self.body[:60].decode("utf-8", "replace")
        raise UnexpectedResponse(
            f"The answer is not JSON; it begins with {start!r}. Check that base_url is the service's",
            status=self.status,
            request=self.call.label,
        )


class Transport:
    """Send calls, one thread or many.

    Parameters
    ----------
    config
        Address and key.
    pace, policy, clock
        Request rate, retries and time.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        pace: Pace | None = None,
        policy: RetryPolicy | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.config = config
        self.clock = clock or Clock()
        self.policy = policy or RetryPolicy()
        self.pace = pace or Pace()
        self._pace_lock = threading.Lock()
        self._factory = ConnectionFactory(config)
        self._free: deque[Connection] = deque()
        self._reached = False
        self._known = KnownAnswers()
        weakref.finalize(self, _close_all, self._free)

    def __repr__(self) -> str:
        return f"Transport({self.config.base_url!r})"

    def send(self, call: Call, task: Task | None = None, *, connection: Connection | None = None) -> Answer:
        """Send one call, retry it where that is safe and may help, and return its answer.

        Raises
        ------
        ApiError
            The class shows what went wrong.
        """
        if connection is not None:
            return self._send(call, task or Task(), connection)
        connection = self.acquire()
        try:
            return self._send(call, task or Task(), connection)
        finally:
            self.release(connection)

    def _send(self, call: Call, task: Task, connection: Connection) -> Answer:
        target = f"{call.path}?{urlencode(call.query)}" if call.query else call.path
        began = self.clock.now()
        number = 0
        while True:
            self._wait_for_turn(task)
            number += 1
            task.count()
            outcome = self._once(call, target, connection)
            if isinstance(outcome, Answer):
                return outcome
            if task.stop.is_set():
                raise Stopped
            attempt = Attempt(number, self.clock.now() - began, call.repeatable, self._reached)
            policy = task.policy or self.policy
            pause = policy.pause(outcome, attempt, jitter=random.random())
            if pause is None:
                raise outcome
            if self.clock.wait(pause, task.stop):
                raise Stopped

    def _wait_for_turn(self, task: Task) -> None:
        while True:
            if task.stop.is_set():
                raise Stopped
            with self._pace_lock:
                wait = self.pace.ask(self.clock.now())
            if wait <= 0:
                return
            self.clock.wait(wait, task.stop)

    def _once(self, call: Call, target: str, connection: Connection) -> Answer | ApiError:
        known = self._known.of(target) if call.lists else None
        try:
            raw = connection.exchange(call.method, target, call.body, None if known is None else known[0])
        except BaseException as failure:
            with self._pace_lock:
                self.pace.failed()
            if isinstance(failure, ExchangeFailed):
                return self._exchange_error(failure, call)
            raise
        self._reached = True
        outcome: Answer | ApiError
        if known is not None and raw.status == _NOT_MODIFIED:
            outcome = Answer(200, known[1], call)
        else:
            outcome = _outcome(raw, call)
            if call.lists and isinstance(outcome, Answer):
                self._known.keep(target, raw.headers, raw.body)
        self._pace_answer(outcome, raw.headers)
        return outcome

    def _pace_answer(self, outcome: Answer | ApiError, headers: Mapping[str, str]) -> None:
        """Record an answer's information about the request rate."""
        now = self.clock.now()
        with self._pace_lock:
            if isinstance(outcome, RateLimited):
                self.pace.refused(now, outcome.retry_after)
            elif outcome.status in _KEY_REFUSED:  # before requests are counted
                self.pace.failed()
            else:
                self.pace.answered(now)
            limit, remaining, reset = (_number(headers.get(f"x-ratelimit-{name}")) for name in _RATE_HEADERS)
            if limit is None or isinstance(outcome, RateLimited):
                return
            self.pace.tell(int(limit))
            if remaining is not None and reset is not None:
                self.pace.left(remaining, reset - self.clock.wall() if reset >= _EPOCH_FROM else reset, now)

    def _exchange_error(self, failure: ExchangeFailed, call: Call) -> ApiError:
        if failure.kind == "too large":
            return UnexpectedResponse(f"The service sent too much: {failure.reason}", request=call.label)
        if failure.kind == "too slow":
            return ConnectionFailed(
                f"The answer of {self.config.base_url} came too slowly: {failure.reason}. Try again, or "
                "check the network between here and the service",
                request=call.label,
            )
        if failure.kind == "cut off":
            return UnexpectedResponse(
                f"The answer of {self.config.base_url} ended before it was complete ({failure.reason})",
                code=CUT_OFF,
                request=call.label,
            )
        return ConnectionFailed(
            f"No answer from {self.config.base_url}: {failure.reason.rstrip('.')}. Check the address and whether the service runs",
            request=call.label,
        )

    def acquire(self) -> Connection:
        """Return a free connection, or a new one, for one thread."""
        try:
            return self._free.pop().renew()
        except IndexError:
            return self._factory.create()

    def release(self, connection: Connection) -> None:
        """Make a connection available again."""
        self._free.append(connection)

    def ask_plan(self, task: Task | None = None) -> None:
        """Learn the request rate from the account's plan, once, when no header has given it.

        The plan is optional: a key that may not read the account, or a service without one, leaves the
        rate unknown, and the pace learns it from refusals.
        """
        if self.pace.told or self.pace.asked:
            return
        try:
            account = self.send(Call.to(endpoints.ACCOUNT_GET, self.config.scheme), task).data
        except ApiError:
            account = None
        plan = account.get("plan") if isinstance(account, dict) else None
        self.allow(account_rate(plan) if isinstance(plan, dict) else None)

    def allow(self, per_minute: int | None) -> None:
        """Set the request rate of the account's plan."""
        with self._pace_lock:
            self.pace.asked = True
            if not self.pace.told:  # headers take precedence
                self.pace.tell(per_minute)

    def close(self) -> None:
        """Close all idle connections."""
        _close_all(self._free)


def _close_all(connections: deque[Connection]) -> None:
    while connections:
        connections.pop().close()


def _outcome(raw: RawAnswer, call: Call) -> Answer | ApiError:
    if 300 <= raw.status < 400:
        # The key is for this address only, so redirects are not followed.
        where = raw.headers.get("location", "another address")
        return UnexpectedResponse(
            f"The service redirects to {where[:200]}; if that is right, use it as base_url",
            status=raw.status,
            request=call.label,
        )
    if raw.status >= 400:
        data = _loads(raw.body)
        return from_response(
            raw.status,
            data[0] if data else None,
            request=call.label,
            retry_after=read_retry_after(raw.headers.get("retry-after")),
        )
    return Answer(raw.status, raw.body, call)


def _loads(body: bytes) -> tuple[Any] | None:
    """Decode JSON; ``None`` if invalid, otherwise a tuple with the value."""
    try:
        return (orjson.loads(body),)
    except orjson.JSONDecodeError:
        pass
    # Python services write NaN and halves of surrogate pairs, which are not JSON. Both are replaced.
    try:
        lenient = json.loads(body, parse_constant=lambda _: None)
        return (json.loads(json.dumps(lenient, ensure_ascii=False).encode("utf-8", "replace")),)
    except (ValueError, RecursionError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1e12 else None
