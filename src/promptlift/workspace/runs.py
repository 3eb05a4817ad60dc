"""One handle for every run of the service: an optimization, a benchmark, a judge at work."""

from __future__ import annotations

import contextlib
import threading
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar

from promptlift.client.api.group import read_answer
from promptlift.client.transport import Call, Task
from promptlift.errors import (
    ApiError,
    ConfigError,
    ConnectionFailed,
    PromptliftError,
    RateLimited,
    ServerError,
    UnexpectedResponse,
)
from promptlift.workspace.session import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.schema.endpoints import Endpoint
    from promptlift.workspace.session import Session

    Row = dict[str, Any]

__all__ = ["ENDED", "Run", "RunFailed", "RunStopped", "StillRunning", "pause_before_next_request"]


State = TypeVar("State")

ENDED: Final = ("completed", "failed", "stopped")
# Seconds between two requests: a tenth of the time waited, within these bounds.
_SHORTEST: Final = 0.5
_LONGEST: Final = 10.0
# Waiting uses at most this share of the requests that the plan allows.
_SHARE_OF_PACE: Final = 0.25
# Seconds without any answer until waiting gives up. The run continues.
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
        The run, with everything that was measured until then.
    """


class StillRunning(_WaitingEnded, TimeoutError):
    """The time limit of waiting is over; the run continues.

    Attributes
    ----------
    run
        The run, as it was in the last answer.
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


class Run(Room, Generic[State]):
    """A run of the service. Every field of its state is an attribute of the run too, such as ``run.status``.

    Parameters
    ----------
    lift
        The workspace.
    state
        What the service answered last.

    Attributes
    ----------
    id
        The run's id.
    state
        What the service answered last; :meth:`refresh` asks again.
    """

    _noun: ClassVar[str]
    _unit: ClassVar[str] = "conversations"
    # How a user comes by the run again, with its id.
    _call: ClassVar[str]
    _endpoint: ClassVar[Endpoint[Any]]

    def __init__(self, lift: Session, state: State) -> None:
        super().__init__(lift)
        self.state = state
        self.id: str = state.id  # type: ignore[attr-defined]  # every state has one

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "state" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.state, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in dir(self.state) if not name.startswith("_"))]

    def __repr__(self) -> str:
        return f"<{self._noun} {self.id}: {self.status}>"

    def refresh(self) -> Self:
        """Read the state again."""
        call = Call.to(self._endpoint, self.client.config.scheme, self.id)
        self.state = self._state_of(self.client.transport.send(call, Task()).data)
        return self

    def wait(self, *, timeout: float | None = None) -> Self:
        """Wait for the end with a progress bar; a network that fails for a while does not end the waiting.

        Ctrl-C and the kernel's stop button end the waiting immediately, not the run.

        Parameters
        ----------
        timeout
            Seconds to wait at most.

        Returns
        -------
        Run
            The same run, completed or stopped (then a warning says why).

        Raises
        ------
        RunFailed
            When it failed; the message says why.
        StillRunning
            When ``timeout`` has passed. The run continues.
        """
        if timeout is not None and not timeout >= 0:
            raise ConfigError(f"timeout must be seconds, 0 or more, or None, not {timeout!r}.")
        try:
            with self._waiting_bar() as look:
                self._wait_until_ended(timeout, look)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"Waiting was interrupted. {self._how_to_continue()}") from None
        if self.status == "failed":
            raise RunFailed(f"{self.why_it_ended()} {self._after_failure()}", run=self)
        if self.status == "stopped":
            warnings.warn(f"{self.why_it_ended()} {self._after_stop()}".rstrip(), RunStopped, stacklevel=2)
        return self

    def why_it_ended(self) -> str:
        """Return a sentence on why the run failed or was stopped, as far as the service says."""
        if self.status == "failed":
            why = self.failure or part(self.state, "results", "explanation")
            return f"The {self._noun} failed: {why or 'the service does not say why'}."
        why = (self.stop_reason or "").rstrip(".")
        return f"The {self._noun} was stopped{why and f': {why}'}."

    # What kinds of runs differ in.

    def _counts(self, state: Row) -> tuple[Any, Any]:
        """Return how much of a run is done and how much there is at most, as far as the service says."""
        raise NotImplementedError

    def _texts(self, state: Row) -> tuple[str, str]:
        """Return the texts before and after the bar."""
        return str(state.get("status")), ""

    def _after_failure(self) -> str:
        """Return a sentence on what can be done with a run that failed."""
        return self._after_stop()

    def _after_stop(self) -> str:
        """Return a sentence on what can be done with a run that was stopped."""
        return f"{self._called()}.resume() continues it."

    def _called(self) -> str:
        return self._call.format(repr(self.id))

    def _how_to_continue(self) -> str:
        called = self._called()
        return f"The {self._noun} continues: {called}.wait() waits for it again, {called}.stop() stops it."

    # Waiting.

    def _state_of(self, data: Any) -> State:
        found: State = read_answer(self._endpoint, data, f"{self._endpoint.name} {self.id}")
        return found

    def _wait_until_ended(self, timeout: float | None, look: Callable[[Row], None]) -> None:
        transport, task, never = self.client.transport, Task(), threading.Event()
        clock = transport.clock
        began = last_answer = clock.now()
        status: str = self.status
        newest: Row | None = None
        while True:
            answer, failure = self._ask(task)
            now = clock.now()
            if answer is not None:
                last_answer, status, newest = now, answer["status"], answer
                look(answer)
                if status in ENDED:
                    self.state = self._state_of(answer)
                    return
            elif failure is not None and now - last_answer >= _GIVE_UP_SECONDS:
                failure.message = f"{failure.message}. {self._how_to_continue()}"
                raise failure
            elapsed = now - began
            pause = pause_before_next_request(elapsed, transport.pace.per_minute)
            if isinstance(failure, RateLimited) and failure.retry_after:
                pause = max(pause, min(failure.retry_after, _GIVE_UP_SECONDS))
            if timeout is not None:
                left = timeout - elapsed
                if left <= 0:
                    self.state = self.state if newest is None else self._state_of(newest)
                    raise StillRunning(
                        f"The {self._noun} is still {status} after {elapsed:.0f} seconds. {self._how_to_continue()}",
                        run=self,
                    )
                pause = min(pause, left)
            clock.wait(pause, never)

    def _ask(self, task: Task) -> tuple[Row | None, ApiError | None]:
        """Ask once: return the answer, or the error that prevented it."""
        call = Call.to(self._endpoint, self.client.config.scheme, self.id)
        try:
            data = self.client.transport.send(call, task).data
        except (ConnectionFailed, ServerError, RateLimited, UnexpectedResponse) as error:
            return None, error
        if not isinstance(data, dict) or not isinstance(data.get("status"), str):
            article = "an" if self._noun[0] in "aeiou" else "a"
            raise UnexpectedResponse(
                f"The answer is not {article} {self._noun} with a status", request=call.label
            )
        return data, None

    @contextlib.contextmanager
    def _waiting_bar(self) -> Iterator[Callable[[Row], None]]:
        """Show the progress of the run, as far as the service reports it."""
        if not self._progress:
            yield lambda _state: None
            return
        from tqdm.auto import tqdm  # noqa: PLC0415 - looks for widgets when it is loaded

        bar: Any = None
        counted = False

        def look(state: Row) -> None:
            nonlocal bar, counted
            before, after = self._texts(state)
            done, most = self._counts(state)
            known = isinstance(done, int) and isinstance(most, int) and most > 0
            if bar is None or counted != known:
                if bar is not None:
                    bar.close()
                counted = known
                # Without numbers the bar shows the status and the time, and no rate.
                shape = None if counted else "{desc} [{elapsed}{postfix}]"
                bar = tqdm(
                    total=most if counted else None,
                    initial=min(done, most) if counted else 0,
                    unit=f" {self._unit}",
                    leave=False,
                    bar_format=shape,
                )
            bar.set_description_str(before, refresh=False)
            bar.set_postfix_str(after, refresh=False)
            if counted:
                bar.total = most
                bar.update(min(done, most) - bar.n)
            bar.refresh()

        try:
            yield look
        finally:
            if bar is not None:
                bar.close()


