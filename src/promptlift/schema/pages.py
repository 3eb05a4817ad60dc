"""Lists as the API gives them: ``{"data": [...], "pagination": {...}}``, and the error body."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import ConfigDict

from promptlift.schema.model import ApiModel, UtcTime

Item = TypeVar("Item", bound=ApiModel)


class Pagination(ApiModel):
    """The position of a page in the whole list."""

    total: int
    """Items in the whole list at the time of the request."""
    limit: int
    """Items asked for."""
    offset: int
    """Items before this page."""
    next_cursor: str | None = None
    """What to ask with for the page that follows this one, in lists that take a ``cursor``; left out on the last page. It says
    nothing to a client."""


class Page(ApiModel, Generic[Item]):
    """One page of a list. Lists without paging have no ``pagination``."""

    # Pydantic would look for docstrings in the source that writes Page[...], and may fail to parse it.
    model_config = ConfigDict(use_attribute_docstrings=False)

    data: list[Item]
    pagination: Pagination | None = None
    as_of: UtcTime | None = None
    """Only in answers to ``updatedSince`` and ``deletedSince``: what to ask with next, so that nothing is missed and nothing
    unchanged comes again. Of a read of several pages, that of its first page counts."""


class Done(ApiModel):
    """Answer of an action that gives nothing else."""

    success: bool
    message: str | None = None


class ErrorInfo(ApiModel):
    """An error: its code, its message and details."""

    code: str
    message: str
    details: dict[str, Any] | None = None
    """Field name or dotted path to message, or limit data."""


class ErrorBody(ApiModel):
    """Body of every error."""

    error: ErrorInfo
