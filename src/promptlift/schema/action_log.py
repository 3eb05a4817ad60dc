"""What people did: apply, stop, restore, undo, each with the texts before and after. The endpoints are ours."""

from __future__ import annotations

from typing import Literal

from promptlift.schema.model import LinkedModel, RequestModel, UtcTime
from promptlift.schema.texts import LongText

ActionKind = Literal["apply", "stop", "restore", "undo"]
ACTION_KINDS: tuple[ActionKind, ...] = ("apply", "stop", "restore", "undo")


class Action(LinkedModel):
    """One thing that somebody did."""

    id: str
    kind: str
    """``apply``, ``stop``, ``restore`` or ``undo``."""
    optimization_id: str | None = None
    variant_id: str | None = None
    from_version_id: str | None = None
    """The version that was live before; ``None`` for a stop."""
    to_version_id: str | None = None
    """The version that was live after it."""
    note: str | None = None
    undoes: str | None = None
    """The action that this one undid."""
    undone_by: str | None = None
    """The action that undid this one."""
    undone_at: UtcTime | None = None
    created_at: UtcTime | None = None


class UndoRequest(RequestModel):
    """Body of ``POST /actions/:id/undo``."""

    note: LongText | None = None


class UndoAnswer(LinkedModel):
    """Answer of ``POST /actions/:id/undo``."""

    success: bool
    action_id: str | None = None
    """The action that the undoing itself is."""
    version_id: str | None = None
    """The version that this made: its text is the one from before, byte for byte."""
    previous_version_id: str | None = None
    message: str | None = None