class ResumableRun(Run[State]):
    """A run that can be continued after it was stopped or failed: a benchmark, or a run of a judge."""

    # The group of the client with the endpoints of the run.
    _group: ClassVar[str]

    def stop(self, reason: str | None = None) -> Self:
        """Stop the run; its results stay, and :meth:`resume` continues it.

        Parameters
        ----------
        reason
            Why, in words; stored with the run.
        """
        self.state = getattr(self.client, self._group).stop(self.id, reason=reason)
        return self

    def resume(self) -> Self:
        """Continue a run that was stopped or failed, and try again what was lost; :meth:`wait` waits for the end."""
        self.state = getattr(self.client, self._group).resume(self.id)
        return self


def part(state: Any, *path: str) -> Any:
    """Return a part of an answer, as it was sent or as a model; ``None`` where it has another shape."""
    for name in path:
        state = state.get(name) if isinstance(state, dict) else getattr(state, name, None)
    return state


@contextlib.contextmanager
def may_have_worked(act: str, hint: str) -> Iterator[None]:
    """Add to the error of a request without an answer that it may have worked; it is never sent again.

    Parameters
    ----------
    act
        What was interrupted, such as ``the benchmark was started``.
    hint
        A sentence that says so, and where to look.
    """
    try:
        yield
    except (ConnectionFailed, ServerError, UnexpectedResponse) as error:
        error.message = f"{error.message}. {hint}"
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Interrupted while {act}. {hint}") from None
