"""ShareGPT: ``conversations`` of ``from`` and ``value``, or of ``role`` and ``content``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.transcripts.chat import fold
from promptlift.transcripts.collector import ParsedConversation, ParsedMessage, is_something
from promptlift.transcripts.reading import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.transcripts.collector import Collector
    from promptlift.transcripts.sources import Record

__all__ = ["read_sharegpt"]

_LISTS: Final = ("conversations", "conversation")
_IDS: Final = ("id", "conversation_id", "conversationId")
_READ: Final = frozenset({*_LISTS, *_IDS, "model", "system"})


def read_sharegpt(records: Iterable[Record], collector: Collector) -> None:
    """Read ShareGPT records, one conversation for each record."""
    collector.add_each(records, _conversation)


def _conversation(record: Record, collector: Collector) -> ParsedConversation:
    value = record.value if isinstance(record.value, dict) else {}
    name = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
    if name is None:
        raise Unreadable("the record has no list of conversations")
    turns = fold(value[name], collector, path=f"{name}[]")
    if isinstance(value.get("system"), str) and value["system"]:
        turns.insert(0, ParsedMessage("system", value["system"]))
    source_id = next((value[key] for key in _IDS if is_something(value.get(key))), None)
    collector.drop_unknown(value, _READ)
    return ParsedConversation(turns, record.line, source_id=source_id, llm_model=value.get("model"))
