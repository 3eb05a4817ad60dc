"""Conversations to be logged or changed, already checked, and their outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from promptlift.schema.naming import SCHEMES

if TYPE_CHECKING:
    from promptlift.schema.conversations import ConversationCreate, ConversationUpdate
    from promptlift.schema.naming import Scheme
    from promptlift.service.actions.logging.content import Shape
    from promptlift.service.store.accounts import Caller


@dataclass(frozen=True, slots=True)
class Entry:
    """One conversation to log, already checked."""

    caller: Caller
    body: ConversationCreate
    shape: Shape
    is_reconciled: bool = False
    """Whether it is compared with earlier logs: its key never expires, and its source id finds its earlier state."""

    @property
    def scheme(self) -> Scheme:
        """The naming scheme of its link."""
        return SCHEMES["agent" if self.body.prompt_id is None else "prompt"]

    @property
    def prompt_id(self) -> str:
        """The prompt that it is linked to."""
        return self.body.prompt_id or self.body.agent_id or ""


@dataclass(frozen=True, slots=True)
class Update:
    """The changes to one conversation, already checked; ``shape`` is that of a new content."""

    caller: Caller
    conversation_id: str
    body: ConversationUpdate
    shape: Shape | None


@dataclass(frozen=True, slots=True)
class Logged:
    """A conversation as in the answer to a create request.

    Attributes
    ----------
    created
        ``False`` for a conversation that already existed.
    updated
        Whether it existed in an earlier state, which was replaced.
    """

    id: str
    prompt_id: str
    status: str
    created_at: int
    created: bool
    updated: bool = False


class LookAgain(Enum):
    """The outcome of an entry whose earlier state is written in the same transaction."""

    LATER = "later"
