"""A workspace on a snapshot: the same tables, read from disk, with no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from promptlift.client import Client, ClientConfig
from promptlift.client.reads.plan_read import ReadPlan
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.secret import Secret
from promptlift.errors import ConfigError
from promptlift.frames.layouts import CONTENT, CONVERSATIONS, INSIGHT_VALUES, INSIGHTS, MESSAGES
from promptlift.schema.naming import scheme_of
from promptlift.snapshot import Snapshot
from promptlift.snapshot.columns import frame_of
from promptlift.workspace.conversations import recorded_filters
from promptlift.workspace.session import frames, with_read_record
from promptlift.workspace.snapshots.labels import keep_labels, read_labels
from promptlift.workspace.snapshots.offline import SnapshotTransport
from promptlift.workspace.workspace import Workspace, connect

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pandas as pd

    from promptlift.client.reads.conversations import Wanted
    from promptlift.workspace.filters import ConversationFilter

# A workspace needs one, and this one is never sent.
_NO_KEY: Final = "none"


def open_snapshot(folder: str | os.PathLike[str]) -> SnapshotWorkspace:
    """Open a workspace on a snapshot: the same tables and methods, read from disk, with no network.

    Parameters
    ----------
    folder
        Where ``lift.pull`` or ``promptlift pull`` wrote it.

    Raises
    ------
    SnapshotError
        When there is none, or its layout is another.
    SnapshotDamaged
        When the manifest was cut or changed; reading a table raises it where one of its files was.

    Examples
    --------
    >>> lift = promptlift.open_snapshot("january/")  # doctest: +SKIP
    """
    return SnapshotWorkspace(Snapshot(folder))


class SnapshotWorkspace(Workspace):
    """The tables of a snapshot, with the methods of a workspace. What only the service can do says so.

    Parameters
    ----------
    snapshot
        The snapshot.

    Attributes
    ----------
    snapshot
        The snapshot.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        service = snapshot.manifest.service
        config = ClientConfig(service["base_url"], Secret(_NO_KEY), scheme_of(service["scheme"]))
        self._offline = SnapshotTransport(config, snapshot)
        super().__init__(config, progress=False, client=Client(config, transport=self._offline))
        self.snapshot = snapshot

    def _account(self) -> str:
        raise ConfigError(
            "This needs the service, and a snapshot is only read. promptlift.connect() or promptlift.local() opens it."
        )

    def _named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Put the names of prompts into a table; here they cost no request."""
        if not self._names.known():
            self._names.read()
        return super()._named(frame)

    def _place(self) -> str:
        manifest = self.snapshot.manifest
        return f"the snapshot {self.snapshot.folder} of {manifest.service['base_url']}, pulled {manifest.finished_at}"

    def pull(
        self,
        folder: str | os.PathLike[str],
        *,
        prompt_id: str | None = None,
        content: bool | None = None,
        everything: bool = False,
    ) -> Snapshot:
        """Refuse to pull: there is no service here. :meth:`refresh` connects to the one that the snapshot is of.

        Parameters
        ----------
        folder, prompt_id, content, everything
            As for ``lift.pull``.

        Raises
        ------
        ConfigError
            Always.
        """
        del prompt_id, content, everything
        raise ConfigError(
            f"A snapshot cannot be pulled from. promptlift.connect().pull({str(folder)!r}) reads the service."
        )

    def kept_labels(self) -> pd.DataFrame:
        """Return the labels that :meth:`keep_labels` put into the snapshot, one row a conversation.

        Returns
        -------
        DataFrame
            conversation_id, task_completed, sentiment, labelled_at; and a column for each further one of the labels.
        """
        return read_labels(self.snapshot)

    def keep_labels(self, labels: pd.DataFrame) -> None:
        """Keep the labels of people in the snapshot, beside the conversations; later pulls leave them there.

        Parameters
        ----------
        labels
            ``browser.labels`` of a :class:`~promptlift.widgets.ConversationBrowser`, or a table like it. A conversation that has
            labels gets these instead.

        Raises
        ------
        ConfigError
            When a conversation is not in the snapshot.
        SnapshotError
            When another process writes the snapshot now.
        """
        keep_labels(self.snapshot, labels)

    def refresh(self) -> Snapshot:
        """Bring the snapshot up to date from the service that it is of; the tables are the new ones afterwards.

        The key is ``PROMPTLIFT_API_KEY``; a snapshot has none. That of an embedded service, which may be at another address each
        time, is brought up to date with ``promptlift.local().pull(folder)``.

        Raises
        ------
        ConfigError
            When there is no key.
        """
        manifest = self.snapshot.manifest
        service = manifest.service
        with connect(service["base_url"], scheme=service["scheme"]) as lift:
            lift.pull(self.snapshot.folder, prompt_id=manifest.filters.get("prompt_id"))
        self.reload()
        return self.snapshot

    def reload(self) -> None:
        """Take the state that the last pull left, by whomever."""
        self.snapshot.reload()
        self._offline.forget()
        self._names.forget_list()

    def plan(
        self,
        prompt_id: str | None = None,
        *,
        status: str | None = None,
        insights: bool = False,
        content: bool = False,
    ) -> ReadPlan:
        """Return that reading costs no request.

        Parameters
        ----------
        prompt_id, status, insights, content
            As for :meth:`conversations`.
        """
        del insights, content
        rows = self._rows("conversations", ["status"], self._names.id_of_filter(prompt_id))
        count = 0 if rows is None else sum(status in (None, one) for one in rows["status"].to_pylist())
        return ReadPlan(count, 0, None, 0.0)

    def _conversations_table(
        self, prompt_ids: list[str | None], wanted: ConversationFilter, details: Wanted, *, status: str | None
    ) -> pd.DataFrame:
        columns = (
            *CONVERSATIONS,
            *(CONTENT if details.content else ()),
            *(INSIGHT_VALUES if details.insights else ()),
        )
        names = [column.name for column in columns if column.name not in ("prompt", "content")]

        def of_status(rows: pa.Table) -> pa.Table:
            return rows.filter(pc.equal(rows["status"], status))

        keep = None if status is None else of_status
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
        return self._recorded(
            wanted.apply(frame), "conversations", recorded_filters(prompt_ids, wanted, status), listed
        )

    def _with_content(self, table: pa.Table, *prompt_ids: str | None) -> pa.Table:
        self._need_content("content=True")
        details = self._rows("details", ["conversation_id", "content"], *prompt_ids)
        if details is None:
            return table
        places = pc.index_in(table["conversation_id"], value_set=details["conversation_id"])
        return table.append_column("content", details["content"].take(places))

    def _messages_table(self, filters: dict[str, str | None]) -> pd.DataFrame:
        self._need_content("lift.messages")
        prompt_id = filters["prompt_id"]
        table = self._in_list_order(self._rows("messages", None, prompt_id), prompt_id)
        return self._recorded(self._with_prompt(_or_empty(table), MESSAGES), "messages", filters)

    def _insights_table(self, filters: dict[str, str | None]) -> pd.DataFrame:
        names = [column.name for column in INSIGHTS if column.name != "prompt"]
        table = self._rows(
            "conversations", [*names, "prompt_id", "has_insights", "position"], filters["prompt_id"]
        )
        if table is not None:
            table = table.filter(table["has_insights"]).sort_by([("position", "descending")])
        return self._recorded(self._with_prompt(_or_empty(table), INSIGHTS), "insights", filters)

    def _in_list_order(self, messages: pa.Table | None, prompt_id: str | None) -> pa.Table | None:
        """Sort messages by the place of their conversation in the list."""
        listed = self._rows("conversations", ["conversation_id", "position"], prompt_id)
        if messages is None or listed is None:
            return messages
        places = pc.index_in(messages["conversation_id"], value_set=listed["conversation_id"])
        messages = messages.append_column("position", listed["position"].take(places))
        return messages.sort_by([("position", "descending"), ("turn", "ascending")])

    def _with_prompt(self, table: pa.Table, columns: Any) -> pd.DataFrame:
        """Make a table whose column of prompts has names where they are known."""
        named = table.rename_columns(
            ["prompt" if name == "prompt_id" else name for name in table.column_names]
        )
        return self._named(frame_of(named, columns))

    def _rows(
        self,
        table: str,
        columns: list[str] | None,
        *prompt_ids: str | None,
        metadata: bool = False,
        keep: Callable[[pa.Table], pa.Table] | None = None,
    ) -> pa.Table | None:
        prompts = None if None in prompt_ids else [one for one in prompt_ids if one is not None]
        return self.snapshot.read(table, columns, prompt_ids=prompts, metadata=metadata, keep=keep)

    def _recorded(
        self, frame: pd.DataFrame, name: str, filters: dict[str, Any], listed: int | None = None
    ) -> pd.DataFrame:
        """Record on a table where it comes from."""
        manifest = self.snapshot.manifest
        narrowed = any(value is not None for value in filters.values())
        total = manifest.totals.get("conversations") if name == "conversations" and not narrowed else listed
        read = RowsRead([], len(frame) if total is None else total, 0, complete=True)
        read.dropped = manifest.deleted_meanwhile
        table = with_read_record(
            frame,
            name,
            filters,
            read,
            manifest.warnings.get(name, {}),
            snapshot=str(self.snapshot.folder),
            fetched_at=manifest.finished_at,
        )
        return self._existing(table, filters)

    def _need_content(self, what: str) -> None:
        if not self.snapshot.manifest.content:
            raise ConfigError(
                f"{what} needs transcripts, and the snapshot {self.snapshot.folder} was pulled without them: its service does "
                "not send them with the list. Pull into another folder with content=True, which takes a request for each "
                "conversation."
            )


def _or_empty(table: pa.Table | None) -> pa.Table:
    return pa.table({}) if table is None else table
