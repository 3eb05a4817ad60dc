"""The log of actions: apply, stop, restore, undo, each with the texts before and after. The endpoints are ours."""

from __future__ import annotations

from typing import Annotated, Final

from promptlift.schema.columns import Column
from promptlift.schema.model import LinkedModel, RequestModel, UtcTime
from promptlift.schema.texts import LongText
from promptlift.schema.versions import TextChange

ACTION_KINDS: Final = ("apply", "stop", "restore", "undo")


class Action(LinkedModel):
    """One action of a person."""

    id: Annotated[str, Column(name="action_id")]
    """The action's id."""
    kind: Annotated[str, Column(categories=ACTION_KINDS)]
    """``apply``, ``stop``, ``restore`` or ``undo``."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization that it concerned."""
    variant_id: Annotated[str | None, Column()] = None
    """The variant that it concerned."""
    from_version_id: Annotated[str | None, Column()] = None
    """The version that was live before; ``None`` for a stop."""
    to_version_id: Annotated[str | None, Column()] = None
    """The version that was live after it."""
    note: Annotated[str | None, Column()] = None
    """What the person noted."""
    undoes: Annotated[str | None, Column()] = None
    """The action that this one undid."""
    undone_by: Annotated[str | None, Column()] = None
    """The action that undid this one."""
    undone_at: Annotated[UtcTime | None, Column()] = None
    """When it was undone."""
    created_at: Annotated[UtcTime | None, Column(name="acted_at")] = None
    """When it was done."""


class UndoRequest(RequestModel):
    """Body of ``POST /actions/:id/undo``."""

    note: LongText | None = None


class UndoAnswer(TextChange):
    """Answer of ``POST /actions/:id/undo``; ``action_id`` is the undoing itself."""
