"""Read all conversations of a filter: the list in order, details in parallel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.paging import PAGE_ROWS, Row
from promptlift.client.reads.read_list import (
    DETAIL_THREADS,
    RowsRead,
    no_progress,
    read_list,
    stopped_early,
)
from promptlift.client.transport import ASK_PLAN_FROM, Call, Task, Transport
from promptlift.client.worker_pool import WorkerPool
from promptlift.errors import ApiError, IncompleteError, NotFound, UnexpectedResponse, ValidationError
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.client.connection import Connection
    from promptlift.client.reads.paging import Walk
    from promptlift.schema.endpoints import Endpoint

    Progress = Callable[[int, int], None]

# Rows are passed on in batches: small ones if they contain long texts, otherwise large ones, which cost less
# per row.
PART_ROWS: Final = 2_000
PART_ROWS_WITH_TEXT: Final = 250


@dataclass(frozen=True, slots=True)
class Wanted:
    """The details that a conversation row must have.

    Attributes
    ----------
    insights, content
        Whether to fetch them if the list does not include them.
    content_if_listed
        Whether content is used if the list includes it, but not fetched otherwise.
    """

    insights: bool = False
    content: bool = False
    content_if_listed: bool = False

    def missing(self, row: Row) -> tuple[bool, bool]:
        """Return whether the content, and whether the insights must be fetched separately.

        A row with the field, even as ``null``, needs no request, nor do insights that the row marks as
        absent.
        """
        content = self.content and "content" not in row
        insights = self.insights and "insights" not in row and row.get("hasInsights") is not False
        return content, insights

    def lacks(self, row: Row) -> bool:
        """Return whether anything must be fetched separately."""
        return any(self.missing(row))


class ConversationRead:
    """One read of conversations.

    Parameters
    ----------
    wanted
        Details of every row; fetched only if the list does not include them.
    prompt_id, status
        Filters of the list.
    progress
        Called often, with rows ready and rows in total.
    on_part
        Receives complete rows, in the order of the list, some thousands at a time, so that the read need not
        hold them all; the result has the rest.
    on_details
        Receives each row whose details were fetched, immediately and in any order.
    part_rows
        Minimum rows per call of ``on_part``; by default some thousands, fewer with content.
    keep
        Decides for every row of the list whether it is wanted; others are skipped without fetching details.
    walk
        A walk to continue, if the list was read before.
    updated_since
        Only conversations logged or changed since that time, if the service supports it; otherwise all.
    """

    def __init__(
        self,
        transport: Transport,
        wanted: Wanted,
        *,
        prompt_id: str | None = None,
        status: str | None = None,
        progress: Progress | None = None,
        on_part: Callable[[list[Row]], None] | None = None,
        on_details: Callable[[Row], None] | None = None,
        part_rows: int | None = None,
        keep: Callable[[Row], bool] | None = None,
        walk: Walk | None = None,
        updated_since: str | None = None,
        task: Task | None = None,
    ) -> None:
        self._transport = transport
        self._wanted = wanted
        self._task = task or Task()
        self._progress = progress or no_progress
        self._on_part = on_part
        self._on_details = on_details
        self._part_rows = part_rows or (PART_ROWS_WITH_TEXT if wanted.content else PART_ROWS)
        self._keep = keep
        self._walk = walk
        self._updated_since = updated_since
        # Rows passed on or skipped, and the complete ones at the beginning of the rest.
        self._handed = 0
        self._whole_rows = 0
        self._filters = {"prompt_id": prompt_id, "status": status}
        self._rows: list[Row] = []
        self._total = 0
        self._pending: set[str] = set()
        self._dropped: set[str] = set()

    def call(self, *, with_details: bool = True) -> Call:
        """Make the call of the list, without limit and offset, including the details that rows must have."""
        details = {
            "include_insights": self._wanted.insights or None,
            "include_content": self._wanted.content or self._wanted.content_if_listed or None,
            "updated_since": self._updated_since,
        }
        return Call.to(
            endpoints.CONVERSATIONS_LIST,
            self._transport.config.scheme,
            query={**self._filters, **(details if with_details else {})},
        )

    def run(self) -> RowsRead:
        """Read everything.

        Raises
        ------
        ApiError
            Nothing could be read.
        IncompleteError
            Only a part could be read; contains a :class:`RowsRead` of the complete rows.
        """
        try:
            return self._run(self.call())
        except ValidationError:
            if self._seen or self.call() == self.call(with_details=False):
                raise
        # unspecified: a service may refuse parameters that it does not know, instead of ignoring them.
        self._task.stop.clear()
        return self._run(self.call(with_details=False))

    def _run(self, call: Call) -> RowsRead:
        pool: WorkerPool[Row, bool]
        with WorkerPool(self._transport, self._fetch, task=self._task, threads=DETAIL_THREADS) as pool:

            def on_page(new: list[Row], total: int) -> None:
                self._take(new, total, pool)

            try:
                read = read_list(self._transport, call, task=self._task, on_page=on_page, walk=self._walk)
                self._collect(pool.results())
            except IncompleteError as error:
                self._save_ready(pool)
                error.fetched = self._whole(complete=False)
                raise
            except ApiError as error:
                self._save_ready(pool)
                if not self._seen:
                    raise
                fetched = self._whole(complete=False)
                count = f"{self._handed + len(fetched.rows)} of {self._total} conversations"
                raise stopped_early(count, error.message, fetched) from error
        self._total = read.total
        whole = self._whole(complete=True)
        whole.facts |= read.facts
        return whole

    def _take(self, new: list[Row], total: int, pool: WorkerPool[Row, bool]) -> None:
        if self._wanted.insights:
            _check_insights(new)
        if self._keep is not None:
            listed, new = len(new), [row for row in new if self._keep(row)]
            self._handed += listed - len(new)
        self._rows += new
        self._total = total
        missing = [row for row in new if self._wanted.lacks(row)]
        self._pending.update(row["id"] for row in missing)
        # A few go immediately, too few to exceed any plan, so that nobody waits for the plan.
        first, others = missing[:DETAIL_THREADS], missing[DETAIL_THREADS:]
        for row in first:
            pool.submit(row)
        if total / PAGE_ROWS + (total if missing else 0) > ASK_PLAN_FROM:
            self._transport.ask_plan(self._task)
        for row in others:
            pool.submit(row)
        self._collect(pool.ready())
        self._report_progress()
        self._hand_over()

    def _hand_over(self) -> None:
        """Pass on the rows before the first incomplete one, once there are enough."""
        rows = self._rows
        if self._on_part is None:
            return
        if not self._pending:
            self._whole_rows = len(rows)
        while self._whole_rows < len(rows) and rows[self._whole_rows]["id"] not in self._pending:
            self._whole_rows += 1
        if self._whole_rows < self._part_rows:
            return
        whole, self._rows = rows[: self._whole_rows], rows[self._whole_rows :]
        self._handed += self._whole_rows
        self._whole_rows = 0
        self._on_part([row for row in whole if row["id"] not in self._dropped])

    @property
    def _seen(self) -> int:
        return self._handed + len(self._rows)

    def _collect(self, results: Iterator[tuple[Row, bool | None, Exception | None]]) -> None:
        """Collect finished rows; the first failure ends the read."""
        for row, there, error in results:
            if error is not None:
                raise error
            if not there:
                self._dropped.add(row["id"])
            elif self._on_details is not None:
                self._on_details(row)
            self._pending.discard(row["id"])
            self._report_progress()
            self._hand_over()

    def _save_ready(self, pool: WorkerPool[Row, bool]) -> None:
        """Pass on the details that arrived with, or after, the failure that ends the read."""
        for row, there, error in pool.ready():
            if there and error is None and self._on_details is not None:
                self._on_details(row)

    def _report_progress(self) -> None:
        self._progress(self._seen - len(self._pending), max(self._total, self._seen))

    def _fetch(self, row: Row, connection: Connection) -> bool:
        """Fetch the missing details of a row; ``False`` if the conversation is gone."""
        content, insights = self._wanted.missing(row)
        try:
            if content:
                detail = self._detail(endpoints.CONVERSATIONS_GET, "id", row["id"], connection)
                row |= {name: value for name, value in detail.items() if name not in row or name == "content"}
                row.setdefault("content", None)
                given = row.get("insights")
                # The object inside a conversation lacks score, issues and time; only the insights endpoint
                # has them.
                insights = insights and isinstance(given, dict) and "sentimentScore" not in given
            if insights:
                row["insights"] = self._insights(row, connection)
        except NotFound:
            return False
        return True

    def _insights(self, row: Row, connection: Connection) -> Row | None:
        try:
            return self._detail(endpoints.CONVERSATIONS_INSIGHTS, "conversationId", row["id"], connection)
        except NotFound:
            given = row.get("insights")
            if isinstance(given, dict):
                return given
            # unspecified: the answer for a conversation without insights. The conversation itself shows
            # whether it exists.
            self._detail(endpoints.CONVERSATIONS_GET, "id", row["id"], connection)
            return None

    def _detail(self, endpoint: Endpoint[Any], field: str, identifier: str, connection: Connection) -> Row:
        call = Call.to(endpoint, self._transport.config.scheme, identifier)
        data = self._transport.send(call, self._task, connection=connection).data
        if not isinstance(data, dict) or data.get(field) != identifier:
            raise UnexpectedResponse(
                f"The answer of {endpoint.name} does not belong to this conversation: its {field} is "
                "different or missing",
                request=call.label,
            )
        return data

    def _whole(self, *, complete: bool) -> RowsRead:
        left_out = self._dropped | self._pending
        rows = [row for row in self._rows if row["id"] not in left_out]
        return RowsRead(rows, self._total, self._task.requests, complete, len(self._dropped))


def _check_insights(rows: list[Row]) -> None:
    """Refuse insights whose own id belongs to another conversation.

    Raises
    ------
    UnexpectedResponse
        A row has such insights.
    """
    for row in rows:
        given = row.get("insights")
        if isinstance(given, dict) and given.get("conversationId") not in (None, row["id"]):
            raise UnexpectedResponse(
                "A row of the list has the insights of another conversation",
                request=f"GET {endpoints.CONVERSATIONS_LIST.path}",
            )
