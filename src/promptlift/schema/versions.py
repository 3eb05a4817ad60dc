"""Every text that a prompt ever had, and going back to one. The endpoints are ours."""

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
