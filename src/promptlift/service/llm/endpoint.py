"""One model endpoint: requests with retries on an event loop of their own, for callers that are threads."""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import CancelledError, Future
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptlift.service.event_loop import EventLoopThread
from promptlift.service.llm.answers import completion_problem, encode, error_text
from promptlift.service.llm.dialect import names_the_shape
from promptlift.service.llm.failures import LlmUnavailable
from promptlift.service.llm.retry import RETRIED_STATUSES, AdaptiveTimeout, RetryPolicy
from promptlift.service.llm.transport import NoAnswer, TooSlow, Transport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from promptlift.service.llm.port import JobView
    from promptlift.service.llm.settings import LlmSettings
    from promptlift.service.llm.transport import Reply

__all__ = ["ASKED_ONCE", "NO_JOB", "ONE_ATTEMPT", "Endpoint"]

Result = TypeVar("Result")


class Endpoint:
    """Requests with retries. Safe from several threads.

    Parameters
    ----------
    settings
        Address and key.
    timeout
        Seconds for one request at most.
    """

    def __init__(self, settings: LlmSettings, timeout: float) -> None:
        self._settings = settings
        self._timeout = AdaptiveTimeout(timeout)
        self._transport = Transport(settings)
        self._loop = EventLoopThread("promptlift-llm", at_end=self._transport.aclose)

    def close(self) -> None:
        """End all requests and pauses, and close all connections; returns when nothing is left running."""
        self._loop.close()

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
        """Send a request until there is an answer that is not worth another attempt.

        Parameters
        ----------
        seconds
            For each attempt; decided from how long earlier answers took when ``None``.

        Raises
        ------
        LlmUnavailable
            There is none within the policy, or the client was closed.
        Cancelled, EndpointDown
            As the job says.
        """
        content = None if body is None else encode(body)
        try:
            return job.wait(
                self._loop.submit(self._attempts, method, path, purpose, job, policy, body, content, seconds)
            )
        except CancelledError:
            raise LlmUnavailable("The language model did not answer: the client was closed.") from None

    def reachable(self, path: str, *, seconds: float) -> bool:
        """Whether one request has any answer within its time."""
        try:
            NO_JOB.wait(
                self._loop.submit(self._transport.send, "GET", path, purpose="models", seconds=seconds)
            )
        except (NoAnswer, CancelledError):
            return False
        return True

    def abort_older_than(self, moment: float) -> None:
        """End attempts that were begun before a time of ``time.monotonic``; policies decide about further ones."""
        self._loop.call(self._transport.abort_older_than, moment)

    def redact(self, text: str) -> str:
        """Return a text of the endpoint without the key."""
        key = self._settings.api_key
        return text.replace(key, "[key]") if key else text

    async def _attempts(
        self,
        method: str,
        path: str,
        purpose: str,
        job: JobView,
        policy: RetryPolicy,
        body: dict[str, Any] | None,
        content: bytes | None,
        seconds: float | None,
    ) -> Reply:
        start = time.monotonic()
        attempt, timeouts = 0, 0
        while True:
            attempt += 1
            retry_after = None
            try:
                async with job.place():
                    allowed = seconds or self._timeout.seconds(purpose, timeouts=timeouts)
                    begun = time.monotonic()
                    reply = await self._transport.send(
                        method, path, purpose=purpose, seconds=allowed, content=content
                    )
            except NoAnswer as error:
                timeouts += isinstance(error, TooSlow)
                problem: str | None = str(error)
            else:
                problem, retry_after = _problem(reply, body), reply.retry_after
            if problem is None:
                job.record(None)
                if reply.status == 200 and seconds is None:
                    self._timeout.record(purpose, time.monotonic() - begun)
                return reply
            problem = self.redact(problem)
            job.record(problem)
            pause = policy.pause(
                attempt, elapsed=time.monotonic() - start, retry_after=retry_after, chance=random.random()
            )
            if pause is None:
                times = "once" if attempt == 1 else f"{attempt} times"
                raise LlmUnavailable(
                    f"The language model did not answer, asked {times}: {problem}. "
                    "Check PROMPTLIFT_LLM_BASE_URL and that the endpoint is up.",
                    retry_after=retry_after,
                )
            await asyncio.sleep(pause)


class _NoJob:
    """For a call that belongs to no job: nothing counts it, limits it or cancels it."""

    def __init__(self, policy: RetryPolicy | None = None) -> None:
        self.policy = policy

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        yield

    def wait(self, work: Future[Result]) -> Result:
        try:
            return work.result()
        finally:
            work.cancel()  # the waiting thread was interrupted; no effect on what is done

    def spend(self, tokens: int) -> None:
        pass

    def record(self, problem: str | None) -> None:
        pass


NO_JOB: Final = _NoJob()
ONE_ATTEMPT: Final = RetryPolicy(attempts=1, answers=1)
ASKED_ONCE: Final = _NoJob(ONE_ATTEMPT)


def _problem(reply: Reply, body: dict[str, Any] | None) -> str | None:
    """Return why a reply counts as none: the same request may succeed a moment later."""
    if reply.status == 200:
        return None if body is None else completion_problem(reply.document)
    if reply.status not in RETRIED_STATUSES:
        return None
    said = error_text(reply.document)
    if names_the_shape(said, body):
        return None
    return f"it answered {reply.status} {said}".rstrip()
