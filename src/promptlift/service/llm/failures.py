"""What can go wrong with a language model.

::

    PromptliftError
    └── LlmError                .tokens used up all the same
        ├── LlmUnavailable      no answer in time, 429 or 5xx to the end of the budget; later it may work
        ├── LlmRefused          .status; the endpoint does not take the request: key, model, size
        └── LlmBadAnswer        it answered, and the answer cannot be used
"""

from __future__ import annotations

from promptlift.errors import PromptliftError

__all__ = ["LlmBadAnswer", "LlmError", "LlmRefused", "LlmUnavailable"]


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
