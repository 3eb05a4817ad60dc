"""Wait for the end of a run (an optimization, a benchmark, a run of a judge): how often to ask, what the bar shows, and how waiting ends."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.api.group import read_answer
from promptlift.client.transport import Call, Task
from promptlift.display.verdict import STAGES
from promptlift.errors import (
    ApiError,
    ConnectionFailed,
    PromptliftError,
    RateLimited,
    ServerError,
    UnexpectedResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.client.transport import Transport
    from promptlift.schema.endpoint import Endpoint

    Row = dict[str, Any]

ENDED: Final = ("completed", "failed", "stopped")
# Seconds between two requests: a tenth of the time waited, within these bounds.
_SHORTEST: Final = 0.5
_LONGEST: Final = 10.0
# Waiting uses at most this share of the requests that the plan allows.
_SHARE_OF_PACE: Final = 0.25
# Seconds without any answer until waiting gives up. What is waited for continues.
_GIVE_UP_SECONDS: Final = 600.0


class _WaitingEnded(PromptliftError):
    def __init__(self, message: str, *, run: Any) -> None:
        super().__init__(message)
        self.run = run


class RunFailed(_WaitingEnded):
    """A run failed: an optimization, a benchmark, or a run of a judge. The message says why, and how to continue.

    Attributes
    ----------
    run
        As it ended, with everything that was measured until then.
    """


class StillRunning(_WaitingEnded, TimeoutError):
    """The time limit of waiting is over; the run continues.

    Attributes
    ----------
    run
        As it was in the last answer.
    """


class RunStopped(UserWarning):
    """A run was stopped, by somebody or by its limit; what was measured until then stays."""


def pause_before_next_request(elapsed: float, per_minute: float | None) -> float:
    """Return the seconds until the next request: often at first, and never at the cost of other requests.

    Parameters
    ----------
    elapsed
        Seconds waited so far.
    per_minute
        Requests a minute that the plan allows; ``None`` when nothing is limited or nothing is known.
    """
    pause = min(max(elapsed / 10, _SHORTEST), _LONGEST)
    return max(pause, 60 / (per_minute * _SHARE_OF_PACE)) if per_minute else pause


class Wait:
    """One wait for the end of a run.

    Parameters
    ----------
    transport
        Sends the requests, and has the clock.
    endpoint
        Answers with the state of what is waited for.
    run_id
        What is waited for.
    noun
        What it is called: ``optimization``, ``benchmark`` or ``run``.
    go_on
        A sentence that says how to wait again.
    after_failure, after_stop
        Sentences on what can be done with a run that failed, and with one that was stopped.
    timeout
        Seconds; ``None`` waits for as long as it takes.
    look
        Called with every state that the service sends.
    known
        Whether it is known to exist: then a failing network is waited out.
    """

    def __init__(
        self,
        transport: Transport,
        endpoint: Endpoint[Any],
        run_id: str,
        *,
        noun: str,
        go_on: str,
        after_failure: str,
        after_stop: str = "",
        timeout: float | None,
        look: Callable[[Row], None],
        known: bool = False,
    ) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._id = run_id
        self._noun = noun
        self._go_on = go_on
        self._after_failure = after_failure
        self._after_stop = after_stop
        self._timeout = timeout
        self._look = look
        self._known = known
        self._task = Task()

    def run(self) -> Any:
        """Wait, and return the run at its end; warn when it was stopped.

        Raises
        ------
        RunFailed
            When it failed.
        StillRunning
            When the time is over.
        ApiError
            When the service cannot be reached any more; the message says how to continue.
        KeyboardInterrupt
            At once; the message says how to continue.
        """
        try:
            ended = self.read(self._run())
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"Waiting was interrupted. {self._go_on}") from None
        if ended.status == "failed":
            raise RunFailed(f"{why_it_ended(ended, self._noun)} {self._after_failure}", run=ended)
        if ended.status == "stopped":
            told = f"{why_it_ended(ended, self._noun)} {self._after_stop}".rstrip()
            warnings.warn(told, RunStopped, stacklevel=4)
        return ended

    def read(self, state: Row) -> Any:
        """Return a state of the run as the type of the endpoint's answer."""
        return read_answer(self._endpoint, state, f"{self._endpoint.name} {self._id}")

    def _run(self) -> Row:
        clock = self._transport.clock
        began = last_answer = clock.now()
        never = threading.Event()
        while True:
            state, failure = self._ask()
            now = clock.now()
            if state is not None:
                last_answer = now
                self._known = True
                self._look(state)
                if state.get("status") in ENDED:
                    return state
            elif failure is not None and now - last_answer >= _GIVE_UP_SECONDS:
                failure.message = f"{failure.message}. {self._go_on}"
                raise failure
            elapsed = now - began
            pause = pause_before_next_request(elapsed, self._transport.pace.per_minute)
            if isinstance(failure, RateLimited) and failure.retry_after:
                pause = max(pause, min(failure.retry_after, _GIVE_UP_SECONDS))
            if self._timeout is not None:
                left = self._timeout - elapsed
                if left <= 0:
                    status = "running" if state is None else state["status"]
                    raise StillRunning(
                        f"The {self._noun} is still {status} after {elapsed:.0f} seconds. {self._go_on}",
                        run=None if state is None else self.read(state),
                    )
                pause = min(pause, left)
            clock.wait(pause, never)

    def _ask(self) -> tuple[Row | None, ApiError | None]:
        """Ask once: return the state, or the error that prevented it."""
        call = Call.to(self._endpoint, self._transport.config.scheme, self._id)
        try:
            data = self._transport.send(call, self._task).data
        except (ConnectionFailed, ServerError, RateLimited, UnexpectedResponse) as error:
            if not self._known:
                raise
            return None, error
        if not isinstance(data, dict) or not isinstance(data.get("status"), str):
            article = "an" if self._noun[0] in "aeiou" else "a"
            raise UnexpectedResponse(
                f"The answer is not {article} {self._noun} with a status", request=call.label
            )
        return data, None


def progress_of(state: Row) -> tuple[int, int] | None:
    """Return simulated conversations done and planned at most; ``None`` where the service does not say."""
    results = state.get("results")
    progress = results.get("progress") if isinstance(results, dict) else None
    if not isinstance(progress, dict):
        return None
    done, most = progress.get("conversationsDone"), progress.get("conversationsMax")
    if not isinstance(done, int) or not isinstance(most, int) or most <= 0:
        return None
    return min(done, most), most


def bar_texts(state: Row) -> tuple[str, str]:
    """Return the texts before and after a bar: status or stage, and the confidence so far."""
    results = state.get("results")
    results = results if isinstance(results, dict) else {}
    progress = results.get("progress")
    stage = progress.get("stage") if isinstance(progress, dict) else None
    status = str(state.get("status"))
    before = STAGES.get(str(stage), status) if status == "running" else status
    confidence = results.get("confidence")
    after = ""
    if isinstance(confidence, int | float) and not isinstance(confidence, bool):
        after = f"confidence {confidence:.2f}"
    if state.get("rehearsal") is True:
        before = f"rehearsal: {before}"
    return before, after


def why_it_ended(run: Any, noun: str = "optimization") -> str:
    """Return a sentence on why a run failed or was stopped, as far as the service says."""
    if run.status == "failed":
        why = run.failure or getattr(getattr(run, "results", None), "explanation", None)
        return f"The {noun} failed: {why or 'the service does not say why'}."
    why = (run.stop_reason or "").rstrip(".")
    return f"The {noun} was stopped{why and f': {why}'}."
