"""A complete list, page by page, or an error that contains the rows read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.pages import PagesAhead, list_page
from promptlift.client.reads.paging import ListBroken, Row, Walk
from promptlift.client.transport import Call, Task, Transport
from promptlift.errors import ApiError, IncompleteError
from promptlift.schema import endpoints
from promptlift.schema.limits import CONVERSATIONS_LIMIT_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

# More in flight than a nearby service needs, and enough to hide a network delay of 30 ms.
DETAIL_THREADS: Final = 16


def no_progress(_done: int, _total: int) -> None:
    """Show no progress."""


@dataclass(slots=True)
class RowsRead:
    """Rows as decoded JSON, with information about the read.

    Attributes
    ----------
    total
        As last reported by the service.
    requests
        Requests made for this read.
    complete
        Whether every row that existed throughout is included.
    dropped
        Rows that were deleted during the read.
    facts
        Further facts about the read.
    """

    rows: list[Row] = field(default_factory=list)
    total: int = 0
    requests: int = 0
    complete: bool = False
    dropped: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


def stopped_early(what: str, problem: str, fetched: RowsRead) -> IncompleteError:
    """Return the error of a read that ended early, with the rows read until then."""
    return IncompleteError(
        f"Read {what}, then stopped: {problem}. "
        "The rows read are in the error's .fetched; try again for the rest.",
        fetched=fetched,
    )


def read_list(
    transport: Transport,
    call: Call,
    *,
    task: Task,
    on_page: Callable[[list[Row], int], None] | None = None,
    first: Any = None,
    walk: Walk | None = None,
) -> RowsRead:
    """Read a list completely.

    Parameters
    ----------
    call
        The request for the list, without limit and offset.
    on_page
        Receives the new rows of every page and the total; without it they are in the result.
    first
        Decoded answer for the first page, if already requested.
    walk
        A walk to continue, if the list was read before.

    Raises
    ------
    ApiError
        Not even the first page can be read.
    IncompleteError
        A later page cannot be read; contains a :class:`RowsRead`.
    """
    walk = walk or Walk()
    begun = walk.pages
    kept: list[Row] = []
    keep = on_page or (lambda new, _total: kept.extend(new))
    problem: str | None = None
    cause: ApiError | None = None
    try:
        with PagesAhead(transport, call, task) as pages:
            while not walk.done:
                asked = call.page(walk.limit, walk.offset)
                data, first = first, None
                if data is None:
                    answer = pages.get(walk.limit, walk.offset)
                    pages.ask_ahead(walk.limit, walk.guess())
                    data = answer.data
                page = list_page(data, asked)
                walk.as_of = walk.as_of or page.as_of
                new = walk.take(page.rows, total=page.total, limit=page.limit)
                # Only a service of ours allows larger pages, which take a third less time per row.
                walk.limit = max(walk.limit, min(page.max_limit, CONVERSATIONS_LIMIT_MAX))
                keep(new, page.total)
    except ListBroken as error:
        problem = str(error)
    except ApiError as error:
        if walk.pages == begun:
            raise
        problem, cause = error.message, error
    read = RowsRead(kept, walk.total, task.requests, walk.done and walk.complete)
    if walk.gone:
        read.facts["deleted_since_read"] = walk.gone
    if problem is None and not read.complete:
        problem = f"the service counts {walk.total} rows, but its pages contain fewer"
    if problem is not None:
        raise stopped_early(f"{len(walk.rows)} of {walk.total} rows", problem, read) from cause
    return read


def read_prompts(transport: Transport, *, task: Task) -> RowsRead:
    """Read all prompts of the account."""
    return read_list(transport, Call.to(endpoints.PROMPTS_LIST, transport.config.scheme), task=task)
