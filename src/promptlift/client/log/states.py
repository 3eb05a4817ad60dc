"""Compare two contents with one source id: which is newer, and whether they are one conversation at all.

A conversation grows between two exports, and exports are imported in any order. Nothing here asks the service.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from promptlift.client.log.records import SOURCE_FIELD
from promptlift.errors import TranscriptError
from promptlift.schema.transcript import parse_content

if TYPE_CHECKING:
    from promptlift.schema.transcript import Transcript

Relation = Literal["same", "newer", "older", "edited", "other"]

_Turns = list[tuple[str, str]]
# Exports round times differently.
_ROUNDING = timedelta(seconds=1)


def compare(there: str, new: str) -> Relation:
    """Compare a new content with the one that the service has.

    A content that continues the other one is the newer one: more messages, or a longer last one. Where neither
    continues the other, it was edited: the one that ends later is newer, or else the one with more messages.

    Returns
    -------
    str
        ``same``; ``newer`` or ``older`` than what is there; ``edited`` when nothing says which is newer; ``other`` when they
        are two conversations: they start at different times or, where times are not known, with different
        user messages.
    """
    if there == new:
        return "same"
    try:
        before, after = parse_content(there), parse_content(new)
    except TranscriptError:
        return "other"
    if _without_source_id(before) == _without_source_id(after):
        return "same"
    if not _start_together(before, after):
        return "other"
    return _by_turns(_turns(before), _turns(after)) or _by_end(before, after)


def is_news(there: str | None, new: str | None) -> bool:
    """Whether a status replaces the one that the service has: what has ended does not start again."""
    return new is not None and new != there and not (new == "in_progress" and there is not None)


def _by_turns(old: _Turns, new: _Turns) -> Relation | None:
    """Compare two contents where one continues the other."""
    if old == new:
        return None
    if _begins(new, with_=old):
        return "newer"
    return "older" if _begins(old, with_=new) else None


def _by_end(before: Transcript, after: Transcript) -> Relation:
    """Compare two contents of which neither continues the other."""
    count = len(after.messages) - len(before.messages)
    if before.ended_at is None or after.ended_at is None:
        # System prompts and greetings begin many conversations.
        if _opening(before) != _opening(after):
            return "other"
    elif abs(before.ended_at - after.ended_at) >= _ROUNDING:
        return "newer" if after.ended_at > before.ended_at else "older"
    return "newer" if count > 0 else "older" if count < 0 else "edited"


def _turns(transcript: Transcript) -> _Turns:
    return [(message.role, message.content) for message in transcript.messages]


def _begins(longer: _Turns, *, with_: _Turns) -> bool:
    """Whether a list of turns begins with another one, whose last turn may have been cut."""
    *whole, (role, text) = with_
    if len(longer) < len(with_) or longer[: len(whole)] != whole:
        return False
    return longer[len(whole)][0] == role and longer[len(whole)][1].startswith(text)


def _start_together(before: Transcript, after: Transcript) -> bool:
    """Whether two contents start at one time, as far as their times are known."""
    if before.started_at is None or after.started_at is None:
        return True
    return abs(before.started_at - after.started_at) < _ROUNDING


def _opening(transcript: Transcript) -> str:
    return next((message.content for message in transcript.messages if message.role == "user"), "")


def _without_source_id(transcript: Transcript) -> dict[str, Any]:
    document = transcript.model_dump(exclude_none=True)
    metadata = document.pop("metadata", None) or {}
    document["metadata"] = {name: value for name, value in metadata.items() if name != SOURCE_FIELD}
    return document
