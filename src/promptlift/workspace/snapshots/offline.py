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
        found: Row | None = None
        match [unquote(part) for part in call.path.strip("/").split("/")]:
            case ["conversations"]:
                found = _page(self._conversations, call)
            case ["conversations", one, *rest]:
                found = self._of_conversation(one, rest)
            case ["labels"]:
                found = _page(self._records("labels"), call)
            case ["judges", *rest]:
                found = self._of_judges(rest, call)
            case ["optimizations"]:
                found = _page([*self.optimizations.values()], call)
            case ["optimizations", one]:
                found = self.optimizations.get(one)
            case ["optimizations", one, "variants"] if one in self.optimizations:
                found = {"data": self._variants.get(one, [])}
            case [segment, *rest] if segment in _SEGMENTS:
                found = self._of_prompts(rest, call)
        return found

    def _of_prompts(self, rest: list[str], call: Call) -> Row | None:
        """Return a page of prompts, one of them, or a page of its versions."""
        match rest:
            case []:
                rows = [*self.prompts.values()]
                if call.query.get("includeCompletion") == "true":
                    rows = [
                        {**row, "completion": self._completion.get(row["id"]) or _NOTHING} for row in rows
                    ]
                return _page(rows, call)
            case [one]:
                return self.prompts.get(one)
            case [one, "versions"] if one in self._versions:
                return _page(self._versions[one], call)
        return None

    def _of_judges(self, rest: list[str], call: Call) -> Row | None:
        """Return a page of the newest versions of judges, a version of one, or a page of its versions."""
        match rest:
            case []:
                return _page([versions[0] for versions in self._judges.values()], call)
            case [one]:
                asked = call.query.get("version")
                versions = self._judges.get(one, [])
                return next((row for row in versions if asked in (None, str(row["version"]))), None)
            case [one, "versions"] if one in self._judges:
                return _page(self._judges[one], call)
        return None

    def forget(self) -> None:
        """Read the tables again when they are needed next: the snapshot has changed."""
        for name, value in vars(SnapshotTransport).items():
            if isinstance(value, cached_property):
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
    def _judges(self) -> dict[str, list[Row]]:
        """The versions of each of your own judges, newest first, as the service returned them."""
        found: dict[str, list[Row]] = {}
        for row in self._records("judges"):
            found.setdefault(row["id"], []).append(row)
        return found

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
