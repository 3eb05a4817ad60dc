"""The tables of conversations, messages and insights of a snapshot, as the workspace makes them of a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from promptlift.client.reads.read_list import RowsRead
from promptlift.frames.layouts import MESSAGES, VERDICTS, conversation_columns
from promptlift.snapshot.columns import frame_of
from promptlift.workspace.session import frames, with_read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from promptlift.client.reads.conversations import Wanted
    from promptlift.snapshot import Snapshot
    from promptlift.workspace.filters import ConversationFilter
    from promptlift.workspace.session import Session


class SnapshotTables:
    """Tables of a snapshot.

    Parameters
    ----------
    snapshot
        Where the rows are.
    lift
        The workspace, which knows the names of prompts.
    requests
        Requests that it took to bring the snapshot up to date.
    """

    def __init__(self, snapshot: Snapshot, lift: Session, requests: int = 0) -> None:
        self._snapshot = snapshot
        self._labels_of, self._named = lift._labels_of, lift._named  # noqa: SLF001  a part of the workspace
        self._requests = requests

    def count(self, prompt_id: str | None, *, status: str | None) -> int:
        """Return how many conversations there are."""
        rows = self._rows("conversations", ["status"], prompt_id)
        return 0 if rows is None else sum(status in (None, one) for one in rows["status"].to_pylist())

    def conversations(
        self,
        prompt_ids: Sequence[str | None],
        wanted: ConversationFilter,
        details: Wanted,
        *,
        status: str | None,
        filters: dict[str, Any],
    ) -> pd.DataFrame:
        """Return the table of conversations; ``filters`` are recorded on it."""
        columns = conversation_columns(insights=details.insights, content=details.content)
        names = [column.name for column in columns if column.name not in ("prompt", "content")]

        keep = None if status is None else lambda rows: rows.filter(pc.equal(rows["status"], status))
        table = self._rows("conversations", [*names, "position"], *prompt_ids, metadata=True, keep=keep)
        if table is not None:
            table = table.sort_by([("position", "descending")])
            if details.content:
                table = self._with_content(table, *prompt_ids)
        frame = frame_of(_or_empty(table), columns, metadata=True)
        frame["prompt"] = frames().conversation_prompts(
            frame, self._labels_of(frame["prompt_id"].dropna().unique())
        )
        listed = len(frame)
        return self._recorded(wanted.apply(frames().ids_last(frame)), "conversations", filters, listed)

    def messages(self, prompt_id: str | None) -> pd.DataFrame:
        """Return the table of messages."""
        table = _or_empty(self._in_list_order(self._rows("messages", None, prompt_id), prompt_id, "turn"))
        names = ["prompt" if name == "prompt_id" else name for name in table.column_names]
        frame = self._named(frame_of(table.rename_columns(names), MESSAGES))
        return self._recorded(frame, "messages", {"prompt_id": prompt_id})

    def verdicts(
        self, judge_id: str, *, version: int | None, prompt_id: str | None, filters: dict[str, Any]
    ) -> pd.DataFrame:
        """Return the verdicts of a version of a judge of your own; without one the newest of each conversation."""
        table = _or_empty(self._in_list_order(self._rows("verdicts", None, prompt_id), prompt_id))
        if table.column_names:
            wanted = pc.equal(table["judge_id"], judge_id)
            if version is not None:
                wanted = pc.and_(wanted, pc.equal(table["judge_version"], version))
            table = table.filter(wanted)
            table = table.append_column("prompt", table["prompt_id"])
        frame = self._named(frame_of(table, VERDICTS))
        if version is None:
            newest = frame[frame["verdict"].notna()].sort_values(
                "judge_version", ascending=False, kind="stable"
            )
            frame = newest.drop_duplicates("conversation_id").sort_index().reset_index(drop=True)
        return self._recorded(frame, "verdicts", filters)

    def _with_content(self, table: pa.Table, *prompt_ids: str | None) -> pa.Table:
        details = self._rows("details", ["conversation_id", "content"], *prompt_ids)
        if details is None:
            return table
        places = pc.index_in(table["conversation_id"], value_set=details["conversation_id"])
        return table.append_column("content", details["content"].take(places))

    def _in_list_order(self, rows: pa.Table | None, prompt_id: str | None, *then: str) -> pa.Table | None:
        """Sort rows by the place of their conversation in the list, and those of one conversation by further columns."""
        listed = self._rows("conversations", ["conversation_id", "position"], prompt_id)
        if rows is None or listed is None:
            return rows
        places = pc.index_in(rows["conversation_id"], value_set=listed["conversation_id"])
        rows = rows.append_column("position", listed["position"].take(places))
        return rows.sort_by([("position", "descending"), *((name, "ascending") for name in then)])

    def _rows(
        self,
        table: str,
        columns: list[str] | None,
        *prompt_ids: str | None,
        metadata: bool = False,
        keep: Callable[[pa.Table], pa.Table] | None = None,
    ) -> pa.Table | None:
        prompts = None if None in prompt_ids else [one for one in prompt_ids if one is not None]
        return self._snapshot.read(table, columns, prompt_ids=prompts, metadata=metadata, keep=keep)

    def _recorded(
        self, frame: pd.DataFrame, name: str, filters: dict[str, Any], listed: int | None = None
    ) -> pd.DataFrame:
        """Record on a table where it comes from."""
        manifest = self._snapshot.manifest
        narrowed = any(value is not None for value in filters.values())
        total = manifest.totals.get("conversations") if name == "conversations" and not narrowed else listed
        read = RowsRead([], len(frame) if total is None else total, self._requests, complete=True)
        read.dropped = manifest.deleted_meanwhile
        return with_read_record(
            frame,
            name,
            filters,
            read,
            manifest.warnings.get(name, {}),
            snapshot=str(self._snapshot.folder),
            fetched_at=manifest.finished_at,
        )


def _or_empty(table: pa.Table | None) -> pa.Table:
    return pa.table({}) if table is None else table
