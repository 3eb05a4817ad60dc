"""ShareGPT: ``conversations`` of ``from`` and ``value``, or of ``role`` and ``content``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.schema.boundary import Unreadable
from promptlift.schema.metadata import scores_in
from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, ParsedMessage
from promptlift.transcripts.wrapped import first

if TYPE_CHECKING:
    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["conversation_of", "is_sharegpt"]

_LISTS: Final = ("conversations", "conversation", "items")
# A record of two texts: question and answer.
_PAIRS: Final = (
    ("instruction", "output"),
    ("prompt", "response"),
    ("prompt", "completion"),
    ("question", "answer"),
    ("input", "output"),
    ("query", "response"),
)
_IDS: Final = ("id", "conversation_id", "conversationId")
_READ: Final = frozenset({*_LISTS, *_IDS, "model", "system"})


def conversation_of(record: Record, collector: Collector) -> ParsedConversation:
    """Read a list of turns, or a pair of texts."""
    value = record.value if isinstance(record.value, dict) else {}
    name = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
    found, read = _pair(value) if name is None else (value[name], ())
    if found and all(isinstance(turn, list | tuple) and len(turn) == 2 for turn in found):
        # Turns as pairs of question and answer.
        found = [
            {"role": role, "content": text}
            for turn in found
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ]
    turns = fold(found, collector, path=f"{name}[]")
    if isinstance(value.get("system"), str) and value["system"]:
        turns.insert(0, ParsedMessage("system", value["system"]))
    scores = scores_in(value)
    collector.drop_unknown(value, _READ | {*read, *scores})
    return ParsedConversation(
        turns, record.line, source_id=first(value, _IDS), llm_model=value.get("model"), metadata=scores
    )


def is_sharegpt(value: dict[str, Any]) -> bool:
    """Return whether a record is a list of turns, or a pair of texts."""
    if any(isinstance(value.get(name), list) and value[name] for name in _LISTS[:2]):
        return True
    items = value.get("items")
    if (
        isinstance(items, list)
        and items
        and isinstance(items[0], dict)
        and {"from", "value"} <= items[0].keys()
    ):
        return True
    return _names_of_pair(value) is not None


def _names_of_pair(value: dict[str, Any]) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if all(isinstance(value.get(name), str) for name in pair)), None)


def _pair(value: dict[str, Any]) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return a question and its answer, and the fields that they are from."""
    names = _names_of_pair(value)
    if names is None:
        raise Unreadable("the record has no list of conversations")
    asked, answered = (value[name] for name in names)
    more = value.get("input") if "input" not in names else None
    if isinstance(more, str) and more:
        asked = f"{asked}\n\n{more}"
    turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    return turns, (*names, "input")
