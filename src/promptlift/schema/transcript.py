"""The content format of conversations, both ways.

``content`` is either a string that holds JSON (``{"messages": [...], "metadata": {...}}``) or plain text with
role labels, one turn per line, in one of three label pairs.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr
from pydantic import ValidationError as PydanticError

from promptlift.errors import TranscriptError
from promptlift.schema.columns import Column
from promptlift.schema.limits import COUNT_MAX, JSON_DEPTH
from promptlift.schema.metadata import flat_metadata
from promptlift.schema.model import UtcTime, to_wire_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pydantic_core import ErrorDetails

Role = Literal["user", "assistant", "system"]
ROLES: Final[tuple[Role, ...]] = ("user", "assistant", "system")

# Prefixes of messages that are a tool call or its result, for which the format has no role.
CALL: Final = "[tool call] "
RESULT: Final = "[tool result] "

# The label pairs of the specification, the user's side first.
LABEL_PAIRS: Final = (("User", "Assistant"), ("Human", "AI"), ("Customer", "Agent"))
_LABEL: Final = re.compile(r"^[ \t]*(User|Assistant|Human|AI|Customer|Agent)[ \t]*:[ \t]?", re.IGNORECASE)
_PAIR_OF: Final = {label.lower(): pair for pair in LABEL_PAIRS for label in pair}


class Message(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(extra="allow", frozen=True)

    role: Annotated[Role, Column(categories=ROLES)]
    """``user``, ``assistant`` or ``system``."""
    content: Annotated[StrictStr, Column()]
    """The text."""
    timestamp: Annotated[UtcTime | None, Column(name="sent_at"), Field(strict=True)] = None
    """When it was written."""
    model: Annotated[StrictStr | None, Column()] = None
    """The model that wrote it."""
    tokens: Annotated[StrictInt | StrictFloat | None, Column(kind="integer", unit="tokens"), Field(ge=0)] = (
        None
    )
    """Length of the message in tokens of its model."""


class Transcript(BaseModel):
    """The turns of a conversation in order, and its metadata."""

    model_config = ConfigDict(extra="allow", frozen=True)

    messages: list[Message]
    metadata: dict[str, Any] | None = None

    @property
    def started_at(self) -> datetime | None:
        """Earliest message time, ``None`` if no message has a time."""
        return min((m.timestamp for m in self.messages if m.timestamp is not None), default=None)

    @property
    def ended_at(self) -> datetime | None:
        """Latest message time, ``None`` if no message has a time."""
        return max((m.timestamp for m in self.messages if m.timestamp is not None), default=None)


def looks_structured(text: str) -> bool:
    """Return whether content is intended as structured JSON: its first character opens an object."""
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def parse_content(text: str, *, one_pair: bool = False) -> Transcript:
    """Read content in either form.

    In plain text a line without a label continues the previous turn, so pasted text keeps its line breaks.
    Only the label pair of the first line counts as labels.

    Parameters
    ----------
    one_pair
        Whether to refuse plain text with a line that begins with a label of another pair, whose speaker is
        ambiguous.

    Raises
    ------
    TranscriptError
        The content cannot be read; the message explains where and why.
    """
    if not text.strip("\ufeff \t\r\n"):
        raise TranscriptError("content is empty")
    return _parse_structured(text) if looks_structured(text) else _parse_plain(text, one_pair=one_pair)


def messages_of(content: str) -> list[dict[str, Any]]:
    """Return the messages of a conversation's content as decoded JSON.

    Raises
    ------
    TranscriptError
        The content cannot be read.
    """
    if looks_structured(content):
        try:
            messages = orjson.loads(content)["messages"]
        except (orjson.JSONDecodeError, UnicodeEncodeError, KeyError, TypeError):
            messages = None
        if isinstance(messages, list) and all(_is_message(message) for message in messages):
            return messages
    return [_decoded(message) for message in parse_content(content).messages]


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and isinstance(message.get("role"), str)
        and isinstance(message.get("content"), str)
    )


def _decoded(message: Message) -> dict[str, Any]:
    time = message.timestamp
    return {
        "role": message.role,
        "content": message.content,
        "timestamp": None if time is None else to_wire_time(time),
        "model": message.model,
        "tokens": message.tokens,
    }


def dump_content(transcript: Transcript) -> str:
    """Write a transcript as structured content, without empty fields."""
    messages = []
    for message in transcript.messages:
        record: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.timestamp is not None:
            record["timestamp"] = to_wire_time(message.timestamp)
        if message.model is not None:
            record["model"] = message.model
        if message.tokens is not None:
            record["tokens"] = message.tokens
        record.update(message.model_extra or {})
        messages.append(record)
    document: dict[str, Any] = {"messages": messages}
    if transcript.metadata:
        document["metadata"] = transcript.metadata
    document.update(transcript.model_extra or {})
    return compact_json(document)


def compact_json(document: Any) -> str:
    """Write JSON without spaces; also what orjson cannot write: numbers of more than 64 bits, and half surrogate pairs."""
    try:
        return orjson.dumps(document).decode()
    except TypeError:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def json_depth(text: str | bytes, *, limit: int = JSON_DEPTH) -> int:
    """Measure the nesting depth of a JSON text, without parsing it.

    Counting stops just above ``limit``; below it, the result is an upper bound of the true depth.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    openings = raw.count(b"{") + raw.count(b"[")
    if openings <= limit:
        return openings
    deepest = depth = 0
    for mark in _STRINGS.sub(b"", raw):
        if mark in b"{[":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > limit:
                return deepest
        elif mark in b"}]":
            depth -= 1
    return deepest


