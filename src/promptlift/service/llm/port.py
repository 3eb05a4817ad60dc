"""The interface to a language model: what is asked, and what is answered.

Loads no HTTP library, so callers and tests import it freely.
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
    "judge", "scenarios", "persona", "agent", "variants", "reflection", "tool", "context", "issues"
]

Parsed = TypeVar("Parsed", bound=BaseModel)
ParsedT_co = TypeVar("ParsedT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ChatAnswer(Generic[ParsedT_co]):
    """An answer of a language model.

    Attributes
    ----------
    text
        The answer as it came: hostile text.
    parsed
        The checked structured answer, ``None`` when no schema was asked for.
    prompt_tokens, completion_tokens
        Of all requests that the answer took, as the endpoint counted; 0 where it did not.
    model
        Name of the model as the endpoint gave it, else as it was asked for.
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

    Parameters of ``chat``: ``messages`` (``role`` and ``content`` each), ``purpose`` (what the answer is for), ``model``,
    ``temperature`` and ``max_tokens`` (left to the model when ``None``), ``schema`` (a pydantic class that the answer
    must fit; the answer's ``parsed`` is then an instance) and ``check`` (raises ``ValueError`` for an answer that fits
    and still cannot be right; it is then asked for again).

    It raises ``LlmUnavailable``, ``LlmRefused`` or ``LlmBadAnswer``, which carry the tokens used up all the same, and
    ``Cancelled`` when the job that asks was cancelled. The answer's text is hostile.
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
