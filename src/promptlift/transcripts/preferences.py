"""Preference pairs (DPO): of OpenAI, TRL and data sets in TRL's format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.transcripts.chat import fold, kind_in
from promptlift.transcripts.collector import ParsedConversation, is_something
from promptlift.transcripts.wrapped import chat_messages, decoded, first

if TYPE_CHECKING:
    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["conversation_of", "is_dpo"]

_PREFERRED: Final = ("preferred_output", "chosen")
_OTHERS: Final = ("non_preferred_output", "rejected")
_ASKED: Final = ("input", "conversations", "prompt")
_READ: Final = frozenset({*_PREFERRED, *_ASKED, "system", "id", "prompt_id"})
# A transcript in one text, as in Anthropic's helpful-and-harmless data.
_LABEL: Final = re.compile(r"(?:^|\n\n)(Human|Assistant): ?")


def is_dpo(value: dict[str, Any]) -> bool:
    """Return whether a record is a preference pair."""
    pair = [name for names in (_PREFERRED, _OTHERS) for name in names if name in value]
    return len(pair) == 2 or ("input" in value and bool(pair))


def conversation_of(record: Record, collector: Collector) -> ParsedConversation:
    """Read a preference pair: the conversation with the preferred answer."""
    value = record.value if isinstance(record.value, dict) else {}
    answer = first(value, _PREFERRED)
    if answer is None:
        raise Unreadable("the pair has no preferred_output, and nothing chosen")
    collector.drop_unknown(value, _READ)
    asked = first(value, _ASKED)
    history, said = chat_messages(asked, "user"), _messages(decoded(answer), "assistant")
    if any(kind_in(message) == "user" for message in said):
        history = []  # it contains the whole conversation
    if is_something(value.get("system")) and isinstance(value["system"], str):
        history = [{"role": "system", "content": value["system"]}, *history]
    messages = [*history, *said]
    source_id = first(value, ("id", "prompt_id"))
    return ParsedConversation(fold(messages, collector), record.line, source_id=source_id)


def _messages(value: Any, role: str) -> list[Any]:
    if isinstance(value, str) and (labels := list(_LABEL.finditer(value))):
        ends = [*(label.start() for label in labels[1:]), len(value)]
        return [
            {"role": label[1].lower(), "content": value[label.end() : end]}
            for label, end in zip(labels, ends, strict=True)
        ]
    if isinstance(value, dict) and "from" in value:
        return [value]
    return chat_messages(value, role)
