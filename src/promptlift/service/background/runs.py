"""Runs: rows that each query a model many times, which may take hours.

Everything that a run finishes is stored immediately, so any worker can continue the run of a process that
died.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol

from promptlift.errors import PromptliftError
from promptlift.service import clock
from promptlift.service.background.kind import Kind
from promptlift.service.errors import invalid_state, tokens_used_up
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.llm.port import Availability, Cancelled
from promptlift.service.store import SQLAlchemyError, accounts, runs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from promptlift.schema.model import ApiModel
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.leases import Leases
    from promptlift.service.store.runs import AnyRun
    from promptlift.service.store.tables.runs import RunRow


_LOG = logging.getLogger(__name__)


class LeaseLost(PromptliftError):
    """The run was stopped, or another worker holds it: this worker must stop."""


class TokensUsedUp(PromptliftError):
    """The account may use no more tokens this month; the message explains it."""


class Stopped(PromptliftError):
    """The run stops itself; the message explains why, and how to continue."""


# Called by the API


def stop_run(
    connection: Connection, row: RunRow, reason: str | None, *, results: ApiModel | None = None
) -> None:
    """Stop a run, keeping its results so far.

    Raises
    ------
    ApiException
        ``INVALID_STATE`` when it has ended.
    """
    check_open(row)
    end_run(connection, row, "stopped", reason=reason, results=results)


def resume_run(connection: Connection, caller: Caller, row: RunRow) -> None:
    """Queue a stopped or failed run again.

    Raises
    ------
    ApiException
        ``INVALID_STATE`` when it runs or has completed, ``LIMIT_EXCEEDED`` when the tokens of the month are used up.
    """
    _check_state(row, ("stopped", "failed"), "a stopped or failed one can be resumed")
    if not row.rehearsal:
        accounts.check_tokens(connection, caller, now=clock.now())
    cleared = dict.fromkeys(("failure", "stop_reason", "results", "completed_at", "worker"))
    runs.change(connection, row, status="queued", **cleared)


def end_run(
    connection: Connection,
    row: RunRow,
    status: Literal["completed", "failed", "stopped"],
    *,
    failure: str | None = None,
    reason: str | None = None,
    results: ApiModel | None = None,
) -> None:
    """End a run, keeping its results."""
    wire = None if results is None else results.to_wire()
    ended = ending(status, failure=failure, reason=reason, at=clock.moment())
    runs.change(connection, row, results=wire, **ended)


def ending(status: str, *, failure: str | None, reason: str | None, at: datetime) -> dict[str, Any]:
    """Return the columns of a run that ended."""
    return {
        "status": status,
        "failure": failure and storable_text(failure),
        "stop_reason": reason,
        "completed_at": at,
        "worker": None,
    }


def check_open(row: AnyRun) -> None:
    """Refuse to stop a run that has ended.

    Raises
    ------
    ApiException
        ``INVALID_STATE``.
    """
    _check_state(row, runs.OPEN, "a queued or running one can be stopped")


def _check_state(row: AnyRun, states: Collection[str], what: str) -> None:
    if row.status not in states:
        raise invalid_state(f"The {row.noun} is {row.status}; only {what}", details={"status": row.status})


# Called by a worker


class Model(Protocol):
    """The model that a run queries; its calls and tokens are counted."""

    @property
    def calls(self) -> int:
        """Calls made so far."""

    @property
    def tokens(self) -> int:
        """Tokens used up so far."""

    def cancel(self) -> None:
        """End all calls, from any thread: they raise ``Cancelled``, and so does every later one."""


class Run(ABC):
    """A run leased by one worker, continued from its stored rows.

    Whatever it finishes is stored immediately, in transactions that check the lease, so another worker can
    continue it at any moment.

    Parameters
    ----------
    model
        The model that the run queries.
    row
        Row of the run: its account and its counts of calls.
    settings
        Settings of this run, including the account's general settings at its start.
    worker
        Name of the worker that holds the lease.
    """

    def __init__(
        self,
        database: Database,
        model: Model,
        *,
        row: AnyRun,
        settings: Mapping[str, Any],
        worker: str,
    ) -> None:
        self.database = database
        self.row: Any = row
        self.settings = settings
        self.general: Mapping[str, Any] = settings.get("general", {})
        self.exclusions: str | None = self.general.get("excludedDataAndTopics") or None
        self.worker = worker
        self.availability = Availability()
        self._model = model
        self._counted: dict[str, int] = {}
        self._lock = threading.Lock()

    @abstractmethod
    def carry_on(self) -> None:
        """Do the rest of the run, and store how it ended; see ``to_its_end``."""

    def to_its_end(self) -> None:
        """Run until there is a result.

        Raises
        ------
        Cancelled, LeaseLost
            The run was stopped or is held by another worker.
        PromptliftError
            It failed; the message is the reason.
        """
        try:
            self.carry_on()
        except Stopped as error:
            with self.transaction() as connection:
                end_run(connection, self.row, "stopped", reason=str(error))
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except Exception:
            with self.transaction():
                pass  # counts calls that are not yet recorded in any row
            raise

    def cancel(self) -> None:
        """End all calls of the run, from any thread."""
        self._model.cancel()

    def start(self) -> None:
        """Note that work has begun."""
        with self.transaction() as connection:
            started = self.row.started_at or clock.moment()
            runs.change(connection, self.row, status="running", started_at=started)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction that commits only while the worker holds the lease; see ``check_lease``."""
        with self.database.write() as connection:
            self.check_lease(connection)
            yield connection

    def check_lease(self, connection: Connection) -> None:
        """Record the usage since the last time, in this transaction.

        Raises
        ------
        LeaseLost
            The run was stopped, or another worker holds it. The transaction must not be committed.
        """
        with self._lock:
            total = self.spent()
            spent = {name: amount - self._counted.get(name, 0) for name, amount in total.items()}
            self._counted = total
        if not self.count(connection, spent):
            raise LeaseLost("The run was stopped or given to another worker.")
        if spent["tokens"]:
            accounts.add_usage(connection, self.row.account_id, "tokens", spent["tokens"], now=clock.now())

    def spent(self) -> dict[str, int]:
        """Return this worker's usage, by column."""
        return {"model_calls": self._model.calls, "tokens": self._model.tokens}

    def count(self, connection: Connection, spent: Mapping[str, int]) -> bool:
        """Add the usage to the row, and return whether the worker still holds the lease."""
        return runs.count(connection, self.row, self.worker, spent)

    def tokens_used_up(self) -> TokensUsedUp | None:
        """Return why no more tokens may be used this month; ``None`` if they may, or in a rehearsal."""
        if self.row.rehearsal:
            return None
        now = clock.now()
        with self.database.read() as connection:
            limit = accounts.token_limit_reached(connection, self.row.account_id, now=now)
        return None if limit is None else TokensUsedUp(tokens_used_up(limit, now=now))


