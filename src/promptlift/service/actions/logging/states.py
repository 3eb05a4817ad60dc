"""Compare two contents with one source id: which is newer, and whether they are the same conversation.

A conversation grows between two exports, and exports are imported in any order.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from promptlift.errors import TranscriptError
from promptlift.schema.conversations import ConversationUpdate
from promptlift.schema.metadata import SOURCE_FIELD
from promptlift.schema.transcript import parse_content
from promptlift.service.actions.logging.entries import Entry, Logged, LookAgain, Update
from promptlift.service.store import conversation_updates, conversations
from promptlift.service.store.conversation_updates import SAME_SOURCE, content_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.transcript import Transcript
    from promptlift.service.store.conversation_updates import Known
    from promptlift.service.store.conversations import StoredConversation

Relation = Literal["same", "newer", "older", "edited", "other"]

_Turns = list[tuple[str, str]]
# Exports round times differently.
_ROUNDING = timedelta(seconds=1)


class FormerStates:
    """The stored conversations with the source ids of some entries of one account.

    An id that many conversations have does not identify a conversation but, say, a customer.
    """

    def __init__(self, connection: Connection, entries: Sequence[Entry]) -> None:
        self._connection = connection
        self._found: dict[tuple[str, str | None], list[Known]] = {_place(one): [] for one in entries}
        # Entries of which a state is written in this transaction.
        self._under_way: set[tuple[str, str | None]] = set()
        source_ids: defaultdict[str, set[str]] = defaultdict(set)
        for prompt_id, source_id in self._found:
            source_ids[prompt_id].add(source_id or "")
        for prompt_id, some in source_ids.items():
            account_id = entries[0].caller.account_id
            for known in conversation_updates.lookup(
                connection, account_id, prompt_id, ids=(), source_ids=list(some)
            ):
                self._found[prompt_id, known.source_id].append(known)

    def outcome_of(self, entry: Entry) -> Logged | Update | LookAgain | None:
        """Return how an entry relates to the stored states, ``None`` if it is new."""
        place = _place(entry)
        found = self._found.get(place, [])
        if place in self._under_way:
            return LookAgain.LATER
        if not found or len(found) >= SAME_SOURCE:
            return None
        outcome = self._compared(entry, found)
        if isinstance(outcome, Update):
            self._under_way.add(place)
        return outcome

    def note_added(self, entry: Entry) -> None:
        """Record that an entry is added in this transaction."""
        place = _place(entry)
        if len(self._found.get(place, ())) < SAME_SOURCE and place in self._found:
            self._under_way.add(place)

    def _compared(self, entry: Entry, found: Sequence[Known]) -> Logged | Update | None:
        """Compare an entry with the stored states, newest first."""
        older: Logged | None = None
        grown: StoredConversation | None = None
        for known in found:
            row = conversations.find(self._connection, entry.caller.account_id, known.id)
            if row is None:
                continue
            if row.content is None:  # it was deleted because of its age, and is not restored
                return _logged(row)
            relation = compare(row.content.decode(), entry.body.content)
            if relation == "same":
                return _with_status(entry, row)
            if relation == "older":
                older = _logged(row)
            elif relation != "other" and grown is None:
                grown = row
        if older is not None or grown is None or grown.content is None:
            return older
        body = entry.body
        update = ConversationUpdate.model_construct(
            content=body.content,
            status=body.status,
            if_content_hash=content_hash(grown.content),
            **body.facts(),
        )
        return Update(entry.caller, grown.id, update, entry.shape)


def at_its_state(entry: Entry, there: StoredConversation) -> Logged | Update:
    """Return the outcome of an entry that was logged before; its status may have become known since."""
    if entry.is_reconciled and there.content_hash == content_hash(entry.body.content.encode()):
        return _with_status(entry, there)
    return _logged(there)


def _with_status(entry: Entry, there: StoredConversation) -> Logged | Update:
    status = entry.body.status
    if not is_news(there.status, status):
        return _logged(there)
    return Update(entry.caller, there.id, ConversationUpdate.model_construct(status=status), None)


def _logged(there: StoredConversation) -> Logged:
    return Logged(there.id, there.prompt_id, there.status, there.created_at, created=False)


def _place(entry: Entry) -> tuple[str, str | None]:
    return entry.prompt_id, entry.body.source_id


def compare(there: str, new: str) -> Relation:
    """Compare a new content with the stored one.

    A content that continues the other one is the newer one: more messages, or a longer last one. Where neither
    continues the other, it was edited: the one that ends later is newer, or else the one with more messages.

    Returns
    -------
    str
        ``same``; ``newer`` or ``older`` than the stored one; ``edited`` when it is unknown which is newer;
        ``other`` when they are two conversations: they start at different times or, where times are not
        known, with different user messages.
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
    """Return whether a status replaces the stored one: an ended conversation does not start again."""
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
    """Return whether a list of turns begins with another list, whose last turn may have been truncated."""
    *whole, (role, text) = with_
    if len(longer) < len(with_) or longer[: len(whole)] != whole:
        return False
    return longer[len(whole)][0] == role and longer[len(whole)][1].startswith(text)


def _start_together(before: Transcript, after: Transcript) -> bool:
    """Return whether two contents start at the same time, as far as their times are known."""
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
