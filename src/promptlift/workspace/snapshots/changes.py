"""Find which known conversations differ at a service that does not say what changed, in a handful of requests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.pages import list_page
from promptlift.client.reads.paging import PAGE_ROWS
from promptlift.errors import UnexpectedResponse, ValidationError
from promptlift.workspace.snapshots.known import UNKNOWN_HASH, list_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.client.reads.pages import ListPage
    from promptlift.client.transport import Call, Task, Transport
    from promptlift.workspace.snapshots.known import KnownConversations

    Row = dict[str, Any]

# With more of them a walk through the list is cheaper than a request for each.
_FEW: Final = 50


class CannotTell(Exception):
    """Only a walk through the whole list can tell what differs."""


@dataclass
class ChangeSearch:
    """Compare what a service says now with what a snapshot knows.

    Compared are conversations that were in progress or not judged, the count of completed ones, the first page and a
    page of older ones: another one each time, so that every row is looked at again in the end.

    Parameters
    ----------
    transport, task
        Send and count the requests.
    call
        Asks for the list.
    known
        What the snapshot has.
    new
        Rows that are new since.
    order
        All ids, known and new, in the order of the list.
    """

    transport: Transport
    task: Task
    call: Call
    known: KnownConversations
    new: Sequence[Row]
    order: Sequence[str]

    def __post_init__(self) -> None:
        self._new_status = Counter(row.get("status") for row in self.new)
        self._changed: set[str] = set()

    def run(self, total: int, checked_to: int) -> tuple[set[str], int]:
        """Return the known conversations that differ, and where the next search continues.

        Parameters
        ----------
        total
            Rows of the list.
        checked_to
            Where the last search ended.

        Raises
        ------
        CannotTell
            When that is not enough to know.
        """
        try:
            left = self._compare(
                "status", "in_progress", self.known.of_status("in_progress"), self._new_status["in_progress"]
            )
            unjudged = sum(row.get("hasInsights") is False for row in self.new)
            self._compare("hasInsights", "false", self.known.unjudged(), unjudged)
            self._count_completed(left)
            self._look_at_place(0)
            offset = checked_to if PAGE_ROWS <= checked_to < total else PAGE_ROWS
            if offset < total:
                self._look_at_place(offset)
        except (UnexpectedResponse, ValidationError) as error:
            # unspecified: a service that does not keep to a filter.
            raise CannotTell from error
        if len(self._changed) > _FEW:
            raise CannotTell
        return self._changed, offset + PAGE_ROWS

    def _compare(self, name: str, value: str, known: set[str], new: int) -> int:
        """Compare the rows of a filter, and return how many known ones are no longer among them."""
        if not known:
            return 0
        page = self._page(self._with(name, value), PAGE_ROWS, 0)
        self._look_at(page.rows)
        if page.total > len(page.rows):
            if page.total != len(known) + new:
                raise CannotTell
            return 0
        left = known - {row["id"] for row in page.rows}
        self._changed |= left
        return len(left)

    def _count_completed(self, left: int) -> None:
        """Compare the count of completed conversations; those that are no longer in progress may be among them."""
        total = self._page(self._with("status", "completed"), 1, 0).total
        more = total - len(self.known.of_status("completed")) - self._new_status["completed"]
        if not 0 <= more <= left:
            raise CannotTell

    def _look_at_place(self, offset: int) -> None:
        """Compare a page with what must be there when rows came and went as it seems."""
        page = self._page(self.call, PAGE_ROWS, offset)
        self._look_at(page.rows)
        if [row["id"] for row in page.rows] != list(self.order[offset : offset + len(page.rows)]):
            raise CannotTell

    def _look_at(self, rows: Sequence[Row]) -> None:
        for row in rows:
            known = self.known.hashes.get(row["id"], UNKNOWN_HASH)
            if known not in (UNKNOWN_HASH, list_hash(row)):
                self._changed.add(row["id"])

    def _with(self, name: str, value: str) -> Call:
        return replace(self.call, query={**self.call.query, name: value})

    def _page(self, call: Call, limit: int, offset: int) -> ListPage:
        asked = call.page(limit, offset)
        return list_page(self.transport.send(asked, self.task).data, asked)
