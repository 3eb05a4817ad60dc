"""Read the conversations of a pull: all of them at first, then what is new, different or deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.client.reads.conversations import ConversationRead
from promptlift.client.reads.pages import list_page
from promptlift.client.reads.paging import PAGE_ROWS, Walk
from promptlift.client.reads.read_list import RowsRead, read_list
from promptlift.client.transport import Call
from promptlift.schema import endpoints
from promptlift.snapshot.staging import StagedRow
from promptlift.workspace.snapshots.known import list_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from promptlift.client.reads.conversations import Wanted
    from promptlift.client.transport import Task, Transport
    from promptlift.snapshot.staging import Staging
    from promptlift.workspace.snapshots.known import KnownConversations

    Row = dict[str, Any]
    Progress = Callable[[int, int], None]

# A service that knows when rows changed answers with the time to ask from next.
_FROM_THE_BEGINNING: Final = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Found:
    """The conversations of a pull; new and different ones are staged.

    Attributes
    ----------
    order
        All ids in the order of the list, as far as it is known.
    deleted
        Known conversations that are no longer there.
    present
        Conversations of which staged rows count; ``None`` for all.
    dropped
        Conversations that were deleted while they were read.
    """

    order: list[str]
    deleted: set[str]
    present: Collection[str] | None
    dropped: int


@dataclass
class ConversationPull:
    """Read conversations into a staging area.

    Parameters
    ----------
    transport, task
        Send and count the requests.
    staging
        Takes rows as they come.
    known
        What the snapshot has.
    wanted
        Details that a row must carry.
    prompt_id
        Only conversations of this prompt.
    state
        What the last pull noted; empty at first.
    progress
        Called with conversations read and in total.

    Attributes
    ----------
    state
        What the next pull needs to know.
    content_listed
        Whether the list brought content; ``None`` where no row was seen.
    """

    transport: Transport
    task: Task
    staging: Staging
    known: KnownConversations
    wanted: Wanted
    prompt_id: str | None
    state: Row
    progress: Progress

    def __post_init__(self) -> None:
        self._hashes: dict[str, int] = {}
        self._new: list[str] = []
        self.state = {**self.state}
        self.content_listed: bool | None = self.staging.state.get("content_listed")

    def first(self) -> Found:
        """Read everything, from where an earlier attempt ended."""
        noted = self.staging.state
        walk = Walk()
        resumed = "total" in noted
        if resumed:
            walk = Walk.resumed(self.staging.ids(), total=noted["total"], limit=noted["limit"])
        walk.as_of = noted.get("as_of")
        read = self._read_list(walk, note=True)
        order = self.staging.ids()
        if resumed and (walk.gone or not self._begins_with(order)):
            # Rows came or went since the earlier attempt staged its own; the whole list says which.
            return self.everything()
        return Found(order, set(), None, read.dropped)

    def _begins_with(self, order: list[str]) -> bool:
        """Return whether the list begins with these rows: those that came while as many went do not change the count."""
        call = self._reader().call(with_details=False).page(PAGE_ROWS, 0)
        page = list_page(self.transport.send(call, self.task).data, call)
        return [row["id"] for row in page.rows] == order[: len(page.rows)]

    def changed(self) -> Found:
        """Read what is new, different or deleted: as the service says, or by a walk through its whole list."""
        as_of = self.state.get("as_of")
        return (self._since(as_of) if as_of else None) or self.everything(only_different=True)

    def everything(self, *, only_different: bool = False) -> Found:
        """Walk through the whole list.

        Parameters
        ----------
        only_different
            Whether rows that the snapshot has as the list has them are read over.
        """
        seen: list[str] = []

        def differs(row: Row) -> bool:
            seen.append(row["id"])
            return not only_different or self.known.hashes.get(row["id"]) != self._hashes[row["id"]]

        walk = Walk()
        read = self._read_list(walk, differs)
        order = [*(one for one in seen if one in walk.late), *(one for one in seen if one not in walk.late)]
        return Found(order, set(self.known.hashes) - set(seen), set(seen), read.dropped)

    def _since(self, as_of: str) -> Found | None:
        """Ask for what changed since a time; ``None`` where the answers do not add up to what there is."""
        walk = Walk()
        read = self._read_list(walk, since=as_of)
        if walk.as_of is None:
            return None  # it did once
        asked = {"deleted_since": as_of, "prompt_id": self.prompt_id}
        call = Call.to(endpoints.CONVERSATIONS_DELETED, self.transport.config.scheme, query=asked)
        gone = {row["id"] for row in read_list(self.transport, call, task=self.task).rows}
        total = self._count()
        deleted = gone & self.known.hashes.keys()
        order = [*self._new, *self.known.in_order()]
        if len({*order}) - len(gone & {*order}) != total:
            return None
        self.state["as_of"] = walk.as_of
        return Found(order, deleted, walk.rows.keys() - gone, read.dropped)

    def _count(self) -> int:
        call = self._reader().call(with_details=False).page(1, 0)
        total: int = self.transport.send(call, self.task).data["pagination"]["total"]
        return total

    def _reader(self, **more: Any) -> ConversationRead:
        return ConversationRead(self.transport, self.wanted, prompt_id=self.prompt_id, task=self.task, **more)

    def _read_list(
        self,
        walk: Walk,
        differs: Callable[[Row], bool] | None = None,
        *,
        since: str = _FROM_THE_BEGINNING,
        note: bool = False,
    ) -> RowsRead:
        staging = self.staging
        attempt = staging.state["attempts"]

        def keep(row: Row) -> bool:
            if self.content_listed is None:
                self.content_listed = "content" in row
                staging.note(content_listed=self.content_listed)
            one = row["id"]
            self._hashes[one] = list_hash(row)
            if (fetched := staging.saved(one, self._hashes[one])) is not None:
                # By an attempt that failed; the list says the same of it still.
                row |= {name: value for name, value in fetched.items() if name not in row}
            if one not in self.known:
                self._new.append(one)
            return differs is None or differs(row)

        def stage(rows: list[Row]) -> None:
            for row in rows:
                late = attempt if row["id"] in walk.late else 0
                staging.add(StagedRow(row, self._hashes[row["id"]], late))
            if note and staging.state.get("total") != walk.total:
                staging.note(total=walk.total, limit=walk.limit, as_of=walk.as_of)

        reader = self._reader(
            walk=walk,
            keep=keep,
            on_part=stage,
            on_details=lambda row: staging.save(row, self._hashes[row["id"]]),
            part_rows=1,
            progress=self.progress,
            updated_since=since,
        )
        read = reader.run()
        stage(read.rows)
        if since == _FROM_THE_BEGINNING:
            self.state["as_of"] = walk.as_of
        return read
