"""The failures of a language model.

::

    PromptliftError
    ├── Cancelled               the job that asked was cancelled; no failure of the model
    └── LlmError                .tokens used up before it
        ├── LlmUnavailable      no answer in time, 429 or 5xx until the budget ended; later it may work
        │   └── EndpointDown    it answered nothing for too long; no more requests are made
        ├── LlmRefused          .status; the endpoint does not take the request: key, model, size
        └── LlmBadAnswer        it answered, and the answer cannot be used
            └── LlmEmptyAnswer  it said nothing, as often as it was asked
"""

from __future__ import annotations

from promptlift.errors import PromptliftError

__all__ = [
    "Cancelled",
    "EndpointDown",
    "LlmBadAnswer",
    "LlmEmptyAnswer",
    "LlmError",
    "LlmRefused",
    "LlmUnavailable",
]


class Cancelled(PromptliftError):
    """The job that asked the model was cancelled: its calls end without an answer."""

    def __init__(self) -> None:
        super().__init__("The work that asked the language model was cancelled.")


class LlmError(PromptliftError):
    """Base of every failure of a language model.

    Attributes
    ----------
    tokens
        Tokens that were used up before the failure.
    """

    def __init__(self, message: str, *, tokens: int = 0) -> None:
        super().__init__(message)
        self.tokens = tokens


class LlmUnavailable(LlmError):
    """The endpoint gave no usable answer within the budget; later it may.

    Attributes
    ----------
    retry_after
        Seconds to wait as the endpoint said, or ``None``.
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
    """The endpoint does not take the request; the same request will not work later.

    Attributes
    ----------
    status
        HTTP status of the answer.
    """

    def __init__(self, message: str, *, status: int, tokens: int = 0) -> None:
        super().__init__(message, tokens=tokens)
        self.status = status


class LlmBadAnswer(LlmError):
    """The model answered, and the answer cannot be used."""


class LlmEmptyAnswer(LlmBadAnswer):
    """The model said nothing, every time it was asked."""
