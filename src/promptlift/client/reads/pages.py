"""One page of a list: requested, possibly in advance, and checked before use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeGuard

from promptlift.client.worker_pool import WorkerPool
from promptlift.errors import UnexpectedResponse
from promptlift.schema.naming import LINKS, link_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from promptlift.client.connection import Connection
    from promptlift.client.reads.paging import Row
    from promptlift.client.transport import Answer, Call, Task, Transport

_WRONG_GUESSES_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class ListPage:
    """Rows of one answer, with its information about the list.

    ``as_of`` is the time from which to request further changes, ``next_cursor`` the cursor of the following
    page, and ``max_limit`` the limit that it may have.
    """

    rows: list[Row]
    total: int
    limit: int | None
    as_of: str | None = None
    next_cursor: str | None = None
    max_limit: int = 0


def list_page(data: Any, call: Call) -> ListPage:
    """Extract a page from a decoded list answer.

    Parameters
    ----------
    call
        The request; an answer that visibly belongs to another request is refused.

    Raises
    ------
    UnexpectedResponse
        The answer is not a page of this list.
    """
    label, params = call.label, call.query
    rows = data.get("data") if isinstance(data, dict) else None
    pagination = data.get("pagination") if isinstance(data, dict) else None
    total = pagination.get("total") if isinstance(pagination, dict) else None
    if not isinstance(rows, list) or not _is_count(total):
        raise UnexpectedResponse(
            "The answer is not a page of a list with data and pagination.total", request=label
        )
    if not all(isinstance(row, dict) and isinstance(row.get("id"), str) and row["id"] for row in rows):
        raise UnexpectedResponse("A row of the list is not an object with a string as id", request=label)
    assert isinstance(pagination, dict)  # noqa: S101
    place, limit = pagination.get("offset"), pagination.get("limit")
    if _is_count(place) and str(place) != params.get("offset", "0"):
        raise UnexpectedResponse(
            f"The answer has the rows from offset {place}; those from {params.get('offset', '0')} were "
            "requested",
            request=label,
        )
    _check_filters(rows, params, label)
    return ListPage(
        rows,
        total,
        limit if _is_count(limit) else None,
        _text(data.get("asOf")),
        _text(pagination.get("nextCursor")),
        max_limit if _is_count(max_limit := pagination.get("maxLimit")) else 0,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_filters(rows: list[Row], params: Mapping[str, str], label: str) -> None:
    """Refuse rows whose own fields contradict the request.

    Raises
    ------
    UnexpectedResponse
        The service ignores a filter.
    """
    status = params.get("status")
    link = next((params[name] for name in LINKS if name in params), None)
    for row in rows:
        if link is not None and link_of(row) not in (None, link):
            name = "promptId" if "promptId" in params else "agentId"
        elif status is not None and row.get("status") not in (None, status):
            name = "status"
        else:
            continue
        raise UnexpectedResponse(
            f"The service ignores the filter {name}={params[name]}: it returns other rows too",
            request=label,
        )


class PagesAhead:
    """Pages of a list; a thread requests the next one while the last one is processed.

    Prefetching is a guess. It is right unless the list changes by more than the pages overlap, so a second
    wrong guess ends it, to avoid unneeded requests.
    """

    def __init__(self, transport: Transport, call: Call, task: Task) -> None:
        self._transport = transport
        self._call = call
        self._task = task
        self._pool: WorkerPool[tuple[int, int], Answer] = WorkerPool(
            transport, self._fetch, task=task, threads=1
        )
        self._in_flight: tuple[int, int] | None = None
        self._wrong = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._result()  # at most one: the list turned out to be shorter
        self._pool.__exit__(kind, error, trace)

    def get(self, limit: int, offset: int) -> Answer:
        """Return the page at an offset.

        Raises
        ------
        ApiError
            The page cannot be read.
        """
        guessed = self._in_flight
        if guessed is not None:
            answer, error = self._result()
            if guessed == (limit, offset):
                if error is not None:
                    raise error
                if answer is not None:
                    return answer
            self._wrong += 1
        return self._transport.send(self._call.page(limit, offset), self._task)

    def ask_ahead(self, limit: int, offset: int | None) -> None:
        """Prefetch a page that will be needed, ``None`` for no guess."""
        if offset is not None and self._wrong < _WRONG_GUESSES_MAX:
            self._in_flight = (limit, offset)
            self._pool.submit(self._in_flight)

    def _fetch(self, page: tuple[int, int], connection: Connection) -> Answer:
        return self._transport.send(self._call.page(*page), self._task, connection=connection)

    def _result(self) -> tuple[Answer | None, Exception | None]:
        if self._in_flight is None:
            return None, None
        self._in_flight = None
        _, answer, error = next(self._pool.results(), (None, None, None))
        return answer, error
