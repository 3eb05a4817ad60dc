"""One job's view of a language model: its calls are counted, limited, cancellable, and retried by a policy."""

from __future__ import annotations

import math
import time
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptlift.retry import backoff
from promptlift.service.llm.port import Cancelled, EndpointDown, LlmError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from promptlift.service.llm.client import ChatClient
    from promptlift.service.llm.port import ChatAnswer, Purpose


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential pauses within a budget of time and of requests.

    Attributes
    ----------
    attempts
        Maximum number of requests, including the first.
    budget
        Seconds after the first request during which another one may start.
    first, longest
        Pause after the first failure, doubled for each further one, and its maximum.
    answers
        Maximum number of answers: the model is asked again after one that does not match or is empty.
    """

    attempts: int = 5
    budget: float = 180.0
    first: float = 1.0
    longest: float = 30.0
    answers: int = 2

    def pause(
        self, attempt: int, *, elapsed: float, retry_after: float | None = None, chance: float = 0.5
    ) -> float | None:
        """Return the seconds to wait before the next request, ``None`` if there is no next request.

        Parameters
        ----------
        attempt
            Requests made so far, at least 1.
        elapsed
            Seconds since the first request.
        retry_after
            The pause that the endpoint requested: the minimum. If it exceeds the budget, there is no next
            request.
        chance
            A number from 0 to 1 that spreads the pauses of many callers between half and full length.
        """
        if attempt >= self.attempts:
            return None
        pause = backoff(attempt, first=self.first, longest=self.longest, jitter=chance)
        if retry_after is not None:
            pause = max(pause, retry_after)
        return pause if elapsed + pause <= self.budget else None


ONE_ATTEMPT: Final = RetryPolicy(attempts=1, answers=1)

OPTIMIZATION_POLICY: Final = RetryPolicy(attempts=16, budget=600.0, first=0.2, longest=10.0, answers=6)
"""Retries of an optimization's calls: short pauses at first, and enough to outlast ``PATIENCE_SECONDS``."""
PATIENCE_SECONDS: Final = 60.0
"""Longer than a restart of the endpoint, and than the period of a limit on requests per minute."""


class Calls:
    """One optimization's (or other job's) view of a model. Thread-safe; used as a ``ChatModel``.

    Parameters
    ----------
    model
        The endpoint; shared with other jobs.
    places
        The process's limit on concurrent requests; ``None`` for no limit. Requests count, pauses between
        attempts do not.
    policy
        The retry policy; by default the model's.
    patience
        Seconds without any answer from the endpoint after which the job gives up for good.

    Attributes
    ----------
    calls
        Requests made, including repeated ones.
    tokens
        Tokens used, including those of failed calls.
    cancelled
        Whether ``cancel`` was called.
    """

    def __init__(
        self,
        model: ChatClient,
        places: asyncio.Semaphore | None = None,
        *,
        policy: RetryPolicy | None = OPTIMIZATION_POLICY,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self.places = places
        self.policy = policy
        self.calls = 0
        self.tokens = 0
        self.cancelled = False
        self._model = model
        self._patience = patience
        self._asked_since = math.inf
        self._down: str | None = None
        self._work: set[Future[Any]] = set()

    def __repr__(self) -> str:
        return f"<Calls: {self.calls} calls, {self.tokens} tokens{', cancelled' if self.cancelled else ''}>"

    def cancel(self) -> None:
        """End all calls, from any thread: they raise ``Cancelled`` immediately, and so does every later call.

        Connections of running requests are closed; those of other jobs are not affected.
        """
        self.cancelled = True
        self._cancel_work()

    def chat(
        self, messages: Sequence[Mapping[str, str]], *, purpose: Purpose, **wanted: Any
    ) -> ChatAnswer[Any]:
        """Request one answer; see ``ChatModel``.

        Raises
        ------
        Cancelled
            The job was cancelled, before or during the call.
        EndpointDown
            The endpoint answered nobody for longer than the patience.
        LlmUnavailable, LlmRefused, LlmBadAnswer
            Raised by the model.
        """
        self._check()
        try:
            answer = self._model.answer(messages, purpose, self, **wanted)
        except LlmError:
            if self.cancelled:
                raise Cancelled from None
            raise
        if self.cancelled:
            raise Cancelled
        return answer

    def wait(self, work: Future[Result]) -> Result:
        """Return the result of work for this job; it is cancelled with the job, or when the endpoint is down."""
        self._work.add(work)
        try:
            if self.cancelled or self._down is not None:
                work.cancel()
            return work.result()
        except CancelledError:
            self._check()
            raise
        finally:
            work.cancel()  # the waiting thread was interrupted; no effect on a finished future
            self._work.discard(work)

    # Called on the endpoint's event loop, so counting needs no lock.

    def begin(self) -> None:
        """Count a request, unless no more may be made."""
        self._check()
        self.calls += 1
        self._asked_since = min(self._asked_since, time.monotonic())

    def record(self, problem: str | None) -> None:
        """Record why a request had no answer; ``None`` if it had one, whatever the answer."""
        endpoint = self._model.availability
        endpoint.record(problem)
        if endpoint.away_for(self._patience, asked_since=self._asked_since):
            self._down = problem or ""
            self._cancel_work()  # no call waits for an endpoint that is gone

    def _check(self) -> None:
        if self.cancelled:
            raise Cancelled
        if self._down is not None:
            raise EndpointDown(self._patience, reason=self._down)

    def _cancel_work(self) -> None:
        for work in self._work.copy():
            work.cancel()
