"""The result of reading a file: conversations, problems, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from promptlift.transcripts.system_prompts import SystemPrompts

__all__ = ["ImportedConversation", "Problem", "Reading", "TooMuchError", "Unreadable"]


class Unreadable(ValueError):
    """One record cannot be read; it becomes a `Problem`, and the rest of the file is imported."""


class TooMuchError(Exception):
    """A file holds more than can be kept in memory; what was read until then is kept."""


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
    """

    format: str = ""
    conversations: list[ImportedConversation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    system_prompts: SystemPrompts = field(default_factory=SystemPrompts)
