"""The result of one call to log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from promptlift.client.log.records import FailedRecord

_SHOWN: Final = 10


@dataclass(slots=True)
class LogResult:
    """Counts of the records in one call to log, and the records that were not logged.

    Attributes
    ----------
    logged
        Newly logged conversations.
    updated
        Conversations that were logged before and have changed since, for example grown; the service now has
        their new state.
    already_there
        Conversations that were logged before, unchanged.
    failed
        Records that were not logged, each with its position and the reason.
    not_sent
        Records that were not tried because the run ended early.
    waiting
        Conversations in the outbox, until the service can be reached again.
    stopped
        Why the run ended early, ``None`` if it did not.
    """

    logged: int = 0
    updated: int = 0
    already_there: int = 0
    failed: list[FailedRecord] = field(default_factory=list)
    not_sent: int = 0
    waiting: int = 0
    stopped: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every record is now in the service, in the given state or a later one."""
        return not self.failed and not self.not_sent and not self.waiting and self.stopped is None

    def __str__(self) -> str:
        parts = [f"{self.logged} logged"]
        if self.updated:
            parts.append(f"{self.updated} updated")
        parts += [f"{self.already_there} already there", f"{len(self.failed)} failed"]
        if self.not_sent:
            parts.append(f"{self.not_sent} not sent")
        if self.waiting:
            parts.append(f"{self.waiting} waiting in the outbox")
        text = ", ".join(parts)
        return f"{text}; stopped early: {self.stopped}" if self.stopped else text

    def __repr__(self) -> str:
        shown = [f"  {failure}" for failure in self.failed[:_SHOWN]]
        more = len(self.failed) - len(shown)
        return "\n".join([f"LogResult: {self}", *shown, *([f"  … and {more} more"] if more > 0 else [])])
