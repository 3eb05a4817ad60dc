"""Whether a model is away: decided in one place, from what became of what was asked last."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Final

from promptlift.errors import PromptliftError
from promptlift.service.llm.failures import EndpointDown, LlmError, LlmRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["GONE_AFTER", "Availability", "ModelGone", "is_hopeless"]

# After this many conversations in a row without an answer the model is gone, not flaky.
GONE_AFTER: Final = 8
# Only the operator can correct these (key, model name, address): every other call fails as well.
HOPELESS_STATUSES: Final = frozenset({401, 402, 403, 404})


class ModelGone(PromptliftError):
    """The model does not answer any more; the message says why."""


def is_hopeless(error: PromptliftError, statuses: Collection[int] = HOPELESS_STATUSES) -> bool:
    """Whether an error, or its cause, says that other calls will not fare better: the endpoint is down, or refuses with a status."""
    of_the_model = error if isinstance(error, LlmError) else error.__cause__
    return isinstance(of_the_model, EndpointDown) or (
        isinstance(of_the_model, LlmRefused) and of_the_model.status in statuses
    )


class Availability:
    """Whether a model answers, at the level of whoever records: requests or conversations. Safe from several threads.

    Parameters
    ----------
    after
        Failures in a row after which it is away. One answer, whatever it says, ends them.
    clock
        Seconds on a steady clock.

    Attributes
    ----------
    since
        When the first failure in the row was; ``None`` without one.
    why
        The last failure in the row; ``None`` without one.
    answered_at
        When it answered last.
    """

    def __init__(self, *, after: int = GONE_AFTER, clock: Callable[[], float] = time.monotonic) -> None:
        self.since: float | None = None
        self.why: str | None = None
        self.answered_at = -math.inf
        self._after = after
        self._clock = clock
        self._failures = 0
        self._lock = threading.Lock()

    @property
    def reachable(self) -> bool:
        """Whether it answers, as far as is known."""
        return self._failures < self._after

    def record(self, problem: str | None) -> None:
        """Record why there was no answer; ``None`` when there was one."""
        with self._lock:
            now = self._clock()
            if problem is None:
                self._failures, self.since, self.why, self.answered_at = 0, None, None, now
            else:
                self._failures += 1
                self.since = now if self.since is None else self.since
                self.why = problem

    def away_for(self, seconds: float, *, asked_since: float = -math.inf) -> bool:
        """Whether it has been away for so long, and was asked all the time."""
        since = self.since
        return not self.reachable and since is not None and self._clock() - max(since, asked_since) >= seconds

    def gone(self, error: PromptliftError) -> ModelGone | None:
        """Record a failure; return why nothing more is worth asking, if so."""
        self.record(str(error))
        return ModelGone(str(error)) if is_hopeless(error) or not self.reachable else None
