"""The interface to a language model: requests, answers, failures, and its availability, decided in one place.

Loads no HTTP library, so callers and tests can import it cheaply. The failures are::

    PromptliftError
    ├── Cancelled               the calling job was cancelled; not a failure of the model
    └── LlmError                .tokens used before it
        ├── LlmUnavailable      no answer in time, 429 or 5xx until the budget ended; later it may work
        │   └── EndpointDown    it answered nothing for too long; no more requests are made
        ├── LlmRefused          .status; the endpoint refuses the request: key, model, size
        └── LlmBadAnswer        it answered, and the answer cannot be used
            └── LlmEmptyAnswer  the answer was empty at every attempt
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, Protocol, TypeVar, overload

from pydantic import BaseModel

from promptlift.errors import PromptliftError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

Purpose = Literal[
    "judge", "scenarios", "persona", "agent", "variants", "reflection", "tool", "context", "issues", "topics"
]

Parsed = TypeVar("Parsed", bound=BaseModel)
ParsedT_co = TypeVar("ParsedT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ChatAnswer(Generic[ParsedT_co]):
    """An answer of a language model.

    Attributes
    ----------
    text
        The raw answer: hostile text.
    parsed
        The checked structured answer, ``None`` if no schema was requested.
    prompt_tokens, completion_tokens
        Tokens of all requests for the answer, as counted by the endpoint; 0 if it did not count.
    model
        Name of the model according to the endpoint, or else as requested.
    """

    text: str
    parsed: ParsedT_co
    prompt_tokens: int
    completion_tokens: int
    model: str

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.completion_tokens


class ChatModel(Protocol):
    """A language model: one answer for a list of messages. Called from many threads at once.

    Parameters of ``chat``: ``messages`` (``role`` and ``content`` each), ``purpose`` (the purpose of the
    answer), ``model``, ``temperature`` and ``max_tokens`` (left to the model when ``None``), ``schema`` (a
    pydantic class that the answer must match; the answer's ``parsed`` is then an instance) and ``check``
    (raises ``ValueError`` for an answer that matches and still cannot be right; the model is then asked
    again).

    It raises ``LlmUnavailable``, ``LlmRefused`` or ``LlmBadAnswer``, which include the tokens used, and
    ``Cancelled`` when the calling job was cancelled. The answer's text is hostile.
    """

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


# After this many conversations in a row without an answer, the model is gone, not flaky.
GONE_AFTER: Final = 8
# Only the operator can correct these (key, model name, address): every other call fails as well.
HOPELESS_STATUSES: Final = frozenset({401, 402, 403, 404})


class Cancelled(PromptliftError):
    """The job that asked the model was cancelled: its calls end without an answer."""

    def __init__(self) -> None:
        super().__init__("The work that asked the language model was cancelled.")


class LlmError(PromptliftError):
    """Base of every failure of a language model.

    Attributes
    ----------
    tokens
        Tokens used before the failure.
    """

    def __init__(self, message: str, *, tokens: int = 0) -> None:
        super().__init__(message)
        self.tokens = tokens


class LlmUnavailable(LlmError):
    """The endpoint gave no usable answer within the budget; it may later.

    Attributes
    ----------
    retry_after
        Seconds to wait according to the endpoint, or ``None``.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, tokens: int = 0) -> None:
        super().__init__(message, tokens=tokens)
        self.retry_after = retry_after


class EndpointDown(LlmUnavailable):
    """The endpoint answered nothing for too long; no more requests are made for the job."""

    def __init__(self, seconds: float, *, reason: str = "") -> None:
        said = f" The last failure: {reason}." if reason else ""
        super().__init__(
            f"The language model's endpoint seems to be down: it answered nothing for {seconds:g} seconds or more."
            f"{said} Check that it is up and that PROMPTLIFT_LLM_BASE_URL is right, "
            "then start again."
        )


class LlmRefused(LlmError):
    """The endpoint refuses the request; the same request will not work later.

    Attributes
    ----------
    status
        HTTP status of the answer.
    """

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class LlmBadAnswer(LlmError):
    """The model answered, and the answer cannot be used."""


class LlmEmptyAnswer(LlmBadAnswer):
    """The model's answer was empty at every attempt."""


class ModelGone(PromptliftError):
    """The model no longer answers; the message explains why."""


def is_hopeless(error: PromptliftError, statuses: Collection[int] = HOPELESS_STATUSES) -> bool:
    """Return whether an error, or its cause, shows that other calls will fail too: the endpoint is down or refuses."""
    of_the_model = error if isinstance(error, LlmError) else error.__cause__
    return isinstance(of_the_model, EndpointDown) or (
        isinstance(of_the_model, LlmRefused) and of_the_model.status in statuses
    )


class Availability:
    """Whether a model answers, at the level of the recorder: requests or conversations. Thread-safe.

    Parameters
    ----------
    after
        Consecutive failures after which it counts as away. Any answer resets them.
    clock
        Clock in seconds, monotonic.

    Attributes
    ----------
    since
        When the current row of failures started, if any.
    why
        The last failure in the row, if any.
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
        """Whether it answers, as far as known."""
        return self._failures < self._after

    def record(self, problem: str | None) -> None:
        """Record why there was no answer; ``None`` if there was one."""
        with self._lock:
            now = self._clock()
            if problem is None:
                self._failures, self.since, self.why, self.answered_at = 0, None, None, now
            else:
                self._failures += 1
                self.since = now if self.since is None else self.since
                self.why = problem

    def away_for(self, seconds: float, *, asked_since: float = -math.inf) -> bool:
        """Return whether it has been away for this long, while being queried throughout."""
        since = self.since
        return not self.reachable and since is not None and self._clock() - max(since, asked_since) >= seconds

    def gone(self, error: PromptliftError) -> ModelGone | None:
        """Record a failure; return why further requests are pointless, if so."""
        self.record(str(error))
        return ModelGone(str(error)) if is_hopeless(error) or not self.reachable else None
