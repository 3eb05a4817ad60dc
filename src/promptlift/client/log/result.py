"""The result of one call to log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from promptlift.client.log.records import FailedRecord

_SHOWN: Final = 10


class NotUpdatedWarning(UserWarning):
    """Conversations have changed since they were logged, and the service has no way to update them."""


@dataclass(frozen=True, slots=True)
class NotUpdated:
    """A conversation that has changed since it was logged, and that the service cannot update.

    Attributes
    ----------
    index
        Its position in the given records, from 0.
    source
        File and line, when it was read from a file; else ``record`` and the index.
    source_id
        Its id in the tool that it comes from.
    conversation_id
        Its id in the service, which still has the former state.
    """

    index: int
    source: str
    source_id: str
    conversation_id: str

    def __str__(self) -> str:
        return (
            f"{self.source}: conversation {self.source_id} ({self.conversation_id}) has changed since it was logged; "
            "this service cannot update it"
        )


@dataclass(slots=True)
class LogResult:
    """Counts of the records of one call to log, and the records that were not logged.

    Attributes
    ----------
    logged
        Conversations that the service took now.
    updated
        Conversations that were logged before and have changed since, such as those that have grown; the service has their
        new state now.
    already_there
        Conversations that were logged before; nothing was added for them.
    failed
        Records that were not logged, each with its position and the reason.
    not_updated
        Conversations that have changed since they were logged, where the service has no way to update them.
    not_sent
        Records that were not tried because the run ended early.
    stopped
        Why the run ended early, ``None`` when it did not.
    """

    logged: int = 0
    updated: int = 0
    already_there: int = 0
    failed: list[FailedRecord] = field(default_factory=list)
    not_updated: list[NotUpdated] = field(default_factory=list)
    not_sent: int = 0
    stopped: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every record is in the service now, in the state that was handed over or a later one."""
        return not self.failed and not self.not_updated and not self.not_sent and self.stopped is None

    def __str__(self) -> str:
        parts = [f"{self.logged} logged"]
        if self.updated:
            parts.append(f"{self.updated} updated")
        parts += [f"{self.already_there} already there", f"{len(self.failed)} failed"]
        if self.not_updated:
            parts.append(f"{len(self.not_updated)} changed but not updated")
        if self.not_sent:
            parts.append(f"{self.not_sent} not sent")
        text = ", ".join(parts)
        return f"{text}; stopped early: {self.stopped}" if self.stopped else text

    def __repr__(self) -> str:
        problems = [*self.failed, *self.not_updated]
        shown = [f"  {problem}" for problem in problems[:_SHOWN]]
        more = len(problems) - len(shown)
        return "\n".join([f"LogResult: {self}", *shown, *([f"  … and {more} more"] if more > 0 else [])])
