"""One job's view of a language model: its calls are counted, share the process's budget, and can be cancelled."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, overload

from promptlift.service.llm.budget import Budget
from promptlift.service.llm.circuit import Circuit
from promptlift.service.llm.failures import Cancelled, EndpointDown, LlmError
from promptlift.service.llm.port import ServesJobs, check_purpose
from promptlift.service.llm.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from promptlift.service.llm.port import ChatAnswer, ChatModel, Parsed, Purpose

__all__ = ["OPTIMIZATION_POLICY", "Budget", "Calls", "Cancelled"]

OPTIMIZATION_POLICY: Final = RetryPolicy(attempts=16, budget=600.0, first=0.2, longest=10.0, answers=6)
"""Retries of an optimization's calls: short pauses at first, and enough of them to outlast what ``Circuit`` waits."""


class Calls:
    """One optimization's (or other job's) view of a model. Safe from many threads; used as a ``ChatModel``.

    Parameters
    ----------
    model
        The model; shared with other jobs.
    budget
        The process's limit of requests side by side. Held by a request, not by a pause between two tries.
    policy
        When to ask again.
    circuit
        When to stop asking for good; a new one when ``None``.
    """

    def __init__(
        self,
        model: ChatModel,
        budget: Budget,
        *,
        policy: RetryPolicy | None = OPTIMIZATION_POLICY,
        circuit: Circuit | None = None,
    ) -> None:
        self._job = _Job(budget, policy, circuit or Circuit())
        # A model that knows no jobs is counted and limited from outside, and ends its calls by itself.
        self._model = model.within(self._job) if isinstance(model, ServesJobs) else _Whole(model, self._job)

    def __repr__(self) -> str:
        return f"<Calls: {self.calls} calls, {self.tokens} tokens{', cancelled' if self.cancelled else ''}>"

    @property
    def calls(self) -> int:
        """Requests made, tried ones and second asks included."""
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
        """End all calls, from any thread: they raise ``Cancelled`` within a second, and so does every later one.

        Connections of requests under way are closed; those of other jobs are not touched.
        """
        self._job.cancel()

    @overload
    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: Purpose,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: None = None,
        check: None = None,
    ) -> ChatAnswer[None]: ...

    @overload
    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: Purpose,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        schema: type[Parsed],
        check: Callable[[Parsed], None] | None = None,
    ) -> ChatAnswer[Parsed]: ...

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
        check_purpose(purpose)
        self._job.check()
        try:
            answer = self._model.chat(messages, purpose=purpose, **wanted)
        except LlmError:
            # A connection that was cut for the cancelling must not look like a failure of the endpoint.
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
        self.requests = 0
        self.tokens = 0
        self.cancelled = False
        self._budget = budget
        self._circuit = circuit
        self._lock = threading.Lock()
        self._cuts: dict[object, Callable[[], None]] = {}
        self._problem = ""

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            self._cut_all()
        self._budget.withdraw(self)

    def _cut_all(self) -> None:
        # Under the lock: a connection is cut only while it is this job's.
        for cut in self._cuts.values():
            cut()
        self._cuts.clear()

    def check(self) -> None:
        if self.cancelled:
            raise Cancelled
        if self._circuit.down:
            raise EndpointDown(self._circuit.failures, self._circuit.seconds, reason=self._problem)

    @contextmanager
    def place(self) -> Iterator[None]:
        turn = self._budget.ask(self)
        if turn is not None:
            # Cancelled between the question and here: nobody else would wake this turn.
            if self.cancelled:
                self._budget.withdraw(self)
            turn.wait()
            if not turn.granted:
                raise Cancelled
        try:
            with self._lock:
                self.check()
                self.requests += 1
            yield
        finally:
            self._budget.free()

    @contextmanager
    def holding(self, cut: Callable[[], None]) -> Iterator[None]:
        mark = object()
        with self._lock:
            self.check()
            self._cuts[mark] = cut
        try:
            yield
        finally:
            with self._lock:
                self._cuts.pop(mark, None)

    def spend(self, tokens: int) -> None:
        with self._lock:
            self.tokens += tokens

    def told(self, problem: str | None) -> None:
        with self._lock:
            self._problem = problem or self._problem
            self._circuit.told(answered=problem is None, now=time.monotonic())
            if self._circuit.down:  # nobody waits on for an endpoint that is gone
                self._cut_all()


class _Whole:
    """A model that knows no jobs: a call holds one place as a whole, and counts as one request."""

    def __init__(self, model: ChatModel, job: _Job) -> None:
        self._model = model
        self._job = job

    def chat(
        self, messages: Sequence[Mapping[str, str]], *, purpose: Purpose, **wanted: Any
    ) -> ChatAnswer[Any]:
        with self._job.place():
            try:
                answer: ChatAnswer[Any] = self._model.chat(messages, purpose=purpose, **wanted)
            except LlmError as error:
                self._job.spend(error.tokens)
                raise
        self._job.spend(answer.tokens)
        return answer
