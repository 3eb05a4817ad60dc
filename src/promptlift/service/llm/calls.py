"""One job's view of a language model: its calls are counted, share the process's budget, and can be cancelled."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from concurrent.futures import CancelledError, Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptlift.service.llm.failures import Cancelled, EndpointDown, LlmError
from promptlift.service.llm.retry import Circuit, RetryPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from promptlift.service.llm.client import ChatClient
    from promptlift.service.llm.port import ChatAnswer, Purpose

__all__ = ["OPTIMIZATION_POLICY", "Budget", "Calls", "Cancelled"]

OPTIMIZATION_POLICY: Final = RetryPolicy(attempts=16, budget=600.0, first=0.2, longest=10.0, answers=6)
"""Retries of an optimization's calls: short pauses at first, and enough of them to outlast what ``Circuit`` waits."""

Result = TypeVar("Result")


class Budget:
    """A semaphore over all model calls of one process that is fair between jobs.

    Places that become free go round: one to each job that waits, whatever the number of its waiting calls, and first
    come first served within a job. A job with a hundred waiting calls does not hold up another with one.

    Parameters
    ----------
    at_a_time
        Calls side by side.
    """

    def __init__(self, at_a_time: int) -> None:
        if at_a_time < 1:
            raise ValueError(f"at_a_time must be at least 1, not {at_a_time}")
        self.at_a_time = at_a_time
        self._taken = 0
        self._lock = threading.Lock()
        # In the order of their turns; a job is here only while calls of it wait.
        self._waiting: dict[object, deque[Future[None]]] = {}

    def __repr__(self) -> str:
        return f"Budget(at_a_time={self.at_a_time})"

    def ask(self, job: object) -> Future[None]:
        """Ask for a place; the future is done when it is granted. Hand the future to ``leave`` in any case."""
        turn: Future[None] = Future()
        with self._lock:
            if self._taken < self.at_a_time:
                self._taken += 1
                turn.set_result(None)
            else:
                self._waiting.setdefault(job, deque()).append(turn)
        return turn

    def leave(self, turn: Future[None]) -> None:
        """Release a place to the next in line, or stop waiting for one."""
        with self._lock:
            if turn.cancel():
                return
            while self._waiting:
                job, turns = next(iter(self._waiting.items()))
                del self._waiting[job]
                following = turns.popleft()
                if turns:
                    self._waiting[job] = turns
                if following.set_running_or_notify_cancel():
                    following.set_result(None)
                    return
            self._taken -= 1


class Calls:
    """One optimization's (or other job's) view of a model. Safe from many threads; used as a ``ChatModel``.

    Parameters
    ----------
    model
        The endpoint; shared with other jobs.
    budget
        The process's limit of requests side by side. Held by a request, not by a pause between two attempts.
    policy
        When to ask again.
    circuit
        When to stop asking for good; a new one when ``None``.
    """

    def __init__(
        self,
        model: ChatClient,
        budget: Budget,
        *,
        policy: RetryPolicy | None = OPTIMIZATION_POLICY,
        circuit: Circuit | None = None,
    ) -> None:
        self._job = _Job(budget, policy, circuit or Circuit())
        self._model = model.within(self._job)

    def __repr__(self) -> str:
        return f"<Calls: {self.calls} calls, {self.tokens} tokens{', cancelled' if self.cancelled else ''}>"

    @property
    def calls(self) -> int:
        """Requests made, repeated ones and second asks included."""
        return self._job.requests

    @property
    def tokens(self) -> int:
        """Tokens used up, also by calls that failed."""
        return self._job.tokens

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._job.cancelled

    def cancel(self) -> None:
        """End all calls, from any thread: they raise ``Cancelled`` at once, and so does every later one.

        Connections of requests under way are closed; those of other jobs are not touched.
        """
        self._job.cancel()

    def chat(
        self, messages: Sequence[Mapping[str, str]], *, purpose: Purpose, **wanted: Any
    ) -> ChatAnswer[Any]:
        """Ask for one answer; see ``ChatModel``.

        Raises
        ------
        Cancelled
            The job was cancelled, before or meanwhile.
        EndpointDown
            Too many requests of this job in a row had no answer.
        LlmUnavailable, LlmRefused, LlmBadAnswer
            As the model does.
        """
        self._job.check()
        try:
            answer = self._model.chat(messages, purpose=purpose, **wanted)
        except LlmError:
            if self._job.cancelled:
                raise Cancelled from None
            raise
        if self._job.cancelled:
            raise Cancelled
        return answer


class _Job:
    """The ``JobView`` of one ``Calls``."""

    def __init__(self, budget: Budget, policy: RetryPolicy | None, circuit: Circuit) -> None:
        self.policy = policy
        self.budget = budget
        self.requests = 0
        self.tokens = 0
        self.cancelled = False
        self._circuit = circuit
        self._lock = threading.Lock()
        self._work: set[Future[Any]] = set()
        self._problem = ""

    def cancel(self) -> None:
        self.cancelled = True
        self._cancel_work()

    def check(self) -> None:
        """Raise ``Cancelled`` when the job was cancelled, and ``EndpointDown`` when no more calls should be made."""
        if self.cancelled:
            raise Cancelled
        if self._circuit.down:
            raise EndpointDown(self._circuit.failures, self._circuit.seconds, reason=self._problem)

    def begin(self) -> None:
        """Count a request, unless none may be made any more."""
        with self._lock:
            self.check()
            self.requests += 1

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        turn = self.budget.ask(self)
        try:
            if not turn.done():
                await asyncio.wrap_future(turn)
            self.begin()
            yield
        finally:
            self.budget.leave(turn)

    def wait(self, work: Future[Result]) -> Result:
        with self._lock:
            self._work.add(work)
        try:
            if self.cancelled or self._circuit.down:
                work.cancel()
            return work.result()
        except CancelledError:
            self.check()
            raise
        finally:
            work.cancel()  # the waiting thread was interrupted; no effect on what is done
            with self._lock:
                self._work.discard(work)

    def spend(self, tokens: int) -> None:
        with self._lock:
            self.tokens += tokens

    def record(self, problem: str | None) -> None:
        with self._lock:
            self._problem = problem or self._problem
            self._circuit.record(answered=problem is None, now=time.monotonic())
        if self._circuit.down:  # no call waits for an endpoint that is gone
            self._cancel_work()

    def _cancel_work(self) -> None:
        with self._lock:
            work = list(self._work)
        for future in work:
            future.cancel()
