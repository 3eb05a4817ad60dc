"""Send one request until there is an answer that is not worth another try."""

from __future__ import annotations

import random
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from promptlift.service.llm.answers import completion_problem, error_text
from promptlift.service.llm.dial import NoAnswer
from promptlift.service.llm.dialect import names_the_shape
from promptlift.service.llm.failures import LlmUnavailable
from promptlift.service.llm.retry import RETRIED_STATUSES, RetryPolicy
from promptlift.service.llm.transport import TooSlow

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from promptlift.service.llm.patience import Patience
    from promptlift.service.llm.port import JobView
    from promptlift.service.llm.transport import Reply, Transport

__all__ = ["ASKED_ONCE", "NO_JOB", "ONE_TRY", "Tries"]


class Tries:
    """Requests with retries over one transport. Safe from several threads.

    Parameters
    ----------
    transport
        Sends one request; closed with this.
    patience
        How long one request may take.
    safe
        Takes secrets out of a text that came from the endpoint.
    """

    def __init__(self, transport: Transport, patience: Patience, safe: Callable[[str], str]) -> None:
        self._transport = transport
        self._patience = patience
        self._safe = safe
        self._lock = threading.Lock()
        self._bells: set[threading.Event] = set()
        self._closed = False

    def close(self) -> None:
        """End every pause between two tries and close all connections."""
        with self._lock:
            self._closed = True
            for bell in self._bells:
                bell.set()
        self._transport.close()

    def send(
        self,
        method: str,
        path: str,
        *,
        purpose: str,
        job: JobView,
        policy: RetryPolicy,
        body: dict[str, Any] | None = None,
        seconds: float | None = None,
    ) -> Reply:
        """Send until there is an answer that is not worth another try.

        Parameters
        ----------
        seconds
            For each try; as long as answers for the purpose usually take when ``None``.

        Raises
        ------
        LlmUnavailable
            There is none within the policy.
        Cancelled
            The job was cancelled.
        """
        start = time.monotonic()
        attempt, timeouts = 0, 0
        while True:
            attempt += 1
            reply: Reply | None = None
            try:
                with job.place():
                    allowed = seconds or self._patience.seconds(purpose, timeouts=timeouts)
                    begun = time.monotonic()
                    reply = self._transport.send(
                        method, path, purpose=purpose, job=job, seconds=allowed, body=body
                    )
            except NoAnswer as error:
                job.check()
                timeouts += isinstance(error, TooSlow)
                problem: str | None = str(error)
            else:
                problem = _problem(reply, body)
            if problem is not None:
                problem = self._safe(problem)
            job.told(problem)
            if problem is None and reply is not None:
                if reply.status == 200 and seconds is None:
                    self._patience.told(purpose, time.monotonic() - begun)
                return reply
            retry_after = None if reply is None else reply.retry_after
            pause = policy.pause(
                attempt, elapsed=time.monotonic() - start, retry_after=retry_after, chance=random.random()
            )
            if pause is None or self._closed_within(pause, job):
                tries = "once" if attempt == 1 else f"{attempt} times"
                raise LlmUnavailable(
                    f"The language model did not answer, asked {tries}: {problem}. "
                    "Check PROMPTLIFT_LLM_BASE_URL and that the endpoint is up.",
                    retry_after=retry_after,
                )

    def reaches(self, path: str, *, purpose: str, seconds: float) -> bool:
        """Whether a request has any answer within its time; it is made once."""
        try:
            self._transport.send("GET", path, purpose=purpose, job=NO_JOB, seconds=seconds)
        except NoAnswer:
            return False
        return True

    def cut_older_than(self, moment: float) -> int:
        """End tries that were begun before a time of ``time.monotonic``; each is made again as its policy says."""
        return self._transport.cut_older_than(moment)

    def _closed_within(self, seconds: float, job: JobView) -> bool:
        """Pause between two tries; tell whether the client was closed meanwhile."""
        bell = threading.Event()
        with job.holding(bell.set):
            with self._lock:
                self._bells.add(bell)
                if self._closed:
                    bell.set()
            bell.wait(seconds)
            with self._lock:
                self._bells.discard(bell)
        job.check()
        return self._closed


class _NoJob:
    """For a call that belongs to no job: nothing counts it, limits it or cancels it."""

    def __init__(self, policy: RetryPolicy | None = None) -> None:
        self.policy = policy

    def place(self) -> AbstractContextManager[None]:
        return nullcontext()

    def holding(self, cut: Callable[[], None]) -> AbstractContextManager[None]:  # noqa: ARG002 - never cut
        return nullcontext()

    def spend(self, tokens: int) -> None:
        pass

    def told(self, problem: str | None) -> None:
        pass

    def check(self) -> None:
        pass


NO_JOB: Final = _NoJob()
ONE_TRY: Final = RetryPolicy(attempts=1, answers=1)
ASKED_ONCE: Final = _NoJob(ONE_TRY)


def _problem(reply: Reply, body: dict[str, Any] | None) -> str | None:
    """Why a reply is as good as none: the same request may have a better one a moment later."""
    if reply.status == 200:
        return None if body is None else completion_problem(reply.document)
    if reply.status not in RETRIED_STATUSES:
        return None
    said = error_text(reply.document)
    if names_the_shape(said, body):
        return None
    return f"it answered {reply.status} {said}".rstrip()
