"""What a service may offer beyond the specification, copied into a snapshot: labels, custom judges and their verdicts."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from promptlift import frames
from promptlift.client.reads.optimizations import read_offered
from promptlift.client.reads.pages import list_page
from promptlift.client.reads.paging import PAGE_ROWS
from promptlift.client.transport import Call, Task
from promptlift.errors import NotFound, UnexpectedResponse
from promptlift.frames.layouts import JUDGES, LABELS, VERDICTS
from promptlift.schema import endpoints
from promptlift.snapshot.columns import arrow_table
from promptlift.workspace.snapshots.rows import records_of, records_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.client.transport import Transport
    from promptlift.schema.endpoints import Endpoint
    from promptlift.snapshot import Snapshot
    from promptlift.snapshot.writing import NextState

    Row = dict[str, Any]

# The names of prompts are added when the table is read.
VERDICT_COLUMNS: Final = tuple(column for column in VERDICTS if column.name != "prompt")


@dataclass
class OfferedPull:
    """Ask for what not every service has, and remember what it does not have.

    Parameters
    ----------
    transport, task
        Send and count the requests.
    old
        The present state of the snapshot.
    noted
        What the next pull needs to know; findings are added to it.
    prompt_id
        Only what belongs to this prompt.
    everything
        Whether to ask again for what was missing.
    """

    transport: Transport
    task: Task
    old: Snapshot | None
    noted: Row
    prompt_id: str | None
    everything: bool

    def write_labels(self, state: NextState, deleted: set[str]) -> None:
        """Write all labels that the service stores, because they can be changed and removed.

        Parameters
        ----------
        state
            The next state of the snapshot.
        deleted
            Deleted conversations: their labels are removed.

        Raises
        ------
        UnexpectedResponse
            A service that has labels answers something else.
        """
        labels = [] if self.old is None else records_of(self.old.read("labels", ["record"]))
        if self._asks("labels"):
            with self._remembered("labels"):
                labels = self._list(endpoints.LABELS_LIST, filters={"prompt_id": self.prompt_id})
        kept = [row for row in labels if row["conversationId"] not in deleted]
        state.set_table("labels", records_table(kept, arrow_table(frames.labels_table(kept)[0], LABELS)))

    def write_verdicts(self, state: NextState, changed: set[str]) -> dict[str, int]:
        """Write the custom judges and their verdicts.

        The verdicts of a judge's version are read again if their counts differ, or if one of its conversations has changed
        or was deleted: it may have been judged again.

        Parameters
        ----------
        state
            The next state of the snapshot.
        changed
            Conversations that have changed or were deleted.

        Returns
        -------
        dict
            The number of verdicts, if the service has judges.

        Raises
        ------
        UnexpectedResponse
            A service that has judges answers something else.
        """
        totals: dict[str, int] = {}
        if self._asks("judges"):
            with self._remembered("judges"):
                totals["verdicts"] = self._write_verdicts(state, changed)
        return totals

    def _asks(self, what: str) -> bool:
        # unspecified: only a service that says what changed stores any; one that had none is not asked again.
        had_none = self.noted.get(f"keeps_{what}") is False
        return bool(self.noted.get("as_of")) and (self.everything or not had_none)

    @contextlib.contextmanager
    def _remembered(self, what: str) -> Iterator[None]:
        """Remember whether the service has labels or judges, so that it is not asked in vain again.

        An odd answer of a service that has some proves nothing: the pull fails rather than never read their changes.
        """
        key = f"keeps_{what}"
        try:
            yield
        except (NotFound, UnexpectedResponse) as error:
            if isinstance(error, UnexpectedResponse) and self.noted.get(key):
                raise
            self.noted[key] = False
        else:
            self.noted[key] = True

    def _write_verdicts(self, state: NextState, changed: set[str]) -> int:
        before = {} if self.everything else self.noted.get("verdicts_counted") or {}
        old = None if self.old is None else self.old.read("verdicts")
        stored = _verdicts_table("", []) if old is None else old
        versions = self._versions()
        counted, tables, again = {}, [], False
        for row in versions:
            key = f"{row['id']}:{row['version']}"
            is_judge = pc.equal(stored["judge_id"], row["id"])
            verdicts = stored.filter(pc.and_(is_judge, pc.equal(stored["judge_version"], row["version"])))
            filters = {"version": row["version"], "prompt_id": self.prompt_id}
            try:
                # The verdicts, and these with the failed attempts.
                one = self._page(endpoints.JUDGES_VERDICTS, row["id"], 1, 0, **filters)
                counts = [row.get("verdicts") or 0, one.total]
                if before.get(key) != counts or changed & set(verdicts["conversation_id"].to_pylist()):
                    read = self._list(endpoints.JUDGES_VERDICTS, row["id"], filters)
                    verdicts, again = _verdicts_table(row["id"], read), True
            except NotFound:
                continue  # the judge was deleted meanwhile
            counted[key] = counts
            tables.append(verdicts)
        listed = arrow_table(frames.judges_table(versions)[0], JUDGES)
        state.set_table("judges", records_table(versions, listed))
        if again or counted.keys() != before.keys():
            state.clear("verdicts")
            for rows in tables:
                months = pc.strftime(rows["started_at"], "%Y-%m").to_pylist()
                ids = rows["conversation_id"].to_pylist()
                state.add("verdicts", rows, dict(zip(ids, months, strict=True)))
        self.noted["verdicts_counted"] = counted
        return sum(map(len, tables))

    def _versions(self) -> list[Row]:
        """Return the versions of all judges, those of a judge together, newest first."""
        versions: list[Row] = []
        for row in self._list(endpoints.JUDGES_LIST):
            if (row.get("versions") or 1) == 1:
                versions.append(row)
                continue
            with contextlib.suppress(NotFound):  # deleted meanwhile
                versions += self._versions_of(row["id"])
        return versions

    def _versions_of(self, judge_id: str) -> list[Row]:
        """Return the versions of a judge page by page: they share its id, so they are no list of different things."""
        rows: list[Row] = []
        while True:
            page = self._page(endpoints.JUDGES_VERSIONS, judge_id, PAGE_ROWS, len(rows))
            rows += page.rows
            if len(page.rows) < PAGE_ROWS:
                return rows

    def _page(self, endpoint: Endpoint[Any], judge_id: str, limit: int, offset: int, **query: Any) -> Any:
        call = Call.to(endpoint, self.transport.config.scheme, judge_id, query=query).page(limit, offset)
        return list_page(self.transport.send(call, self.task).data, call)

    def _list(
        self, endpoint: Endpoint[Any], judge_id: str | None = None, filters: Row | None = None
    ) -> list[Row]:
        """Read a list that may be missing, which ends only this read and not the task."""
        own = Task(policy=self.task.policy)
        try:
            return read_offered(self.transport, endpoint, judge_id, filters=filters, task=own).rows
        finally:
            self.task.requests += own.requests


def _verdicts_table(judge_id: str, rows: list[Row]) -> pa.Table:
    table = arrow_table(frames.verdicts_table(rows)[0], VERDICT_COLUMNS)
    return table.append_column("judge_id", pa.array([judge_id] * len(rows), pa.string()))
