"""The result of reading a file: conversations, problems, and dropped fields."""

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
"""Rows or calls of one conversation to read before refusing the file; a conversation slightly over the limit affects only itself."""


class TooMuchError(Exception):
    """A file exceeds the limits of reading; the part read until then is kept."""

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
        From the source, if given.
    file, line
        Where it was read; the line or record number counts from 1.
    key
        The idempotency key in the source, if any.
    fingerprint
        The same for the same conversation in every reading; equal conversations of one file get different
        ones. It does not depend on the prompt, which an idempotency key made from it must include.
    prompt_name, prompt_version
        The prompt of the conversation, by the source's own name and version; the trace's name if calls name
        no prompt.
    title
        The source's title or trace name.
    metadata
        Other data of the source: user, session, tags, the prompt's name and version, and so on.
    input_tokens, output_tokens, cost
        Sums over the model calls, as far as counted by the source.
    latency_ms
        Mean time until an answer, in milliseconds.
    tool_calls, tool_errors
        Number of tool calls, and of failed ones.
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
    """A part of a file that could not be read, and what to do about it."""

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
        Name of the format, a key of ``FORMATS``; empty if it was not recognized.
    conversations
        Conversations to log, in the order of the file.
    problems
        Problems of the file, not included in ``conversations``.
    dropped
        Number of records by field path in the source, for fields that have no place in the content format.
    notes
        Notes for the user about the reading.
    system_prompts
        The system prompts at the beginning of conversations, in order of first use.
    texts_of
        The same for each prompt named in the source, by name and version.
    model_calls
        Model calls from which the conversations were assembled; 0 if the source does not record calls.
    undated
        Number of conversations without a time.
    prompts_of_file
        For a part of a file: the prompts named in the whole file, if known before its end.
    """

    format: str = ""
    conversations: list[ImportedConversation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    system_prompts: SystemPrompts = field(default_factory=SystemPrompts)
    texts_of: dict[tuple[str | None, str | None], SystemPrompts] = field(default_factory=dict)
    model_calls: int = 0
    undated: int = 0
    prompts_of_file: frozenset[str | None] | None = None

    @property
    def prompt_names(self) -> list[str]:
        """The prompts named in the source, that of most conversations first."""
        named = Counter(one.prompt_name for one in self.conversations if one.prompt_name is not None)
        return [name for name, _ in named.most_common()]
