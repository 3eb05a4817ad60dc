"""One message of a conversation as people are shown it, the same in widgets and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptlift.schema.inert import shorten, visible

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as shown, harmless and cut to a length; or a gap (role ``gap``) that says what is omitted.

    Attributes
    ----------
    role
        Who wrote it.
    content
        Its text.
    cut
        Number of characters omitted from its end.
    detail
        What is known about it, in small print.
    at
        When it was written, where that is shown as a time.
    """

    role: str
    content: str
    cut: int = 0
    detail: str = ""
    at: datetime | None = None

    @classmethod
    def shown(cls, role: str, content: str, limit: int, **about: Any) -> Turn:
        """Return a message from outside without control characters, cut to ``limit`` characters."""
        kept, cut = shorten(visible(content), limit)
        return cls(role, kept, cut, **about)
