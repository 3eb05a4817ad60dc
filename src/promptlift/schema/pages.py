"""Lists of the API: ``{"data": [...], "pagination": {...}}``, and the error body."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from promptlift.schema.model import ApiModel, UtcTime

Item = TypeVar("Item", bound=ApiModel)


class Pagination(ApiModel):
    """The position of a page in the whole list."""

    total: int
    """Items in the whole list at the time of the request."""
    limit: int
    """Number of items requested."""
    offset: int
    """Number of items before this page."""
    next_cursor: str | None = None
    """The ``cursor`` of the following page, in lists that support it; omitted on the last page. It is opaque to clients."""


class Page(ApiModel, Generic[Item]):
    """One page of a list. Lists without paging have no ``pagination``."""

    data: list[Item]
    pagination: Pagination | None = None
    # Only in answers to ``updatedSince`` and ``deletedSince``: the time for the next request, so that nothing is missed
    # and nothing unchanged is repeated. When reading several pages, that of the first page counts.
    as_of: UtcTime | None = None


class Done(ApiModel):
    """Answer of an action without other data."""

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
