"""Versions of a prompt's text, and what people did to them."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, StringConstraints

from promptlift.schema import limits
from promptlift.schema.columns import Column
from promptlift.schema.model import ApiModel, LinkedModel, RequestModel, UtcTime
from promptlift.schema.texts import LongText, not_blank

VERSION_ORIGINS: Final = ("created", "updated", "applied", "auto_deployed", "rolled_back", "restored")


class PromptVersion(ApiModel):
    """One text of a prompt."""

    id: Annotated[str, Column(name="version_id")]
    """The version's id."""
    number: Annotated[int, Column(meaning="Number of the version; 1 is the first text.")]
    """1 is the first text."""
    content: Annotated[str | None, Column(meaning="The text; missing where it is not known.")] = None
    """``None`` where the text is not known."""
    origin: Annotated[str | None, Column(categories=VERSION_ORIGINS)] = None
    """``created``, ``updated``, ``applied``, ``auto_deployed``, ``rolled_back`` or ``restored``."""
    optimization_id: Annotated[str | None, Column()] = None
    """The optimization that it comes from."""
    variant_id: Annotated[str | None, Column()] = None
    """The variant that it comes from."""
    is_live: Annotated[bool | None, Column()] = None
    """Whether it is the prompt's current text."""
    created_at: Annotated[UtcTime | None, Column()] = None
    """Since when it has been in use."""


class RestoreRequest(RequestModel):
    """Body of ``POST /prompts/:id/restore``."""

    version_id: Annotated[str, StringConstraints(max_length=limits.KEY_CHARS), AfterValidator(not_blank)]
    if_version_id: str | None = None
    """Restore only while this version is live, so that no change by others is overwritten unseen."""
    note: LongText | None = None
    """Kept with the action in ``GET /actions``."""


class TextChange(LinkedModel):
    """Answer of what makes another text of a prompt current. Other services may leave out all but ``success``."""

    success: bool
    message: str | None = None
    version_id: str | None = None
    """The version that is live now; one that was restored has the former text, byte for byte."""
    previous_version_id: str | None = None
    """The version that was live before."""
    action_id: str | None = None
    """The action in ``GET /actions``; undoing it brings the text before back."""


class RestoreAnswer(TextChange):
    """Answer of ``POST /prompts/:id/restore``."""

    changed: bool | None = None
    """Whether the text changed; ``False`` when it was live already."""


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
