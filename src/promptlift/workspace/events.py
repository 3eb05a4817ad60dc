"""Tables of events, webhooks and deliveries, and watching events as they happen."""

from __future__ import annotations

import importlib
import sys
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.events import NewEvents, read_events
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Task
from promptlift.errors import ConfigError
from promptlift.schema import endpoints
from promptlift.schema.events import EVENT_KINDS
from promptlift.workspace.session import Room, Session, frames, with_read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    Row = dict[str, Any]

_SHOWN_ROWS: Final = 20


class Events(Room):
    """Events of the account: ``lift.events()`` is their table, ``lift.events.watch()`` shows them as they happen."""

    def __call__(self, kind: str | None = None, *, newest: int | None = 1_000) -> pd.DataFrame:
        """Return what happened, one row per event, newest first. Offered by the embedded service.

        Parameters
        ----------
        kind
            Only this kind, such as ``"optimization.completed"``.
        newest
            How many to read; ``None`` reads all.

        Returns
        -------
        DataFrame
            event_id, type, happened_at (UTC), prompt_id, conversation_id, optimization_id, data (the payload as webhooks
            receive it). ``attrs["promptlift"]`` says under ``total`` how many there are.

        Raises
        ------
        NotFound
            When the service does not offer this.
        """
        if kind is not None:
            _check_kinds([kind])

        def read() -> RowsRead:
            return read_events(self.client.transport, kind=kind, newest=newest, task=Task())

        return self._table("events", read, {"kind": kind})

    def watch(
        self,
        kinds: Sequence[str] | None = None,
        *,
        seconds: float | None = None,
        every: float = 2.0,
    ) -> pd.DataFrame:
        """Show events as they happen, in a table below the cell or as lines, until Ctrl-C or the stop button.

        Offered by the embedded service; no webhook is needed. In a notebook the table grows while the cell runs; at the
        end the cell shows the returned one in its place.

        Parameters
        ----------
        kinds
            Only these kinds.
        seconds
            How long to watch.
        every
            Seconds between two requests.

        Returns
        -------
        DataFrame
            What happened meanwhile, newest first, with the columns of ``lift.events()``.

        Raises
        ------
        NotFound
            When the service does not offer this.
        """
        _check_kinds(kinds or ())
        begun, rows, task = time.monotonic(), list[dict[str, Any]](), Task()
        view = _new_view()
        new = NewEvents(self.client.transport)
        try:
            while True:
                came = [row for row in new.take(task) if not kinds or row.get("type") in kinds]
                rows += came
                if came:
                    view.add(came, rows)
                left = every if seconds is None else begun + seconds - time.monotonic()
                if left <= 0:
                    break
                task.stop.wait(min(every, left))
        except KeyboardInterrupt:
            pass  # how watching ends
        view.end(rows)
        frame, warnings = frames().events_table(rows[::-1])
        read = RowsRead(rows, len(rows), task.requests, complete=True)
        return with_read_record(frame, "events", {"kinds": kinds}, read, warnings)


class Webhooks(Room):
    """The webhooks of the account: ``lift.webhooks()`` is their table."""

    def __call__(self) -> pd.DataFrame:
        """Return the webhooks of the account, one row each.

        Returns
        -------
        DataFrame
            webhook_id, url, events, description, status (``failing`` after five failed attempts), created_at.
        """

        def read() -> RowsRead:
            rows = [one.to_wire() for one in self.client.webhooks.list().data]
            return RowsRead(rows, len(rows), 1, complete=True)

        return self._table("webhooks", read)

    def deliveries(self, webhook_id: str) -> pd.DataFrame:
        """Return what was sent to a webhook, one row per event, newest first. Offered by the embedded service.

        Parameters
        ----------
        webhook_id
            As ``lift.webhooks()`` has it.

        Returns
        -------
        DataFrame
            delivery_id, event_id, event_type, status (``pending``, ``delivered``, ``failed``), attempts, next_attempt_at,
            attempted_at, status_code, problem, delivered_at, created_at.

        Raises
        ------
        NotFound
            When there is no such webhook, or the service does not offer this.
        """
        shown = {"webhook_id": webhook_id}
        return self._offered("deliveries", endpoints.WEBHOOKS_DELIVERIES, webhook_id, filters=shown)


class EventRooms(Session):
    """Events, and the webhooks that receive them."""

    @cached_property
    def events(self) -> Events:
        """What happened in the account."""
        return Events(self)

    @cached_property
    def webhooks(self) -> Webhooks:
        """The webhooks of the account."""
        return Webhooks(self)


def _check_kinds(kinds: Sequence[str]) -> None:
    for kind in kinds:
        if kind not in EVENT_KINDS:
            raise ConfigError(f"The kinds of events are {', '.join(EVENT_KINDS)}, not {kind!r}.")


class _Said:
    """A sentence in the place of the table; a notebook shows it without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _GrowingTable:
    """One table below the cell that grows; a sentence before the first event, and at the end.

    The table goes at the end, because the cell shows the returned one.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._handle = display(_Said("Waiting for events. The stop button ends it."), display_id=True)

    def add(self, _came: list[Row], rows: list[Row]) -> None:
        self._handle.update(frames().events_table(rows[: -_SHOWN_ROWS - 1 : -1])[0])

    def end(self, rows: list[Row]) -> None:
        count = f"{len(rows):,} event{'' if len(rows) == 1 else 's'}" if rows else "No event"
        self._handle.update(_Said(f"{count} came while this was watching."))


class _Lines:
    """A line an event."""

    def add(self, came: list[Row], _rows: list[Row]) -> None:
        for row in came:
            sys.stdout.write(f"{row.get('timestamp', '')}  {row.get('type', '')}  {row['id']}\n")
        sys.stdout.flush()

    def end(self, rows: list[Row]) -> None:
        """Print nothing: every row was printed when it came."""


def _new_view() -> _GrowingTable | _Lines:
    """Return what shows new events: one table that grows in a notebook, lines elsewhere."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return _Lines()
    return _GrowingTable(importlib.import_module("IPython.display").display)
