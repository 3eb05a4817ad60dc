"""The interface to a language model: requests and answers.

Loads no HTTP library, so callers and tests can import it cheaply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Generic,
    Literal,
    Protocol,
    TypeVar,
    overload,
)

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


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
