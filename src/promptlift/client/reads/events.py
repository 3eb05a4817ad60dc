"""Events of an account, which the embedded service lists: the newest, and those that come from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.optimizations import not_offered
from promptlift.client.reads.pages import ListPage, list_page
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Call, Task, Transport
from promptlift.errors import NotFound
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from promptlift.client.reads.paging import Row

_PAGE_ROWS: Final = 100
# Ids that are remembered: others' events may get a number before ours and be kept after.
_REMEMBERED: Final = 10_000


def read_events(transport: Transport, *, kind: str | None, newest: int | None, task: Task) -> RowsRead:
    """Read events, the newest first.

    Events are added at the top and trimmed at the end, so that pages by offset repeat some and leave none out.

    Parameters
    ----------
    newest
        How many to read; all without it.

    Raises
    ------
    NotFound
        When the service does not offer them.
    """
    found: dict[str, Row] = {}
    offset = total = 0
    while newest is None or len(found) < newest:
        page = _page(transport, kind, offset, task)
        total = page.total
        found |= {row["id"]: row for row in page.rows}
        offset += len(page.rows)
        if not page.rows or offset >= page.total:
            break
    rows = list(found.values())[:newest]
    return RowsRead(rows, total, task.requests, complete=len(rows) >= total)


class NewEvents:
    """Ask again and again for the events that came since the last time.

    Parameters
    ----------
    transport
        Sends the requests.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._seen: dict[str, None] | None = None

    def take(self, task: Task) -> list[Row]:
        """Return the events that are new since the last call, the oldest first; the first call returns none.

        Raises
        ------
        NotFound
            When the service does not offer events.
        """
        new: dict[str, Row] = {}
        offset = 0
        while True:
            page = _page(self._transport, None, offset, task)
            if self._seen is None:
                self._seen = dict.fromkeys(row["id"] for row in reversed(page.rows))
                return []
            unknown = [row for row in page.rows if row["id"] not in self._seen]
            new |= {row["id"]: row for row in unknown}
            offset += len(page.rows)
            if len(unknown) < len(page.rows) or offset >= page.total or not page.rows:
                break
        rows = [*reversed(new.values())]
        self._seen |= dict.fromkeys(row["id"] for row in rows)
        for old in list(self._seen)[:-_REMEMBERED]:
            del self._seen[old]
        return rows


def _page(transport: Transport, kind: str | None, offset: int, task: Task) -> ListPage:
    query = {"kind": kind, "limit": _PAGE_ROWS, "offset": offset}
    call = Call.to(endpoints.EVENTS_LIST, transport.config.scheme, query=query)
    try:
        data: Any = transport.send(call, task).data
    except NotFound as error:
        raise not_offered(error, endpoints.EVENTS_LIST.name) from None
    return list_page(data, call)