class Runs(Kind):
    """A kind of work whose rows are runs, each in a thread of its own.

    Parameters
    ----------
    worker
        Name of the worker in the rows that it holds.
    """

    watches_leases = True

    def __init__(self, leases: Leases, database: Database, *, worker: str) -> None:
        super().__init__()
        self.leases = leases
        self.database = database
        self.worker = worker
        self._running: dict[str, Run] = {}
        self._ending = False
        self._lock = threading.Lock()

    @abstractmethod
    def open(self, row_id: str) -> Run:
        """Return the run of a row, to be continued from its current state."""

    def fail(self, row_id: str, reason: str) -> None:
        """End a run for a reason, keeping its results, if this process still holds it."""
        with self.database.write() as connection:
            if self.leases.held(connection, self.worker, [row_id]):
                row = runs.get(connection, row_id)
                end_run(connection, row, "failed", failure=reason, results=self.found(connection, row))

    def found(self, connection: Connection, row: RunRow) -> ApiModel | None:  # noqa: ARG002 - most find nothing
        """Return the results of an unfinished run so far."""
        return None

    def work(self, ids: Sequence[str]) -> None:
        """Continue each of these runs to its end, or end it with the reason why that is impossible."""
        for row_id in ids:
            self._work_on(row_id)

    def cancel(self, ids: Sequence[str]) -> None:
        """End the work of these runs."""
        with self._lock:
            running = [self._running[row_id] for row_id in ids if row_id in self._running]
        for run in running:
            run.cancel()

    def start(self) -> None:
        """Prepare for work."""
        self._ending = False

    def stop(self) -> None:
        """Start no more runs."""
        with self._lock:
            self._ending = True

    def _work_on(self, row_id: str) -> None:
        try:
            run = self.open(row_id)
            with self._lock:
                if self._ending:
                    return
                self._running[row_id] = run
            run.to_its_end()
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except PromptliftError as error:
            self.fail(row_id, str(error))
        except Exception as error:  # noqa: BLE001 - a defect must not leave the row claimed for ever
            if self._ending:  # the pool accepts no more conversations
                return
            _LOG.exception("%s %s failed", self.name, row_id)
            self.fail(row_id, f"A defect of the service: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._running.pop(row_id, None)
