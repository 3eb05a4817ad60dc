"""One job's view of a language model: its calls are counted, share the process's places, can be cancelled, and are repeated by a policy."""

from __future__ import annotations

import math
import time
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptlift.retry import backoff
from promptlift.service.llm.failures import Cancelled, EndpointDown, LlmError

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
        Requests at most, the first included.
    budget
        Seconds from the first request after which no other one is begun.
    first, longest
        Pause after the first failure, doubled for each further one, and its bound.
    answers
        Answers read at most: one that does not fit, or is empty, is asked for again.
    """

    attempts: int = 5
    budget: float = 180.0
    first: float = 1.0
    longest: float = 30.0
    answers: int = 2

    def pause(
        self, attempt: int, *, elapsed: float, retry_after: float | None = None, chance: float = 0.5
    ) -> float | None:
        """Return the seconds to wait before the next request, ``None`` when there is none.

        Parameters
        ----------
        attempt
            Requests made so far, at least 1.
        elapsed
            Seconds since the first request.
        retry_after
            What the endpoint asked for: the pause is never shorter. One that does not fit the budget ends it at once.
        chance
            A number from 0 to 1 that spreads the pauses of many callers over half to all of their length.
        """
        if attempt >= self.attempts:
            return None
        pause = backoff(attempt, first=self.first, longest=self.longest, jitter=chance)
        if retry_after is not None:
            pause = max(pause, retry_after)
        return pause if elapsed + pause <= self.budget else None


ONE_ATTEMPT: Final = RetryPolicy(attempts=1, answers=1)

OPTIMIZATION_POLICY: Final = RetryPolicy(attempts=16, budget=600.0, first=0.2, longest=10.0, answers=6)
"""Retries of an optimization's calls: short pauses at first, and enough of them to outlast ``PATIENCE_SECONDS``."""
PATIENCE_SECONDS: Final = 60.0
"""Longer than a restart of the endpoint takes, and than a limit of requests a minute."""


class Calls:
    """One optimization's (or other job's) view of a model. Safe from many threads; used as a ``ChatModel``.

    Parameters
    ----------
    model
        The endpoint; shared with other jobs.
    places
        The process's limit of requests side by side; none when ``None``. A request holds a place, a pause between two
        attempts does not.
    policy
        When to ask again; the model's own policy when ``None``.
    patience
        Seconds without any answer of the endpoint after which the job stops asking for good.

    Attributes
    ----------
    calls
        Requests made, repeated ones and second asks included.
    tokens
        Tokens used up, also by calls that failed.
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
        """End all calls, from any thread: they raise ``Cancelled`` at once, and so does every later one.

        Connections of requests under way are closed; those of other jobs are not touched.
        """
        self.cancelled = True
        self._cancel_work()

    def chat(
        self, messages: Sequence[Mapping[str, str]], *, purpose: Purpose, **wanted: Any
    ) -> ChatAnswer[Any]:
        """Ask for one answer; see ``ChatModel``.

        Raises
        ------
        Cancelled
            The job was cancelled, before or meanwhile.
        EndpointDown
            The endpoint did not answer anybody for longer than the patience.
        LlmUnavailable, LlmRefused, LlmBadAnswer
            As the model does.
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
        """Return the result of work for this job, which is cancelled with the job or when the endpoint is down."""
        self._work.add(work)
        try:
            if self.cancelled or self._down is not None:
                work.cancel()
            return work.result()
        except CancelledError:
            self._check()
            raise
        finally:
            work.cancel()  # the waiting thread was interrupted; no effect on what is done
            self._work.discard(work)

    # Called on the event loop of the endpoint, so nothing else counts meanwhile.

    def begin(self) -> None:
        """Count a request, unless none may be made any more."""
        self._check()
        self.calls += 1
        self._asked_since = min(self._asked_since, time.monotonic())

    def record(self, problem: str | None) -> None:
        """Record why a request had no answer; ``None`` when it was answered, whatever the answer was."""
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
