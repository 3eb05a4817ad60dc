"""The table of labels of a snapshot: what the service keeps, and what was kept in the snapshot by hand."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from promptlift import frames
from promptlift.errors import ConfigError
from promptlift.frames.layouts import LABELS
from promptlift.schema.columns import TableColumn
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.judges import LabelRequest
from promptlift.snapshot.columns import arrow_table, frame_of
from promptlift.snapshot.writer_lock import only_writer
from promptlift.snapshot.writing import NextState
from promptlift.workspace.judging.label_store import kept_label, label_key
from promptlift.workspace.snapshots.known import KnownConversations
from promptlift.workspace.snapshots.rows import records_of, records_table

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from promptlift.snapshot import Snapshot

    Row = dict[str, Any]

_ID: Final = "conversation_id"
# The column that says where a label is kept, and its values.
_KEPT: Final = "kept"
_BY_HAND: Final = "snapshot"
_BY_SERVICE: Final = "service"
_WIDE: Final = (
    TableColumn(_ID, "text"),
    TableColumn("task_completed", "boolean"),
    TableColumn("sentiment", "category", categories=SENTIMENTS),
    TableColumn("labelled_at", "time"),
)
_TYPES: Final = {"boolean": pa.bool_(), "time": pa.timestamp("us", "UTC")}


@dataclass(frozen=True)
class SnapshotLabels:
    """The labels of a snapshot, as the API writes them; of one person, question and conversation there is one.

    Attributes
    ----------
    by_hand
        What was kept in the snapshot, the last first.
    of_service
        What the service keeps, in its order.
    """

    by_hand: list[Row] = field(default_factory=list)
    of_service: list[Row] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        """All labels."""
        return [*self.by_hand, *self.of_service]

    def with_service(self, rows: Sequence[Row]) -> SnapshotLabels:
        """Return the labels with what the service keeps now; what was kept by hand stays and counts instead of the same there."""
        mine = {label_key(row) for row in self.by_hand}
        return SnapshotLabels(self.by_hand, [row for row in rows if label_key(row) not in mine])

    def without(self, conversation_ids: Collection[str]) -> SnapshotLabels:
        """Return the labels of other conversations."""
        kept = (
            [row for row in rows if row["conversationId"] not in conversation_ids]
            for rows in (self.by_hand, self.of_service)
        )
        return SnapshotLabels(*kept)

    def keep(self, given: Sequence[Row]) -> SnapshotLabels:
        """Return the labels with some kept by hand; one without a value is removed."""
        known = {label_key(row): row for row in reversed(self.by_hand)}
        there = {label_key(row): row for row in self.of_service}
        for row in given:
            key = label_key(row)
            # The chance and the draw that the service knows are those of this answer too.
            before = known.pop(key, None) or there.pop(key, None)
            kept = kept_label(before, row, None)
            if kept is not None:
                known[key] = kept
        return SnapshotLabels(list(known.values())[::-1], list(there.values()))


def read_labels(snapshot: Snapshot) -> SnapshotLabels:
    """Return the labels of a snapshot."""
    table = snapshot.read("labels")
    found: dict[str, list[Row]] = defaultdict(list)
    places = [] if table is None else table[_KEPT].to_pylist()
    for place, row in zip(places, records_of(table), strict=True):
        found[place].append(row)
    return SnapshotLabels(found[_BY_HAND], found[_BY_SERVICE])


def write_labels(state: NextState, labels: SnapshotLabels) -> None:
    """Replace the table of labels."""
    rows = labels.rows
    table = records_table(rows, arrow_table(frames.labels_table(rows)[0], LABELS))
    places = [_BY_HAND] * len(labels.by_hand) + [_BY_SERVICE] * len(labels.of_service)
    state.set_table("labels", table.append_column(_KEPT, pa.array(places, pa.string())))


def wide_labels(labels: Sequence[Row]) -> pd.DataFrame:
    """Return labels with a row a conversation and a column a question; the newest answer counts."""
    found: dict[str, Row] = {}
    columns = list(_WIDE)
    known = {column.name for column in _WIDE}
    table = frames.labels_table(list(reversed(labels)))[0].sort_values(
        "labelled_at", kind="stable", na_position="first"
    )
    for one in table[[_ID, "question", "value", "labelled_at"]].to_dict("records"):
        row = found.setdefault(one[_ID], {_ID: one[_ID]})
        row[one["question"]] = one["value"] if one["question"] != "task_completed" else one["value"] == "yes"
        row["labelled_at"] = one["labelled_at"]
        if one["question"] not in known:
            known.add(one["question"])
            columns.append(TableColumn(one["question"], "text"))
    rows = [found[one] for one in sorted(found)]
    cells = {
        column.name: pa.array(
            [row.get(column.name) for row in rows], _TYPES.get(column.kind, pa.string()), from_pandas=True
        )
        for column in columns
    }
    return frame_of(pa.table(cells), columns)


def keep_labels(
    snapshot: Snapshot, labels: pd.DataFrame, *, labeller: str, chance: float | None = None
) -> None:
    """Keep labels in a snapshot; what the same person said before of the same question is replaced, an empty answer removes it.

    Parameters
    ----------
    labels
        Table of labels, long or wide.
    labeller, chance
        Who answered, and the chance of the draw, where the table does not say.

    Raises
    ------
    FrameError
        When a column is missing.
    ConfigError
        When a conversation is not in the snapshot, or an answer cannot be used.
    SnapshotError
        When another process writes the snapshot now.
    """
    from promptlift.analysis.label_tables import label_records  # noqa: PLC0415  opening a snapshot needs no analyses

    records = label_records(labels, labeller=labeller, chance=chance, empty=True)
    given = [LabelRequest.model_validate(one).to_wire() for one in records]
    with only_writer(snapshot.location):
        snapshot.reload()
        known = KnownConversations(snapshot)
        ids = {row["conversationId"] for row in given}
        unknown = sorted(one for one in ids if one not in known)
        if unknown:
            raise ConfigError(
                f"{len(unknown)} of the labelled conversations are not in the snapshot, {unknown[0]!r} for one. Label those of "
                "lift.conversations(), or pull first."
            )
        placed = [{**row, "promptId": known.place_of(row["conversationId"])[0]} for row in given]
        state = NextState(snapshot.location, snapshot.manifest.files)
        kept = read_labels(snapshot).keep(placed)
        write_labels(state, kept)
        snapshot.manifest = state.commit(snapshot.manifest, snapshot.key_to_sign)
