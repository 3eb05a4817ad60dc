"""The result of reading a file: conversations, problems, and what was left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.limits import MESSAGES
from promptlift.transcripts.system_prompts import SystemPrompts

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ONE_CONVERSATION", "ImportedConversation", "Problem", "Reading", "TooMuchError"]

ONE_CONVERSATION: Final = 20 * MESSAGES
"""So many rows or calls of one conversation are read before the file is refused; one that is a little over costs itself alone."""


class TooMuchError(Exception):
    """A file holds more than is read of any; what was read until then is kept."""

    def __init__(
        self,
        message: str = "the file unpacks to far more than any export does; the rest is not read. If it is a real export, unpack "
        "it first",
    ) -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """One conversation of a file, ready to be logged.

    Attributes
    ----------
    content
        Structured JSON text of the service's content format.
    source_id
        The conversation's id in the source, if it has one.
    status, llm_model, company_name
        As the source says, if it does.
    file, line
        Where it was read; the line or record number counts from 1.
    key
        The idempotency key that the source carries, if any.
    fingerprint
        The same for the same conversation in every reading; equal conversations of one file get different ones.
        It does not depend on the prompt, which an idempotency key made from it has to include.
    prompt_name, prompt_version
        The prompt that it was held with, by the source's own name and version; the trace's name where calls name no prompt.
    title
        The source's title or trace name.
    metadata
        What the source says besides: user, session, tags, the prompt's name and version, and whatever else it keeps.
    input_tokens, output_tokens, cost
        Sums over the calls of the model, as far as the source counts them.
    latency_ms
        Mean time until an answer, in milliseconds.
    tool_calls, tool_errors
        Calls of tools, and how many of them failed.
    """

    content: str
    source_id: str | None
    status: str | None
    llm_model: str | None
    company_name: str | None
    file: str
    line: int | None
    key: str | None
    fingerprint: str
    prompt_name: str | None = None
    prompt_version: str | None = None
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    latency_ms: float | None = None
    tool_calls: int | None = None
    tool_errors: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that could not be read, and what to do about it."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.message}"


@dataclass(slots=True)
class Reading:
    """The conversations and problems of one file.

    Attributes
    ----------
    format
        Name of the format, a key of ``FORMATS``; empty when it was not recognised.
    conversations
        What can be logged, in the order of the file.
    problems
        What is wrong with the file; none of it is in ``conversations``.
    dropped
        Number of records by field path in the source, for fields that have no place in the content format.
    notes
        What the reader did that its user should know.
    system_prompts
        The system prompts that the conversations begin with, in the order in which they came into use.
    texts_of
        The same for each prompt that the source names, by name and version.
    model_calls
        Calls of a model that the conversations were put together from; 0 where the source does not record calls.
    prompts_of_file
        Of a part of a file: the prompts that the conversations of the whole file name, where that is known before its end.
    """

    format: str = ""
    conversations: list[ImportedConversation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    system_prompts: SystemPrompts = field(default_factory=SystemPrompts)
    texts_of: dict[tuple[str | None, str | None], SystemPrompts] = field(default_factory=dict)
    model_calls: int = 0
    prompts_of_file: frozenset[str | None] | None = None

    @property
    def prompt_names(self) -> list[str]:
        """The prompts that the source names, the one of most conversations first."""
        named = Counter(one.prompt_name for one in self.conversations if one.prompt_name is not None)
        return [name for name, _ in named.most_common()]
