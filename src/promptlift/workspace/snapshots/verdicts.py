"""Judges of one's own in a snapshot: their versions, and the verdicts of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from promptlift import frames
from promptlift.client.reads.optimizations import read_offered
from promptlift.client.reads.pages import list_page
from promptlift.client.reads.paging import PAGE_ROWS
from promptlift.client.transport import Call, Task
from promptlift.errors import NotFound
from promptlift.frames.layouts import JUDGES, VERDICTS
from promptlift.schema import endpoints
from promptlift.snapshot.columns import arrow_table
from promptlift.workspace.snapshots.rows import records_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.client.reads.read_list import RowsRead
    from promptlift.client.transport import Transport
    from promptlift.schema.endpoint import Endpoint
    from promptlift.snapshot import Snapshot
    from promptlift.snapshot.writing import NextState

    Row = dict[str, Any]
    # What the service counts of a version: its verdicts, and these with the tries that failed.
    Counts = list[int]

# Names are those that prompts have when the table is read.
VERDICT_COLUMNS: Final = tuple(column for column in VERDICTS if column.name != "prompt")


def read_apart(
    transport: Transport,
    endpoint: Endpoint[Any],
    identifier: str | None = None,
    *,
    filters: Row | None = None,
    task: Task,
) -> RowsRead:
    """Read a list that may not be there: an answer that says so ends this read, and not the task with what follows."""
    own = Task(policy=task.policy)
    try:
        return read_offered(transport, endpoint, identifier, filters=filters, task=own)
    finally:
        task.requests += own.requests


class VerdictPull:
    """Bring the judges of a snapshot and their verdicts up to date.

    Parameters
    ----------
    transport, task
        Send and count the requests.
    old
        The present state.
    prompt_id
        Only verdicts of conversations of this prompt.
    before
        What the service counted of each version when its verdicts were read last.

    Attributes
    ----------
    counted
        The same as of now.
    """

    def __init__(
        self,
        transport: Transport,
        task: Task,
        *,
        old: Snapshot | None,
        prompt_id: str | None,
        before: Mapping[str, Counts],
    ) -> None:
        self._transport, self._task = transport, task
        self._prompt_id = prompt_id
        self._before = before
        known = None if old is None else old.read("verdicts")
        self._known = _table("", []) if known is None else known
        self.counted: dict[str, Counts] = {}

    def write(self, state: NextState, changed: set[str]) -> int:
        """Write judges and verdicts, and return how many verdicts there are.

        A version whose counts are what they were is not read again, unless one of its conversations has changed or is gone:
        that may have been judged anew.

        Parameters
        ----------
        state
            The next state of the snapshot.
        changed
            Conversations that the service has anew or no longer.

        Raises
        ------
        NotFound
            When the service has no judges.
        """
        versions = self._versions()
        tables, again = [], False
        for row in versions:
            key = f"{row['id']}:{row['version']}"
            known = self._known.filter(
                pc.and_(
                    pc.equal(self._known["judge_id"], row["id"]),
                    pc.equal(self._known["judge_version"], row["version"]),
                )
            )
            try:
                counts = self._count(row)
                if self._before.get(key) != counts or _has_any(known, changed):
                    known, again = self._read(row), True
            except NotFound:
                continue  # the judge was deleted meanwhile
            self.counted[key] = counts
            tables.append(known)
        listed = records_table(versions, arrow_table(frames.judges_table(versions)[0], JUDGES))
        state.set_table("judges", listed)
        if again or self.counted.keys() != self._before.keys():
            state.clear("verdicts")
            for rows in tables:
                months = pc.strftime(rows["started_at"], "%Y-%m").to_pylist()
                ids = rows["conversation_id"].to_pylist()
                state.add("verdicts", rows, dict(zip(ids, months, strict=True)))
        return sum(map(len, tables))

    def _versions(self) -> list[Row]:
        """Return the versions of all judges, those of a judge together and the newest first."""
        versions: list[Row] = []
        for row in self._list(endpoints.JUDGES_LIST):
            if (row.get("versions") or 1) == 1:
                versions.append(row)
                continue
            try:
                versions += self._versions_of(row["id"])
            except NotFound:
                continue  # deleted meanwhile
        return versions

    def _versions_of(self, judge_id: str) -> list[Row]:
        """Return the versions of a judge page by page: all have its id, so that they are no list of different things."""
        call = Call.to(endpoints.JUDGES_VERSIONS, self._transport.config.scheme, judge_id)
        rows: list[Row] = []
        while True:
            asked = call.page(PAGE_ROWS, len(rows))
            page = list_page(self._transport.send(asked, self._task).data, asked)
            rows += page.rows
            if len(page.rows) < PAGE_ROWS:
                return rows

    def _count(self, version: Row) -> Counts:
        query = self._asked(version)
        call = Call.to(
            endpoints.JUDGES_VERDICTS, self._transport.config.scheme, version["id"], query=query
        ).page(1, 0)
        return [
            version.get("verdicts") or 0,
            list_page(self._transport.send(call, self._task).data, call).total,
        ]

    def _read(self, version: Row) -> pa.Table:
        rows = self._list(endpoints.JUDGES_VERDICTS, version["id"], self._asked(version))
        return _table(version["id"], rows)

    def _asked(self, version: Row) -> Row:
        return {"version": version["version"], "prompt_id": self._prompt_id}

    def _list(
        self, endpoint: Endpoint[Any], judge_id: str | None = None, filters: Row | None = None
    ) -> list[Row]:
        return read_apart(self._transport, endpoint, judge_id, filters=filters, task=self._task).rows


def _has_any(rows: pa.Table, conversation_ids: set[str]) -> bool:
    if not conversation_ids:
        return False
    wanted = pa.array(list(conversation_ids), pa.string())
    return bool(pc.any(pc.is_in(rows["conversation_id"], value_set=wanted)).as_py())


def _table(judge_id: str, rows: list[Row]) -> pa.Table:
    table = arrow_table(frames.verdicts_table(rows)[0], VERDICT_COLUMNS)
    return table.append_column("judge_id", pa.array([judge_id] * len(rows), pa.string()))
