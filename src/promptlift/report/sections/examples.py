"""Example conversations: which ones are shown, and how much of each."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import pandas as pd

from promptlift.display.turn import Turn
from promptlift.errors import TranscriptError
from promptlift.report.document import Section, Transcript
from promptlift.report.formatting import count, date_time, signed
from promptlift.report.gather import GROUP, records
from promptlift.schema.basis import basis_of_analyser, may_tell
from promptlift.schema.inert import one_line
from promptlift.schema.transcript import CALL, RESULT, parse_content
from promptlift.words.figures import counted, is_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptlift.report.gather import Material
    from promptlift.schema.transcript import Message

__all__ = ["check_number", "example_conversations"]

MAX_EXAMPLES: Final = 50
_FIRST, _LAST = 12, 8
_MESSAGE_CHARS: Final = 1200
_SYSTEM_CHARS: Final = 240
_TOOL_CHARS: Final = 90
_EMPTY: Final = "(empty message)"
_PREVIEW_LINES: Final = 2
_PREVIEW_CHARS: Final = 110
# Deleted conversations are skipped, up to this many.
_TRIES: Final = 3

Outcome = Literal["completed", "failed"]


def check_number(examples: int) -> None:
    """Refuse a number of examples that cannot be shown, before anything is read."""
    if type(examples) is not int or not 0 <= examples <= MAX_EXAMPLES:
        raise ValueError(f"examples={examples!r} is not a whole number from 0 to {MAX_EXAMPLES}.")


def example_conversations(material: Material, wanted: int, *, redacted: bool) -> Section | None:
    """Return the section with example conversations; None when there is none to show.

    Parameters
    ----------
    material
        The data of the report.
    wanted
        Most conversations.
    redacted
        Whether to omit the transcripts.
    """
    found = _find(material, wanted, redacted=redacted)
    if not found:
        return None
    failed = sum(one.outcome == "failed" for one in found)
    words = (
        f"{counted(failed, 'conversation')} that did not complete the task and {count(len(found) - failed)} that did. "
        "They are chosen by a fixed rule that prefers different issues, so their numbers say nothing about how often either happens."
    )
    if redacted:
        words += " Their transcripts are omitted from this report; look them up by their ids."
    return Section("examples", "Examples", (words,), transcripts=tuple(found))


def _find(material: Material, wanted: int, *, redacted: bool) -> list[Transcript]:
    """Return up to ``wanted`` conversations, failed and completed ones in turn, the same ones every time.

    They are ordered by a hash of their id, which favours none; those with issues not shown yet come first. Only the
    transcripts of the chosen ones are read; with ``redacted`` none is read, and only facts are returned.
    """
    if wanted == 0 or material.conversations.empty:
        return []
    queues = {outcome: _ordered(material, outcome) for outcome in ("failed", "completed")}
    shown: dict[str, list[Transcript]] = {"failed": [], "completed": []}
    tries = wanted * _TRIES
    while tries > 0 and sum(map(len, shown.values())) < wanted and any(queues.values()):
        tries -= 1
        behind = min((name for name in queues if queues[name]), key=lambda name: len(shown[name]))
        row = queues[behind].pop(0)
        outcome = cast("Outcome", behind)
        if redacted:
            shown[behind].append(_transcript(row, outcome, (), named=material.compared))
            continue
        messages = _messages(material.content_of(row["conversation_id"]))
        if messages is not None:
            shown[behind].append(_transcript(row, outcome, messages, named=material.compared))
    return list(chain(shown["failed"], shown["completed"]))


def _ordered(material: Material, outcome: str) -> list[dict[str, Any]]:
    """Return the rows with this outcome in order, one prompt after the other."""
    table = material.conversations
    rated = table[table["task_completed"].notna() & (table["status"].astype("str") != "in_progress")]
    chosen = rated[rated["task_completed"].astype(bool) == (outcome == "completed")]
    queues = [_varied(chosen[chosen[GROUP] == name]) for name in material.names]
    return [row for row in chain.from_iterable(zip_longest(*queues)) if row is not None]


def _varied(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows by the hash of their id, those with a new first issue or topic first."""
    hashed = [hashlib.sha256(str(one).encode("utf-8", "replace")).digest() for one in rows["conversation_id"]]
    places = sorted(range(len(rows)), key=hashed.__getitem__)[: MAX_EXAMPLES * _TRIES]
    seen: set[str] = set()
    later = []
    for row in records(rows.iloc[places]):
        theme = _theme(row)
        if theme in seen:
            later.append(row)
            continue
        seen.add(theme)
        yield row
    yield from later


