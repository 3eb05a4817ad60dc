"""Complete reads of optimizations and their variants, from services with or without paged lists."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.read_list import (
    DETAIL_THREADS,
    RowsRead,
    no_progress,
    read_list,
    stopped_early,
)
from promptlift.client.transport import ASK_PLAN_FROM, Call, Task, Transport
from promptlift.client.worker_pool import WorkerPool
from promptlift.errors import ApiError, IncompleteError, NotFound, UnexpectedResponse
from promptlift.schema import endpoints
from promptlift.schema.limits import LIST_LIMIT_MAX, OPTIMIZATIONS_LIMIT_DEFAULT
from promptlift.schema.naming import link_of
from promptlift.schema.optimizations import Optimization

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptlift.client.connection import Connection
    from promptlift.client.reads.paging import Row
    from promptlift.schema.endpoints import Endpoint

    Progress = Callable[[int, int], None]


# unspecified: the maximum rows of an answer. A service's own undeclared limit is a round number.
_ROUND: Final = 5
_MAY_BE_MORE: Final = (
    "The service reports neither the total nor its limit of optimizations, so there may be more than these {}. "
    "Read those of one prompt or one status to get fewer at a time."
)


def read_optimizations(
    transport: Transport,
    *,
    prompt_id: str | None = None,
    status: str | None = None,
    results: bool = True,
    task: Task | None = None,
    progress: Progress = no_progress,
) -> RowsRead:
    """Read the list of optimizations.

    The specification's list takes a limit and has neither pages nor a total. If an answer may have reached the service's own
    limit, ``completeness`` in the facts says so.

    Parameters
    ----------
    prompt_id, status
        Filters.
    results
        Whether a completed row without results is requested individually.

    Raises
    ------
    ApiError
        If nothing could be read.
    IncompleteError
        Reading ended early; contains a :class:`RowsRead`.
    """
    task = task or Task()
    filters = {"prompt_id": prompt_id, "status": status}
    call = Call.to(endpoints.OPTIMIZATIONS_LIST, transport.config.scheme, query=filters)
    data = transport.send(call.page(LIST_LIMIT_MAX, 0), task).data
    pagination = data.get("pagination") if isinstance(data, dict) else None
    if isinstance(pagination, dict) and isinstance(pagination.get("total"), int):
        read = read_list(transport, call, task=task, first=data)
    else:
        listed = _rows(data, call.label)
        # A service may ignore the filters.
        rows = [
            row for row in listed if prompt_id in (None, link_of(row)) and status in (None, row.get("status"))
        ]
        cut = len(listed) >= LIST_LIMIT_MAX or (
            len(listed) >= OPTIMIZATIONS_LIMIT_DEFAULT and len(listed) % _ROUND == 0
        )
        facts = {"total": None, **({"completeness": _MAY_BE_MORE.format(len(rows))} if cut else {})}
        read = RowsRead(rows, len(rows), complete=not cut, facts=facts)
    progress(len(read.rows), len(read.rows))
    if results:
        missing = [row for row in read.rows if row.get("status") == "completed" and "results" not in row]
        _fetch_results(transport, read, missing, task, progress)
    read.requests = task.requests
    return read


def _fetch_results(
    transport: Transport, read: RowsRead, missing: list[Row], task: Task, progress: Progress
) -> None:
    if len(missing) > ASK_PLAN_FROM:
        transport.ask_plan(task)
    total = len(read.rows)
    done = total - len(missing)

    def fetch(row: Row, connection: Connection) -> bool:
        detail = _object(transport, endpoints.OPTIMIZATIONS_GET, row["id"], task, connection)
        if detail is not None:
            row |= {name: value for name, value in detail.items() if name not in row}
            row.setdefault("results", None)
        return detail is not None

    gone, problem = _side_by_side(
        transport, missing, fetch, task, lambda count: progress(done + count, total)
    )
    read.rows = [row for row in read.rows if row["id"] not in gone]
    read.dropped += len(gone)
    if problem is not None:
        read.complete = False
        read.requests = task.requests
        count = f"{len(read.rows)} optimizations, but not the results of all"
        raise stopped_early(count, problem.message, read) from problem


def read_variants(
    transport: Transport,
    optimizations: Iterable[str | Optimization | Row],
    *,
    task: Task,
    progress: Progress = no_progress,
) -> RowsRead:
    """Read the variants of optimizations.

    Parameters
    ----------
    optimizations
        Ids, for which the optimization is read too; or optimizations; or rows of the list. A row deleted
        meanwhile is left out; a missing id is an error.

    Returns
    -------
    RowsRead
        One row per optimization: ``optimization`` and ``variants``, both as received from the service.

    Raises
    ------
    ApiError
        Nothing could be read, or a given optimization does not exist.
    IncompleteError
        Only a part could be read; contains a :class:`RowsRead`.
    """
    items = [_item(one) for one in optimizations]
    if len(items) > ASK_PLAN_FROM:
        transport.ask_plan(task)

    def fetch(item: Row, connection: Connection) -> bool:
        named = item["named"]
        if "optimization" not in item:
            item["optimization"] = _object(
                transport, endpoints.OPTIMIZATIONS_GET, item["id"], task, connection, named=named
            )
        data = _object(transport, endpoints.OPTIMIZATIONS_VARIANTS, item["id"], task, connection, named=named)
        if data is None:
            return False
        item["variants"] = _rows(data, endpoints.OPTIMIZATIONS_VARIANTS.name)
        return True

    gone, problem = _side_by_side(transport, items, fetch, task, lambda count: progress(count, len(items)))
    whole = [item for item in items if "variants" in item]
    read = RowsRead(whole, len(items), task.requests, problem is None, len(gone))
    if problem is not None:
        if not whole:
            raise problem
        count = f"the variants of {len(whole)} of {len(items)} optimizations"
        raise stopped_early(count, problem.message, read) from problem
    return read


def _item(optimization: str | Optimization | Row) -> Row:
    if isinstance(optimization, str):
        return {"id": optimization, "named": True}
    if isinstance(optimization, Optimization):
        return {"id": optimization.id, "named": True, "optimization": optimization.to_wire()}
    return {"id": optimization["id"], "named": False, "optimization": optimization}


def read_offered(
    transport: Transport,
    endpoint: Endpoint[Any],
    identifier: str | None = None,
    *,
    filters: dict[str, Any] | None = None,
    task: Task,
    progress: Progress = no_progress,
) -> RowsRead:
    """Read a list of the embedded service that is beyond the specification.

    Raises
    ------
    NotFound
        The resource does not exist, or the service does not support the list; the message tells which.
    """
    call = Call.to(endpoint, transport.config.scheme, identifier, query=filters)
    rows: list[Row] = []

    def on_page(new: list[Row], total: int) -> None:
        rows.extend(new)
        progress(len(rows), max(total, len(rows)))

    try:
        read = read_list(transport, call, task=task, on_page=on_page)
    except NotFound as error:
        named = identifier is not None and not _is_there(transport, endpoint, identifier)
        raise not_offered(error, endpoint.name, named=named) from None
    except IncompleteError as error:
        if isinstance(error.fetched, RowsRead):
            error.fetched.rows = rows
        raise
    read.rows = rows
    return read


def _is_there(transport: Transport, endpoint: Endpoint[Any], identifier: str) -> bool:
    """Return whether the service has the prompt or the optimization of a list."""
    for one in (endpoints.PROMPTS_GET, endpoints.OPTIMIZATIONS_GET):
        if endpoint.path.startswith(one.path):
            with contextlib.suppress(NotFound):
                transport.send(Call.to(one, transport.config.scheme, identifier))
                return True
    return False


def not_offered(error: NotFound, name: str, *, named: bool = False) -> NotFound:
    """Explain a 404 of an endpoint beyond the specification.

    Parameters
    ----------
    named
        Whether the request contains an id, which may not exist.
    """
    if named and error.code == "NOT_FOUND":
        return error
    message = f"{error.message}. The embedded service offers {name}, beyond the specification; this service may not have it"
    return NotFound(
        message, status=error.status, code=error.code, details=error.details, request=error.request
    )


def _side_by_side(
    transport: Transport,
    items: list[Row],
    fetch: Callable[[Row, Connection], bool],
    task: Task,
    moved: Callable[[int], None],
) -> tuple[set[str], ApiError | None]:
    """Process many rows in threads; return the ids of those that are gone, and the error that ended it early."""
    gone: set[str] = set()
    if not items:
        return gone, None
    pool: WorkerPool[Row, bool]
    with WorkerPool(transport, fetch, task=task, threads=DETAIL_THREADS) as pool:
        for item in items:
            pool.submit(item)
        for count, (item, there, error) in enumerate(pool.results(), 1):
            if isinstance(error, ApiError):
                return gone, error
            if error is not None:
                raise error
            if not there:
                gone.add(item["id"])
            moved(count)
    return gone, None


def _object(
    transport: Transport,
    endpoint: Endpoint[Any],
    identifier: str,
    task: Task,
    connection: Connection,
    *,
    named: bool = False,
) -> Row | None:
    """Get an object; ``None`` if it is gone, unless the caller gave its id."""
    call = Call.to(endpoint, transport.config.scheme, identifier)
    try:
        data = transport.send(call, task, connection=connection).data
    except NotFound:
        if named:
            raise
        return None
    if not isinstance(data, dict):
        raise UnexpectedResponse(f"The answer of {endpoint.name} is not an object", request=call.label)
    if data.get("id", identifier) != identifier:
        raise UnexpectedResponse(
            f"The answer of {endpoint.name} belongs to another optimization", request=call.label
        )
    return data


def _rows(data: Any, label: str) -> list[Row]:
    rows = data.get("data") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and isinstance(row.get("id"), str) and row["id"] for row in rows
    ):
        raise UnexpectedResponse(
            "The answer is not a list under data, of objects with a string as id", request=label
        )
    return rows
