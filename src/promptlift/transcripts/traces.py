"""Model calls of a tracing tool put together to conversations.

Every call repeats the whole history, and the calls of a file are in no order. The calls of one session are one
conversation: the longest history and the answer to it. A call's end time, model and token count belong to its
answer, wherever that stands in the history.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import Mark, fold, kind_of
from promptlift.transcripts.intake import Draft, Intake, is_something
from promptlift.transcripts.reading import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from promptlift.transcripts.sources import Record

__all__ = ["Call", "read_traces"]

_LAST_WORDS: Final = "What the user said after the last model call is not in a trace; these conversations end with the last answer."
_SYSTEM_PROMPT: Final = (
    "The system prompt of the model calls was not said; conversations that it is left out of: {}."
)
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
    model: str | None = None
    tokens: int | float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Session:
    """The longest call of a session so far, and the answers of all its calls."""

    longest: Call
    line: int
    answers: list[tuple[int, list[Any], Mark]] = field(default_factory=list)


def read_traces(
    records: Iterable[Record],
    intake: Intake,
    call_of: Callable[[dict[str, Any], Intake], Call | None],
) -> None:
    """Read model calls and hand in one conversation a session.

    Parameters
    ----------
    records
        Records of the file, in any order.
    intake
        Takes the conversations.
    call_of
        Reads one record; gives ``None`` for one that is no model call, and raises `Unreadable`.
    """
    sessions: dict[str, _Session] = {}
    for record in records:
        if record.fault is not None:
            intake.problem(record.line, record.fault)
            continue
        if not isinstance(record.value, dict):
            intake.problem(record.line, "the record is not an object")
            continue
        try:
            call = call_of(record.value, intake)
            if call is not None:
                _take(sessions, call, record.line)
        except (Unreadable, RecursionError) as error:
            intake.problem(record.line, str(error))
    for name, session in sessions.items():
        try:
            intake.add(_draft(name, session, intake))
        except (Unreadable, RecursionError) as error:
            intake.problem(session.line, str(error))
    if sessions:
        intake.note(_LAST_WORDS)


def _take(sessions: dict[str, _Session], call: Call, line: int) -> None:
    name = str(call.session) if is_something(call.session) else f"record {line}"
    session = sessions.setdefault(name, _Session(call, line))
    if _length(call) > _length(session.longest):
        session.longest, session.line = call, line
    if call.answer:
        mark = Mark(call.ended, call.model, call.tokens)
        session.answers.append((len(call.history), call.answer, mark))


def _length(call: Call) -> tuple[int, bool]:
    """Order calls by history; of two equal ones the answered one is longer."""
    return len(call.history), bool(call.answer)


def _draft(name: str, session: _Session, intake: Intake) -> Draft:
    messages = [*session.longest.history, *session.longest.answer]
    marks = _marks(messages, session, intake)
    start = _system_prompt(messages)
    if start:
        intake.drop("the system prompt (first message)")
        intake.tally(_SYSTEM_PROMPT)
    models = Counter(mark.model for mark in marks.values() if mark.model)
    return Draft(
        fold(
            messages[start:],
            intake,
            path="history[]",
            marks={index - start: mark for index, mark in marks.items()},
        ),
        session.line,
        source_id=name,
        llm_model=models.most_common(1)[0][0] if models else None,
        metadata=session.longest.metadata,
        system_prompt=next((text for _, text in _said(messages[:start])), None),
    )


def _system_prompt(messages: list[Any]) -> int:
    """Count the system messages that stand before everything that was said."""
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or kind_of(message.get("role"), f"message {index + 1}") != "system":
            return index
    return 0


def _marks(messages: list[Any], session: _Session, intake: Intake) -> dict[int, Mark]:
    """Find every answer in the history: where it belongs, else wherever the same was said."""
    texts = [_said([message]) for message in messages]
    marks: dict[int, Mark] = {}
    for index, answer, mark in session.answers:
        said = _said(answer[:1])
        if index < len(texts) and texts[index] == said:
            marks[index] = mark
            continue
        found = next((i for i, text in enumerate(texts) if text == said and i not in marks), None)
        if found is not None:
            marks[found] = mark
        else:
            intake.drop("an answer that is not in the history")
            intake.tally(_OTHER_ANSWERS)
    return marks


def _said(messages: list[Any]) -> list[tuple[str, str]]:
    """Give what messages say, without what tools write differently in input and output."""
    try:
        return [(turn.role, turn.content) for turn in fold(messages, Intake(""))]
    except Unreadable:
        return []
