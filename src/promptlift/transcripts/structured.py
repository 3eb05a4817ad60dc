"""The service's own format, and the chat format of OpenAI: records that hold ``messages``.

Both have the same shape; the service's adds ``metadata`` and message times, models and tokens, OpenAI's adds tools.
Records as ``POST /conversations`` takes them, with ``content`` as text, are read here too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from promptlift.transcripts.chat import fold
from promptlift.transcripts.intake import Draft, Intake, is_something
from promptlift.transcripts.plain import split_turns
from promptlift.transcripts.reading import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.sources import Record

__all__ = ["API_FIELDS", "read_structured"]

_IDS: Final = ("sourceId", "source_id", "conversationId", "conversation_id", "id")
_STARTS: Final = ("startedAt", "started_at", "createdAt", "created_at")
_MODELS: Final = ("llmModel", "llm_model", "model")
_COMPANIES: Final = ("companyName", "company_name")
_KEYS: Final = ("idempotencyKey", "idempotency_key")
API_FIELDS: Final = frozenset({"metadata", "status", *_MODELS[:2], *_COMPANIES, *_KEYS})
_INSIDE: Final = frozenset({"messages", "metadata"})


def read_structured(records: Iterable[Record], intake: Intake) -> None:
    """Read records that hold messages or content, one conversation a record."""
    for record in records:
        if record.fault is not None:
            intake.problem(record.line, record.fault)
            continue
        try:
            intake.add(_draft(record, intake))
        except (Unreadable, RecursionError) as error:
            intake.problem(record.line, str(error))


def _draft(record: Record, intake: Intake) -> Draft:
    value = {"messages": record.value} if isinstance(record.value, list) else record.value
    if not isinstance(value, dict):
        raise Unreadable("the record is not an object with messages or content")
    name = "messages" if is_something(value.get("messages")) or "content" not in value else "content"
    draft = Draft([], record.line)
    if name == "messages":
        _take_messages(draft, value, intake, prefix="")
    else:
        _take_content(draft, value["content"], intake)
    used = {name, "metadata"}
    used.add(_take(draft, "source_id", value, _IDS))
    used.add(_take(draft, "status", value, ("status",)))
    used.add(_take(draft, "llm_model", value, _MODELS))
    used.add(_take(draft, "company_name", value, _COMPANIES))
    used.add(_take(draft, "key", value, _KEYS))
    start = next((key for key in _STARTS if is_something(value.get(key))), "")
    if start and not any(turn.timestamp for turn in draft.turns):
        draft.started_at = intake.time(value[start], start)
        used.add(start)
    intake.drop_unknown(value, frozenset(used))
    draft.system_prompt = _system_of(value)
    return draft


def _system_of(value: dict[str, Any]) -> str | None:
    """Give the system prompt of a record that has it beside its messages, as Anthropic's API takes it."""
    system = value.get("system")
    if not is_something(system) or not isinstance(system, str | list):
        return None
    turns = fold([{"role": "system", "content": system}], Intake(""))
    return turns[0].content or None


def _take(draft: Draft, field: str, value: dict[str, Any], names: tuple[str, ...]) -> str:
    """Set a field of the draft from the first name that holds something; give that name."""
    name = next((name for name in names if is_something(value.get(name))), "")
    if name:
        setattr(draft, field, value[name])
    return name


def _take_messages(draft: Draft, value: dict[str, Any], intake: Intake, *, prefix: str) -> None:
    messages = value.get("messages")
    if isinstance(messages, str) and messages.lstrip().startswith("["):
        messages = _parsed(messages, "messages")
    if not isinstance(messages, list):
        shown = "no messages" if messages is None else "messages that are no list"
        raise Unreadable(f"the record has {shown}; it needs messages or content")
    draft.turns = fold(messages, intake, path=f"{prefix}messages[]")
    metadata = value.get("metadata")
    if isinstance(metadata, str) and metadata.lstrip().startswith("{"):
        metadata = _parsed(metadata, "metadata")
    if isinstance(metadata, dict):
        draft.metadata = {**draft.metadata, **metadata}
    elif is_something(metadata):
        intake.drop(f"{prefix}metadata (not an object)")


def _take_content(draft: Draft, content: Any, intake: Intake) -> None:
    if isinstance(content, str) and content.lstrip("\ufeff \t\r\n").startswith("{"):
        content = _parsed(content.lstrip("\ufeff"), "content")
    if isinstance(content, dict):
        _take_messages(draft, content, intake, prefix="content.")
        intake.drop_unknown(content, _INSIDE, prefix="content.")
    elif isinstance(content, str) and content.strip():
        draft.turns = split_turns(content, intake)
    elif isinstance(content, list):
        draft.turns = fold(content, intake, path="content[]")
    else:
        raise Unreadable("content is empty or no text")


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{what} looks like JSON but is not: {error}") from error
