"""Where labels are kept: by the service, or in a file beside the notebook."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from promptlift.client.reads.optimizations import read_offered
from promptlift.client.reads.read_list import RowsRead
from promptlift.client.transport import Task
from promptlift.schema import endpoints
from promptlift.schema.judges import Label, LabelRequest
from promptlift.schema.model import to_wire_time
from promptlift.workspace.notebook_file import NotebookFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from promptlift.client import Client

    Row = dict[str, Any]

__all__ = ["FileLabelStore", "LabelStore", "ServiceLabelStore", "kept_label", "label_key"]

FILE_NAME: Final = "promptlift-labels.json"
# Notes can be long, and a body is bounded.
_AT_ONCE: Final = 100


class LabelStore(Protocol):
    """Keep labels and read them. Rows are those of the API, whoever keeps them.

    The workspace calls it with fields that it has checked. Every method may raise what a request raises; a store on a
    file also raises ``ConfigError`` when the file cannot be used.

    Attributes
    ----------
    kept
        ``"service"`` or ``"file"``; tables of labels say it.
    """

    kept: str

    def read(self, filters: dict[str, str | None]) -> RowsRead:
        """Read the labels with these values, newest first."""

    def keep(self, labels: Sequence[Row]) -> list[Row | None]:
        """Keep labels (Python names of the fields); return them as they are kept, None where one was removed."""


class ServiceLabelStore:
    """Labels of a service that keeps them itself.

    Parameters
    ----------
    client
        Client of the service.
    """

    kept = "service"

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self, filters: dict[str, str | None]) -> RowsRead:
        """Read all pages."""
        return read_offered(self._client.transport, endpoints.LABELS_LIST, filters=filters, task=Task())

    def keep(self, labels: Sequence[Row]) -> list[Row | None]:
        """Send them, a hundred at a time."""
        kept: list[Row | None] = []
        for start in range(0, len(labels), _AT_ONCE):
            answer = self._client.labels.create(labels[start : start + _AT_ONCE])
            kept += [None if one is None else one.to_wire() for one in answer.data]
        return kept


class _LabelFile(NotebookFile):
    """Labels of one service by conversation, question and labeller."""

    name = FILE_NAME
    title = "file of labels"
    parts = {"labels": list}  # noqa: RUF012 - a constant of the class

    def labels(self) -> list[Row]:
        return list(self._read()["labels"])

    def keep(self, given: Sequence[Row]) -> list[Row | None]:
        def change(part: Row) -> list[Row | None]:
            known = {label_key(row): row for row in part["labels"]}
            now = to_wire_time(datetime.now(UTC))
            after = {label_key(row): kept_label(known.get(label_key(row)), row, now) for row in given}
            for key, row in after.items():
                if row is None:
                    known.pop(key, None)
                else:
                    known[key] = row
            part["labels"] = list(known.values())
            return [after[label_key(row)] for row in given]

        kept: list[Row | None] = self._change(change)
        return kept


class FileLabelStore:
    """Labels in a file, for services that keep none.

    Parameters
    ----------
    client
        Client of the service.
    path
        The file; ``None`` is ``promptlift-labels.json`` in the current working directory.
    """

    kept = "file"

    def __init__(self, client: Client, path: Path | None = None) -> None:
        self._client = client
        self._path = path

    def read(self, filters: dict[str, str | None]) -> RowsRead:
        """Read the file."""
        names = {name: str(Label.model_fields[name].alias) for name in filters}
        rows = [
            row
            for row in reversed(self._file().labels())
            if all(value is None or row[names[name]] == value for name, value in filters.items())
        ]
        return RowsRead(rows, len(rows), 0, complete=True)

    def keep(self, labels: Sequence[Row]) -> list[Row | None]:
        """Write them into the file, each with the prompt of its conversation."""
        file = self._file()
        prompts = {row["conversationId"]: row["promptId"] for row in file.labels()}
        for one in {one["conversation_id"] for one in labels} - prompts.keys():
            prompts[one] = self._client.conversations.get(one, include_insights=False).prompt_id
        asked = [LabelRequest.model_validate(one).to_wire() for one in labels]
        return file.keep([{**one, "promptId": prompts[one["conversationId"]]} for one in asked])

    def _file(self) -> _LabelFile:
        return _LabelFile(self._client.config.base_url, self._path)


def label_key(row: Row) -> tuple[str, str, str]:
    """Return what names a label: the conversation, the question and who answered."""
    return row["conversationId"], row["question"], row["labeller"]


def kept_label(before: Row | None, given: Row, now: str | None) -> Row | None:
    """Return a label as it is to be kept, as the service merges it; None where it is removed.

    Parameters
    ----------
    before
        As it was kept until now, if it was.
    given
        What is said of it.
    now
        When it is labelled, where that is not said and its value is another.
    """
    if not (given.get("value") or "").strip():
        return None
    digest = hashlib.sha256("\x00".join(label_key(given)).encode("utf-8", "surrogatepass")).hexdigest()
    empty = dict.fromkeys(("promptId", "optimizationId", "chance", "drawId"))
    row: Row = {"id": f"lbl_{digest[:24]}", **empty, **(before or {}), **given}
    if given.get("labelledAt") is None:
        same = before is not None and before["value"] == given["value"]
        row["labelledAt"] = before["labelledAt"] if before and same else now
    return row
