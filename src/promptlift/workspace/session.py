"""The base of every part of a workspace: the client, tables with a record of how they were read, and progress bars."""

from __future__ import annotations

import contextlib
import gc
import importlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from promptlift.client import Client, ClientConfig
from promptlift.client.reads.optimizations import read_offered
from promptlift.client.reads.read_list import RowsRead
from promptlift.errors import ApiError, IncompleteError
from promptlift.schema.account import account_rate
from promptlift.workspace.prompt_names import PromptNames
from promptlift.workspace.waiting import Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    import pandas as pd

    from promptlift.client.transport import Task
    from promptlift.schema.endpoint import Endpoint

# A shorter read or run shows no progress bar.
SILENT_SECONDS: Final = 1.0


class TableParts(Protocol):
    """A table that is made a part at a time."""

    def add(self, rows: list[dict[str, Any]], /) -> None:
        """Take further rows."""

    def whole(self) -> tuple[pd.DataFrame, dict[str, int]]:
        """Return the table of all rows, and counts of unusable values by column."""


class Session:
    """One account on one service.

    Parameters
    ----------
    config
        Address, key and naming scheme.
    progress
        Whether reads that take longer than a second show a progress bar.
    client
        A client to use instead of a new one.
    """

    def __init__(self, config: ClientConfig, *, progress: bool = True, client: Client | None = None) -> None:
        self.client = client or Client(config)
        self._progress = progress
        self._names = PromptNames(self.client.transport)
        self._account_id: str | None = None

    def _account(self) -> str:
        if self._account_id is None:
            account = self.client.account.get()
            self._account_id = account.id
            self.client.transport.allow(account_rate(account.plan.to_wire()))
        return self._account_id

    def _table(
        self,
        name: str,
        filters: dict[str, Any],
        read: Callable[[Callable[[list[dict[str, Any]]], None]], RowsRead],
        make: Callable[[list[dict[str, Any]]], tuple[pd.DataFrame, dict[str, int]]],
    ) -> pd.DataFrame:
        """Read rows and make the table, with a record of the read; an incomplete read carries its part as a table."""

        def named(rows: list[dict[str, Any]]) -> tuple[pd.DataFrame, dict[str, int]]:
            frame, warnings = make(rows)
            return self._named(frame), warnings

        return self._table_of_parts(name, filters, read, frames().Parts(named))

    def _table_of_parts(
        self,
        name: str,
        filters: dict[str, Any],
        read: Callable[[Callable[[list[dict[str, Any]]], None]], RowsRead],
        parts: TableParts,
    ) -> pd.DataFrame:
        """Do the same with parts that know how to become a table."""

        def finished(rows: RowsRead) -> pd.DataFrame:
            parts.add(rows.rows)
            frame, warnings = parts.whole()
            return with_read_record(frame, name, filters, rows, warnings)

        with frozen_heap():
            table = _read_or_finish(lambda: read(parts.add), finished)
        return self._existing(table, filters)

    def _whole_table(
        self,
        name: str,
        filters: dict[str, Any],
        read: Callable[[], RowsRead],
        make: Callable[[list[dict[str, Any]]], tuple[pd.DataFrame, dict[str, int], dict[str, Any]]],
    ) -> pd.DataFrame:
        """Do the same where the table is made of all rows at once and has more to record."""

        def finished(rows: RowsRead) -> pd.DataFrame:
            frame, warnings, about = make(rows.rows)
            return with_read_record(self._named(frame), name, filters, rows, warnings, **about)

        return self._existing(_read_or_finish(read, finished), filters)

    def _named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Put the names of prompts into a table, as far as they are known without a request."""
        named: pd.DataFrame = frames().with_prompt_names(frame, self._names.known())
        return named

    def _labels_of(self, prompt_ids: Iterable[str]) -> dict[str, str]:
        """Return the names of prompts by id, as tables and legends show them.

        Names are told apart where several prompts share one. Prompts that are not there any more have none, and so
        have all of a service that does not list them.
        """
        wanted = set(prompt_ids)
        if not wanted:
            return {}
        try:
            return self._names.labels(wanted)
        except ApiError:
            return {}

    def _existing(self, frame: pd.DataFrame, filters: dict[str, Any]) -> pd.DataFrame:
        """Return a table, unless it is empty because there is no such prompt."""
        if not len(frame) and filters.get("prompt_id") is not None:
            given = filters["prompt_id"]
            for prompt_id in [given] if isinstance(given, str) else given:
                self._names.check_empty(prompt_id)
        return frame

    def _read_with_bar(
        self,
        unit: str,
        endpoint: Endpoint[Any],
        identifier: str,
        *,
        filters: dict[str, Any],
        task: Task,
    ) -> RowsRead:
        """Read a list that the embedded service offers beyond the specification, with a progress bar."""
        with self._bar(unit, None) as move:
            return read_offered(
                self.client.transport, endpoint, identifier, filters=filters, task=task, progress=move
            )

    def _wait_with_bar(
        self,
        unit: str,
        endpoint: Endpoint[Any],
        run_id: str,
        *,
        noun: str,
        go_on: str,
        timeout: float | None,
        counts: Callable[[dict[str, Any]], tuple[int, int | None] | None],
    ) -> dict[str, Any]:
        """Wait for the end of a run with a progress bar, and return its last state.

        Parameters
        ----------
        unit
            What the bar counts.
        endpoint, run_id, noun, go_on, timeout
            As for :class:`~promptlift.workspace.waiting.Wait`.
        counts
            What a state says is done, and of how many; ``None`` where it does not say.

        Raises
        ------
        TimeIsOver
            When the time is over.
        """
        with self._bar(unit, None) as move:

            def look(state: dict[str, Any]) -> None:
                counted = counts(state)
                if counted is not None:
                    move(*counted)

            waiting = Wait(
                self.client.transport,
                endpoint,
                run_id,
                noun=noun,
                go_on=go_on,
                timeout=timeout,
                look=look,
            )
            return waiting.run()

    @contextlib.contextmanager
    def _bar(self, unit: str, total: int | None) -> Iterator[Callable[[int, int | None], None]]:
        """Show a progress bar while the block runs, if that takes longer than a second."""
        if not self._progress:
            yield lambda _done, _total: None
            return
        from tqdm.auto import tqdm  # noqa: PLC0415 - looks for widgets when it is loaded

        with tqdm(total=total, unit=f" {unit}", delay=SILENT_SECONDS, leave=False) as bar:

            def move(done: int, total: int | None) -> None:
                if bar.total != total:
                    bar.total = total
                bar.update(done - bar.n)

            yield move


@contextlib.contextmanager
def frozen_heap() -> Iterator[None]:
    """Keep the garbage collector from scanning what was there before a read.

    Decoding rows makes hundreds of thousands of objects, so it runs often, and each full run scans everything that
    pandas and the notebook hold: a tenth of the whole read. What the block makes is collected as always.
    """
    if gc.get_freeze_count():  # frozen by other code
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector from running while many objects are made of which none is garbage."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def frames() -> ModuleType:
    """Load the tables on first use: pandas takes longer to load than everything else combined."""
    return importlib.import_module("promptlift.frames")


def with_read_record(
    frame: pd.DataFrame,
    name: str,
    filters: dict[str, Any],
    rows: RowsRead,
    warnings: dict[str, int],
    **about: Any,
) -> pd.DataFrame:
    """Record on a table how it was read."""
    frame.attrs["promptlift"] = {
        "table": name,
        "rows": len(frame),
        "total": rows.total,
        "filters": {key: value for key, value in filters.items() if value is not None},
        "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "requests": rows.requests,
        "complete": rows.complete,
        "analyser": frames().analyser_of(frame),
        "basis": frames().basis_of(frame),
        "deleted_meanwhile": rows.dropped,
        "warnings": warnings,
        **({"insights_errors": frames().insights_errors(frame)} if "insights_error" in frame else {}),
        **about,
        **rows.facts,
    }
    return frame


def _read_or_finish(
    read: Callable[[], RowsRead], finished: Callable[[RowsRead], pd.DataFrame]
) -> pd.DataFrame:
    """Read rows and make the table; an incomplete read carries the table of its part."""
    try:
        rows = read()
    except IncompleteError as error:
        if isinstance(error.fetched, RowsRead):
            error.fetched = finished(error.fetched)
        raise
    return finished(rows)