# A string, or the rest of the text if it is not closed. A backslash at the end of the text must match too:
# otherwise every quote of a hostile text would be scanned to the end.
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[^"\[\]{}]++', re.DOTALL)


def _parse_structured(text: str) -> Transcript:
    if json_depth(text) > JSON_DEPTH:
        raise TranscriptError(f"content is nested deeper than {JSON_DEPTH} levels")
    try:
        document = orjson.loads(text.lstrip("\ufeff \t\r\n"))
    except (orjson.JSONDecodeError, UnicodeEncodeError) as error:
        raise TranscriptError(f"content looks like JSON but is not: {_where(error)}") from error
    try:
        transcript = Transcript.model_validate(document)
    except PydanticError as error:
        raise TranscriptError(_problem(error.errors(include_url=False)[0])) from error
    if not transcript.messages:
        raise TranscriptError("messages: must not be empty")
    for name in ("userId", "sessionId", "channel", "language"):
        if not isinstance((transcript.metadata or {}).get(name), str | None):
            raise TranscriptError(f"metadata.{name}: must be a string")
    return transcript


def _where(error: Exception) -> str:
    if isinstance(error, orjson.JSONDecodeError):
        return f"{error.msg}"
    return "it contains half of a surrogate pair"


_PROBLEMS: Final = {
    "missing": "Required field",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "string_type": "must be a string",
}
_PROBLEMS_OF: Final = {
    "timestamp": "must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    "tokens": "must be a number of 0 or more",
}


def _problem(error: ErrorDetails) -> str:
    """Return where a document has its first defect, and which."""
    where, field = "", ""
    for part in error["loc"][:3]:  # what follows are kinds of numbers
        field = str(part)
        where += f"[{part}]" if isinstance(part, int) else f".{part}"
    if error["type"] == "literal_error" and isinstance(error["input"], str):
        return f"{where[1:]}: must be one of {', '.join(ROLES)}"
    return f"{where[1:]}: {_PROBLEMS_OF.get(field) or _PROBLEMS.get(error['type'], 'must be a string')}"


def _parse_plain(text: str, *, one_pair: bool) -> Transcript:
    pair: tuple[str, str] | None = None
    turns: list[tuple[Role, list[str]]] = []
    for number, line in enumerate(text.lstrip("\ufeff").replace("\r\n", "\n").split("\n"), start=1):
        label = _LABEL.match(line)
        name = label.group(1).lower() if label else ""
        if label and (pair is None or _PAIR_OF[name] == pair):
            pair = _PAIR_OF[name]
            role: Role = "user" if name == pair[0].lower() else "assistant"
            turns.append((role, [line[label.end() :]]))
        elif label and pair is not None and one_pair:
            raise TranscriptError(
                f"line {number}: the label {label.group(1)} is not of the pair {'/'.join(pair)}, which the "
                "previous lines have; use one pair, or send structured content"
            )
        elif turns:
            turns[-1][1].append(line)
        elif line.strip():
            pairs = ", ".join("/".join(p) for p in LABEL_PAIRS)
            raise TranscriptError(f"line {number}: no role label; use one of the pairs {pairs}")
    if not turns:
        raise TranscriptError("content is empty")
    return Transcript(
        messages=[Message(role=role, content="\n".join(lines).strip()) for role, lines in turns]
    )


# Prefixes of failed tool results, in JSON or not.
_ERROR: Final = re.compile(r"\W{0,20}(?:error|exception|traceback)\b", re.IGNORECASE)


def is_error(text: str) -> bool:
    """Return whether a message is the result of a tool that failed."""
    return text.startswith(RESULT) and _ERROR.match(text, len(RESULT)) is not None


def content_facts(transcript: Transcript) -> dict[str, Any]:
    """Return the fields of a conversation that follow from its content, under their Python names.

    They are metadata, input_tokens, output_tokens, tool_calls and tool_errors; unknown fields are left out.
    """
    facts: dict[str, Any] = {}
    metadata = flat_metadata(transcript.metadata) if transcript.metadata else {}
    if metadata:
        facts["metadata"] = metadata
    messages = transcript.messages
    answers = [message for message in messages if message.role == "assistant"]
    # unspecified: what a model reads. If answers give it (``inputTokens``), their sum, otherwise the messages
    # of the others.
    read = [(answer.model_extra or {}).get("inputTokens") for answer in answers]
    if not any(count is not None for count in read):
        read = [message.tokens for message in messages if message.role != "assistant"]
    for name, counts in (("input_tokens", read), ("output_tokens", [answer.tokens for answer in answers])):
        known = [count for count in counts if isinstance(count, int | float) and not isinstance(count, bool)]
        if known and 0 <= (total := sum(known)) <= COUNT_MAX:
            facts[name] = round(total)
    calls = sum(answer.content.startswith(CALL) for answer in answers)
    results = sum(message.content.startswith(RESULT) for message in messages)
    if calls or results:
        facts["tool_calls"] = calls or results
        facts["tool_errors"] = sum(is_error(message.content) for message in messages)
    return facts


def answer_seconds(messages: Sequence[Message]) -> float | None:
    """Return the mean time from a user's message to the answer, ``None`` if it is unknown."""
    waits = [
        (answer.timestamp - question.timestamp).total_seconds()
        for question, answer in pairwise(messages)
        if question.role == "user"
        and answer.role == "assistant"
        and question.timestamp is not None
        and answer.timestamp is not None
    ]
    kept = [wait for wait in waits if wait >= 0]
    return sum(kept) / len(kept) if kept else None


NAME_CHARS: Final = 100

_CALL: Final = re.compile(
    rf"\A{re.escape(CALL.strip())}[ \t]*([\w./:-]{{1,{NAME_CHARS}}})[ \t]*\((.*)\)\s*\Z", re.DOTALL
)


class CallParts(NamedTuple):
    """The name of a tool, and its arguments as written."""

    name: str
    arguments: str


def split_call(text: str) -> CallParts | None:
    """Return the parts of a call; ``None`` for anything else."""
    found = _CALL.match(text.strip())
    return None if found is None else CallParts(found[1], found[2])


def result_of(text: str) -> str | None:
    """Return a tool's result; ``None`` if a message is not a result."""
    mark = RESULT.strip()
    return text.removeprefix(mark).strip() if text.startswith(mark) else None
