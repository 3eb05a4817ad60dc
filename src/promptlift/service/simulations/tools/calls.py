"""Calls of tools as a transcript writes them: an assistant's ``[tool call] name({json})``, and ``[tool result] …`` after it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptlift.errors import TranscriptError
from promptlift.schema.transcript import CALL, parse_content, result_of, split_call

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LoggedCall", "ToolCall", "calls_in", "logged_calls", "read_call"]

# Longer results are read to the models in part anyway.
RESULT_CHARS: Final = 8_000
ARGUMENTS_CHARS: Final = 8_000

_ERROR: Final = re.compile(
    r"\s*(?:\{\s*\"(?:error|exception)\"|(?:\w+ )?(?:error|exception|failed)\b)", re.IGNORECASE
)


class ToolCall(NamedTuple):
    """A call of a tool: its name, and its arguments as JSON in one way of writing it, so that equal ones are equal."""

    name: str
    arguments: str

    @property
    def text(self) -> str:
        """The call as a transcript writes it."""
        return f"{CALL}{self.name}({self.arguments})"


class LoggedCall(NamedTuple):
    """A call with what it gave in a logged conversation. All hostile text."""

    call: ToolCall
    result: str

    @property
    def is_error(self) -> bool:
        """Whether the result looks like an error."""
        return _ERROR.match(self.result) is not None


def read_call(text: str) -> ToolCall | None:
    """Read a call as a transcript writes it; ``None`` for anything else."""
    found = split_call(text)
    if found is None or len(found.arguments) > ARGUMENTS_CHARS:
        return None
    return ToolCall(found.name, _canonical(found.arguments))


def calls_in(answer: str) -> tuple[str, list[ToolCall]]:
    """Return what an assistant says before its calls of tools, and the calls, one a line."""
    lines = answer.split("\n")
    first = next((at for at, line in enumerate(lines) if line.lstrip().startswith(CALL.strip())), None)
    if first is None:
        return answer, []
    # Arguments may go over several lines.
    parts = re.split(rf"(?m)^[ \t]*(?={re.escape(CALL.strip())})", "\n".join(lines[first:]))
    calls = [
        call for part in parts if part.strip() and (call := read_call(_to_last_bracket(part))) is not None
    ]
    return ("\n".join(lines[:first]).strip(), calls) if calls else (answer, [])


def logged_calls(content: str) -> Iterator[LoggedCall]:
    """Find calls and their results in a transcript; of several calls at once, the results follow in their order."""
    if CALL.strip() not in content:
        return
    try:
        messages = parse_content(content).messages
    except TranscriptError:
        return
    waiting: list[ToolCall] = []
    answered = False
    for message in messages:
        text = message.content
        if message.role == "assistant" and (call := read_call(text)) is not None:
            waiting = [call] if answered else [*waiting, call]
            answered = False
        elif message.role == "system" and waiting and (result := result_of(text)) is not None:
            answered = True
            yield LoggedCall(waiting.pop(0), result[:RESULT_CHARS])
        else:
            waiting, answered = [], False


def _to_last_bracket(text: str) -> str:
    """Cut what a model writes after a call."""
    end = text.rfind(")")
    return text if end < 0 else text[: end + 1]


def _canonical(arguments: str) -> str:
    try:
        found: Any = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments.strip()
    return json.dumps(found, sort_keys=True, ensure_ascii=False)
