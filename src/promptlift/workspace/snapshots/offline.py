"""Answer requests from a snapshot, so that whatever reads prompts and optimizations reads them without a network."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import orjson

from promptlift.client.transport import Answer, Transport
from promptlift.errors import ConfigError, NotFound
from promptlift.schema import limits
from promptlift.schema.naming import LINKS, SCHEMES, link_of
from promptlift.workspace.snapshots.prompt_completion import COLUMNS, completion_by_prompt
from promptlift.workspace.snapshots.rows import JUDGED_COLUMNS, conversation_row, records_of

if TYPE_CHECKING:
    from promptlift.client.config import ClientConfig
    from promptlift.client.connection import Connection
    from promptlift.client.transport import Call, Task
    from promptlift.snapshot import Snapshot

    Row = dict[str, Any]

_NOTHING: Final[dict[str, Any]] = {
    **dict.fromkeys(("conversations", "withInsights", "judged", "completed"), 0),
    **dict.fromkeys(("rate", "rateLow", "rateHigh")),
    "weeks": [],
}
# What labels are filtered by.
_LABELS: Final = ("conversationId", "optimizationId", "question", "labeller", "drawId")
_SEGMENTS: Final = tuple(scheme.segment for scheme in SCHEMES.values())


class SnapshotTransport(Transport):
    """A transport that sends nothing.

    Parameters
    ----------
    config
        Address and scheme of the service that the snapshot is of.
    snapshot
        What answers.
    """

    def __init__(self, config: ClientConfig, snapshot: Snapshot) -> None:
        super().__init__(config)
        self._snapshot = snapshot

    def send(self, call: Call, task: Task | None = None, *, connection: Connection | None = None) -> Answer:
        """Answer a call from the snapshot.

        Raises
        ------
        NotFound
            When the snapshot does not have it.
        ConfigError
            When it would change something.
        """
        del task, connection
        if call.method != "GET":
            raise ConfigError(
                f"{call.label} changes something at the service, and a snapshot is only read. "
                "promptlift.connect() or promptlift.local() opens the service."
            )
        found = self._found(call)
        if found is None:
            raise NotFound(
                "The snapshot does not have this. promptlift.connect() or promptlift.local() asks the service",
                status=404,
                code="NOT_FOUND",
                request=call.label,
            )
        return Answer(200, orjson.dumps(found), call)

    def _found(self, call: Call) -> Row | None:
        kind, *rest = [unquote(part) for part in call.path.strip("/").split("/")]
        one = rest[0] if rest else None
        listed = {"conversations": "_conversations", "labels": "_labels"}
        if kind in listed and one is None:
            return _page(getattr(self, listed[kind]), call)
        if kind == "conversations" and one is not None:
            return self._of_conversation(one, rest[1:])
        if kind == "judges":
            return self._judged(rest, call)
        records = (
            self.prompts if kind in _SEGMENTS else self.optimizations if kind == "optimizations" else None
        )
        return None if records is None else self._recorded(records, rest, call)

    def _recorded(self, records: dict[str, Row], rest: list[str], call: Call) -> Row | None:
        """Return what is asked for of prompts or optimizations: a page, one, or what belongs to one."""
        one = rest[0] if rest else None
        if one is None:
            rows = list(records.values())
            if call.query.get("includeCompletion") == "true":
                rows = [{**row, "completion": self._completion_of(row["id"])} for row in rows]
            return _page(rows, call)
        if rest[1:] == ["variants"] and one in records:
            return {"data": self._variants.get(one, [])}
        if rest[1:] == ["versions"] and one in self._versions:
            return _page(self._versions[one], call)
        return records.get(one) if len(rest) == 1 else None

    def _judged(self, rest: list[str], call: Call) -> Row | None:
        """Return what is asked for of judges: a page of their newest versions, one, or a page of its versions."""
        if not rest:
            return _page([versions[0] for versions in self._judges.values()], call)
        versions = self._judges.get(rest[0], [])
        if rest[1:] == ["versions"] and versions:
            return _page(versions, call)
        asked = call.query.get("version")
        found = (row for row in versions if asked is None or row["version"] == int(asked))
        return next(found, None) if len(rest) == 1 else None

    def forget(self) -> None:
        """Read the tables again when they are asked for next: the snapshot has changed."""
        for name in (
            "prompts",
            "optimizations",
            "_variants",
            "_versions",
            "_labels",
            "_judges",
            "_conversations",
            "_completion",
        ):
            self.__dict__.pop(name, None)

    @cached_property
    def prompts(self) -> dict[str, Row]:
        """The prompts as the service gave them, by id."""
        return {row["id"]: row for row in self._records("prompts")}

    @cached_property
    def optimizations(self) -> dict[str, Row]:
        """The optimizations as the service gave them, by id."""
        return {row["id"]: row for row in self._records("optimizations")}

    @cached_property
    def _labels(self) -> list[Row]:
        """What people said of conversations, as the API writes it."""
        return self._records("labels")

    @cached_property
    def _judges(self) -> dict[str, list[Row]]:
        """The versions of each judge of one's own, newest first, as the service gave them."""
        found: dict[str, list[Row]] = {}
        for row in self._records("judges"):
            found.setdefault(row["id"], []).append(row)
        return found

    def _completion_of(self, prompt_id: str) -> Row:
        return self._completion.get(prompt_id) or _NOTHING

    @cached_property
    def _completion(self) -> dict[str, Row]:
        rows = self._snapshot.read("conversations", [column.name for column in COLUMNS])
        return {} if rows is None else completion_by_prompt(rows)

    @cached_property
    def _variants(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        table = self._snapshot.read("variants", ["optimization_id", "record"])
        for one in [] if table is None else table.to_pylist():
            found.setdefault(one["optimization_id"], []).append(orjson.loads(one["record"]))
        return found

    @cached_property
    def _versions(self) -> dict[str, list[Row]]:
        rows = self._snapshot.read("prompts", ["prompt_id", "versions"])
        found = [] if rows is None else rows.to_pylist()
        return {one["prompt_id"]: orjson.loads(one["versions"]) for one in found if one["versions"]}

    def _records(self, table: str) -> list[Row]:
        return records_of(self._snapshot.read(table, ["record"]))

    @cached_property
    def _conversations(self) -> list[Row]:
        """What a list needs to say of conversations."""
        names = {
            "conversation_id": "id",
            "prompt_id": "promptId",
            "status": "status",
            "has_insights": "hasInsights",
        }
        rows = self._snapshot.read("conversations", [*names, "position"])
        if rows is None:
            return []
        rows = rows.sort_by([("position", "descending")])
        return rows.select(list(names)).rename_columns(list(names.values())).to_pylist()  # type: ignore[no-any-return]

    def _of_conversation(self, conversation_id: str, rest: list[str]) -> Row | None:
        found: Row = {}
        for table in ("conversations", "details"):
            row = self._snapshot.find(table, conversation_id)
            if row is None:
                return None
            found |= row
        row = conversation_row(found, JUDGED_COLUMNS)
        if not rest:
            return row
        judged: Row | None = row["insights"] if rest == ["insights"] else None
        return judged


def _page(rows: list[Row], call: Call) -> Row:
    """Return the part of a list that is asked for, as the embedded service filters it."""
    query = call.query
    link = next((query[name] for name in LINKS if name in query), None)
    judged = {"true": True, "false": False}.get(query.get("hasInsights", ""))
    rows = [
        row
        for row in rows
        if link in (None, link_of(row))
        and query.get("status") in (None, row.get("status"))
        and judged in (None, row.get("hasInsights"))
        and all(query[name] == row.get(name) for name in _LABELS if name in query)
    ]
    limit = int(query.get("limit", limits.LIST_LIMIT_MAX))
    offset = int(query.get("offset", 0))
    pagination = {"total": len(rows), "limit": limit, "offset": offset}
    return {"data": rows[offset : offset + limit], "pagination": pagination}
