"""The table of labels: what people said of conversations, kept beside them in the snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from promptlift.errors import ConfigError, FrameError
from promptlift.schema.columns import TableColumn
from promptlift.schema.insights import SENTIMENTS
from promptlift.snapshot.columns import arrow_table, frame_of
from promptlift.snapshot.writer_lock import only_writer
from promptlift.snapshot.writing import NextState
from promptlift.workspace.snapshots.known import KnownConversations

if TYPE_CHECKING:
    import pandas as pd

    from promptlift.snapshot import Snapshot

_ID: Final = "conversation_id"
_COLUMNS: Final = (
    TableColumn(_ID, "text"),
    TableColumn("task_completed", "boolean"),
    TableColumn("sentiment", "category", categories=SENTIMENTS),
    TableColumn("labelled_at", "time"),
)
_NAMED: Final = frozenset(column.name for column in _COLUMNS)


def read_labels(snapshot: Snapshot) -> pd.DataFrame:
    """Return the labels of a snapshot, by conversation."""
    table = snapshot.read("labels")
    table = pa.table({}) if table is None else table.drop_columns("prompt_id").sort_by(_ID)
    own = tuple(TableColumn(name, "text") for name in table.column_names if name not in _NAMED)
    return frame_of(table, (*_COLUMNS, *own))


def keep_labels(snapshot: Snapshot, labels: pd.DataFrame) -> None:
    """Put labels into a snapshot, in the place of those that the same conversations had.

    Raises
    ------
    FrameError
        When the table has no ``conversation_id``.
    ConfigError
        When a conversation is not in the snapshot.
    SnapshotError
        When another process writes the snapshot now.
    """
    if _ID not in labels:
        raise FrameError([_ID], [str(name) for name in labels.columns], hint="Labels are browser.labels.")
    own = tuple(TableColumn(str(name), "text") for name in labels.columns if name not in _NAMED)
    table = arrow_table(labels, (*_COLUMNS, *own))
    with only_writer(snapshot.location):
        snapshot.reload()
        known = KnownConversations(snapshot)
        ids = table[_ID].to_pylist()
        unknown = [one for one in ids if one not in known]
        if unknown:
            raise ConfigError(
                f"{len(unknown)} of the labelled conversations are not in the snapshot, {unknown[0]!r} for one. Label those of "
                "lift.conversations(), or pull first."
            )
        places = [known.place_of(one) for one in ids]
        prompts = pa.array([prompt_id for prompt_id, _ in places], pa.string())
        state = NextState(snapshot.location, snapshot.manifest.files)
        state.remove(ids, places, tables=("labels",))
        months = {one: month for one, (_, month) in zip(ids, places, strict=True)}
        state.add("labels", table.append_column("prompt_id", prompts), months)
        snapshot.manifest = state.commit(snapshot.manifest)
