"""Conversations put together from the model calls of a tracing tool.

Every call repeats the whole history, and the calls of a file are in no order. The calls of one session are one
conversation: the longest history and the answer to it. A call's end time, model and token count belong to its
answer, wherever that stands in the history.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import MessageDetails, fold, kind_of
from promptlift.transcripts.collector import Collector, ParsedConversation, is_something
from promptlift.transcripts.reading import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from promptlift.transcripts.sources import Record

__all__ = ["Call", "read_traces"]

_NO_LAST_USER_MESSAGE: Final = "Traces do not hold what the user said after the last model call; these conversations end with the last answer."
_SYSTEM_PROMPT: Final = "The system prompt of the model calls is not a message; conversations without it: {}."
_OTHER_ANSWERS: Final = (
    "Answers that are not in the longest history of their session (retries, other agents, a history that was cut) "
    "and are not imported: {}."
)


@dataclass(slots=True)
class Call:
    """One model call: what it was asked, what it answered, and what is known about the answer."""

    session: Any
    history: list[Any]
    answer: list[Any]
    ended: datetime | None = None
    model: Any = None
    tokens: int | float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Session:
    """The longest call of a session so far, and the answers of all its calls."""

    longest: Call
    line: int
    answers: list[tuple[int, list[Any], MessageDetails]] = field(default_factory=list)


def read_traces(
    records: Iterable[Record],
    collector: Collector,
    call_of: Callable[[dict[str, Any], Collector], Call | None],
) -> None:
    """Read model calls and add one conversation for each session.

    Parameters
    ----------
    records
        Records of the file, in any order.
    collector
        Collects the conversations.
    call_of
        Reads one record; returns ``None`` for one that is not a model call, and raises `Unreadable`.
    """
    sessions: dict[str, _Session] = {}
    for line, value in collector.objects(records, "record"):
        try:
            call = call_of(value, collector)
            if call is not None:
                _add_call(sessions, call, line)
        except (Unreadable, RecursionError) as error:
            collector.problem(line, str(error))
    for name, session in sessions.items():
        try:
            collector.add(_conversation(name, session, collector))
        except (Unreadable, RecursionError) as error:
            collector.problem(session.line, str(error))
    if sessions:
        collector.note(_NO_LAST_USER_MESSAGE)


def _add_call(sessions: dict[str, _Session], call: Call, line: int) -> None:
    name = str(call.session) if is_something(call.session) else f"record {line}"
    session = sessions.setdefault(name, _Session(call, line))
    if _length(call) > _length(session.longest):
        session.longest, session.line = call, line
    if call.answer:
        model = call.model if isinstance(call.model, str) else None
        detail = MessageDetails(call.ended, model, call.tokens)
        session.answers.append((len(call.history), call.answer, detail))


def _length(call: Call) -> tuple[int, bool]:
    """Order calls by history; of two equal ones the answered one is longer."""
    return len(call.history), bool(call.answer)


def _conversation(name: str, session: _Session, collector: Collector) -> ParsedConversation:
    messages = [*session.longest.history, *session.longest.answer]
    details = _details_of(messages, session, collector)
    start = _system_prompt(messages)
    if start:
        collector.drop("the system prompt (first message)")
        collector.tally(_SYSTEM_PROMPT)
    models = Counter(detail.model for detail in details.values() if detail.model)
    return ParsedConversation(
        fold(
            messages[start:],
            collector,
            path="history[]",
            details={index - start: detail for index, detail in details.items()},
        ),
        session.line,
        source_id=name,
        llm_model=models.most_common(1)[0][0] if models else None,
        metadata=session.longest.metadata,
        system_prompt=next((text for _, text in _said(messages[:start])), None),
    )


def _system_prompt(messages: list[Any]) -> int:
    """Count the system messages at the beginning."""
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or kind_of(message.get("role"), f"message {index + 1}") != "system":
            return index
    return 0


def _details_of(messages: list[Any], session: _Session, collector: Collector) -> dict[int, MessageDetails]:
    """Find every answer in the history: where it belongs, else wherever the same was said."""
    texts = [_said([message]) for message in messages]
    details: dict[int, MessageDetails] = {}
    for index, answer, detail in session.answers:
        said = _said(answer[:1])
        if index < len(texts) and texts[index] == said:
            details[index] = detail
            continue
        found = next((i for i, text in enumerate(texts) if text == said and i not in details), None)
        if found is not None:
            details[found] = detail
        else:
            collector.drop("an answer that is not in the history")
            collector.tally(_OTHER_ANSWERS)
    return details


def _said(messages: list[Any]) -> list[tuple[str, str]]:
    """Return role and text of messages, without what tools write differently in input and output."""
    try:
        return [(turn.role, turn.content) for turn in fold(messages, Collector(""))]
    except Unreadable:
        return []
