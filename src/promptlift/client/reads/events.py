"""Events of an account, which the embedded service lists: the newest, and those from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.client.reads.optimizations import not_offered
from promptlift.client.reads.pages import ListPage, list_page
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Call, Task, Transport
from promptlift.errors import NotFound
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.client.reads.paging import Row

_PAGE_ROWS: Final = 100
# Ids to remember: other processes' events may have a lower number and be committed later.
_REMEMBERED: Final = 10_000


def read_events(transport: Transport, *, kind: str | None, newest: int | None, task: Task) -> RowsRead:
    """Read events, newest first, each page from the end of the previous one.

    Parameters
    ----------
    newest
        How many to read; by default all.

    Raises
    ------
    NotFound
        The service does not support events.
    """
    found: dict[str, Row] = {}
    total = 0
    for page in _pages(transport, kind, task):
        total = page.total
        found |= {row["id"]: row for row in page.rows}
        if newest is not None and len(found) >= newest:
            break
    rows = list(found.values())[:newest]
    return RowsRead(rows, total, task.requests, complete=len(rows) >= total)


class NewEvents:
    """Poll for the events since the last time.

    Parameters
    ----------
    transport
        Sends the requests.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._seen: dict[str, None] | None = None

    def take(self, task: Task) -> list[Row]:
        """Return the events since the last call, oldest first; the first call returns none.

        Raises
        ------
        NotFound
            The service does not support events.
        """
        new: dict[str, Row] = {}
        pages = _pages(self._transport, None, task)
        if self._seen is None:
            self._seen = dict.fromkeys(row["id"] for row in reversed(next(pages).rows))
            return []
        for page in pages:
            unknown = [row for row in page.rows if row["id"] not in self._seen]
            new |= {row["id"]: row for row in unknown}
            if len(unknown) < len(page.rows):
                break
        rows = [*reversed(new.values())]
        self._seen |= dict.fromkeys(row["id"] for row in rows)
        for old in list(self._seen)[:-_REMEMBERED]:
            del self._seen[old]
        return rows


def _pages(transport: Transport, kind: str | None, task: Task) -> Iterator[ListPage]:
    """Read page after page; there is always a first one."""
    cursor: str | None = None
    while True:
        query = {"kind": kind, "limit": _PAGE_ROWS, "cursor": cursor}
        call = Call.to(endpoints.EVENTS_LIST, transport.config.scheme, query=query)
        try:
            page = list_page(transport.send(call, task).data, call)
        except NotFound as error:
            raise not_offered(error, endpoints.EVENTS_LIST.name) from None
        yield page
        cursor = page.next_cursor
        if cursor is None or not page.rows:
            return