def _theme(row: dict[str, Any]) -> str:
    issues, topics = row.get("issues"), row.get("topics")
    if isinstance(issues, list) and issues:
        first = issues[0]
        return str(first.get("title") if isinstance(first, dict) else first)
    return str(topics[0]) if isinstance(topics, list) and topics else ""


def _messages(content: str | None) -> Sequence[Message] | None:
    if content is None:
        return None
    try:
        return parse_content(content).messages
    except TranscriptError:
        return None


def _transcript(
    row: dict[str, Any], outcome: Outcome, messages: Sequence[Message], *, named: bool
) -> Transcript:
    name = one_line(row["conversation_id"], 64)
    asked = next((place for place, message in enumerate(messages) if message.role == "user"), None)
    first = "" if asked is None else messages[asked].content
    title = one_line(first, 90) or (f"Conversation {name}" if not messages else "No message from the user")
    facts = tuple((label, value) for label, value in _facts(row, named=named) if value)
    started = _started(row)
    turns, preview = tuple(_turns(messages)), tuple(_preview(messages[0 if asked is None else asked + 1 :]))
    return Transcript(title, name, str(row[GROUP]), started, outcome, facts, turns, preview)


def _preview(messages: Sequence[Message]) -> Iterator[Turn]:
    """Yield the first messages that somebody said, a line each."""
    said = (one for one in messages if one.role != "system" and not _is_of_tool(one))
    for message in islice(said, _PREVIEW_LINES):
        yield Turn(message.role, one_line(message.content, _PREVIEW_CHARS) or _EMPTY)


def _facts(row: dict[str, Any], *, named: bool) -> Iterable[tuple[str, str]]:
    if named:
        yield "Prompt", str(row[GROUP])
    started = _started(row)
    if started is not None:
        yield "Started", date_time(started)
    if not is_missing(row.get("llm_model")):
        yield "Model", one_line(row["llm_model"], 60)
    if not is_missing(row.get("sentiment")):
        score = row.get("sentiment_score")
        score_in_words = "" if is_missing(score) else signed(float(str(score)))
        by_score = not may_tell(basis_of_analyser(str(row.get("analyser") or "")))
        yield (
            "Sentiment",
            score_in_words if by_score else f"{row['sentiment']}{score_in_words and f' ({score_in_words})'}",
        )
    issues = row.get("issues")
    if isinstance(issues, list):
        yield "Issues", ", ".join(one_line(one["title"], 60) for one in issues[:4])
    yield "Id", one_line(row["conversation_id"], 64)


def _started(row: dict[str, Any]) -> datetime | None:
    for name in ("started_at", "created_at"):
        if not is_missing(row.get(name)):
            when = pd.Timestamp(row[name]).to_pydatetime(warn=False)
            return when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return None


def _turns(messages: Sequence[Message]) -> Iterator[Turn]:
    hidden = len(messages) - _FIRST - _LAST
    for place, message in enumerate(messages):
        if hidden > 1 and _FIRST <= place < len(messages) - _LAST:
            if place == _FIRST:
                yield Turn("gap", f"… {counted(hidden, 'message')} omitted …")
            continue
        turn = _turn(message)
        yield turn if turn.content else replace(turn, content=_EMPTY)


def _turn(message: Message) -> Turn:
    if _is_of_tool(message):
        # What a tool is asked and answers is for programs.
        turn = Turn.said(message.role, message.content, _TOOL_CHARS)
        return Turn(
            "tool",
            f"{turn.role.removeprefix('tool ')}: {one_line(turn.content, _TOOL_CHARS)}",
            at=message.timestamp,
        )
    limit = _SYSTEM_CHARS if message.role == "system" else _MESSAGE_CHARS
    return Turn.shown(message.role, message.content, limit, at=message.timestamp)


def _is_of_tool(message: Message) -> bool:
    return message.role != "user" and message.content.startswith((CALL, RESULT))
