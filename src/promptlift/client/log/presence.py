"""Find which conversations a service has: by id where it offers that, otherwise from its list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.client.retry import leaves_open
from promptlift.client.transport import Call, Task, Transport
from promptlift.errors import ApiError, NotFound, UnexpectedResponse
from promptlift.schema import endpoints, limits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# Up to this many are requested one by one instead of searched for in the list.
_FEW: Final = 8


@dataclass(frozen=True, slots=True)
class Present:
    """A conversation that the service has; ``content_hash`` is ``None`` where it does not say."""

    id: str
    status: str | None
    content_hash: str | None = None


@dataclass(slots=True)
class Presence:
    """The conversations, of those asked for, that the service has."""

    by_id: dict[str, Present] = field(default_factory=dict)
    by_source: dict[str, list[Present]] = field(default_factory=dict)


class PresenceCheck:
    """Ask a service which conversations it has.

    Attributes
    ----------
    offers_lookup
        Whether the service has the look-up and the update of conversations, which are ours; ``None`` before it was asked.
    """

    def __init__(self, transport: Transport, task: Task, prompt_id: str) -> None:
        self._transport = transport
        self._task = task
        self._prompt_id = prompt_id
        self._scheme = transport.config.scheme
        self.offers_lookup: bool | None = None
        # Of a service without the look-up: what its list has shown so far, newest first.
        self._listed: dict[str, Present] = {}
        self._offset = 0
        self._is_read = False
        # Whether the list, read to its end, had as many rows as it said.
        self._is_whole = False

    def ask(self, ids: Collection[str], source_ids: Collection[str]) -> Presence:
        """Return those that the service has.

        Without the look-up, source ids find nothing.

        Raises
        ------
        ApiError
            The service cannot be reached, or fails.
        """
        if not ids and not source_ids:
            return Presence()
        if self.offers_lookup is not False:
            found = self._look_up(list(ids), list(source_ids))
            self.offers_lookup = found is not None
            if found is not None:
                return found
        return Presence({one: present for one in ids if (present := self._find(one, ids)) is not None})

    def note(self, conversation_id: str, status: str | None) -> None:
        """Record a conversation that was added in the meantime."""
        if self.offers_lookup is False:
            self._listed[conversation_id] = Present(conversation_id, status)

    def _look_up(self, ids: list[str], source_ids: list[str]) -> Presence | None:
        found = Presence()
        most = limits.LOOKUP_IDS
        for start in range(0, max(len(ids), len(source_ids)), most):
            wanted = {"ids": ids[start : start + most], "sourceIds": source_ids[start : start + most]}
            body = orjson.dumps(wanted)
            call = Call.to(endpoints.CONVERSATIONS_LOOKUP, self._scheme, self._prompt_id, body=body)
            try:
                answer = self._transport.send(call, self._task)
            except ApiError as error:
                if leaves_open(error):
                    raise
                return None
            rows = answer.data.get("data") if isinstance(answer.data, dict) else None
            if not isinstance(rows, list):
                return None
            for row in _with_id(rows):
                present = Present(row["id"], row.get("status"), row.get("contentHash"))
                found.by_id[present.id] = present
                if isinstance(row.get("sourceId"), str):
                    found.by_source.setdefault(row["sourceId"], []).append(present)
        return found

    def _find(self, conversation_id: str, wanted: Collection[str]) -> Present | None:
        """Find one in the list, which is read no further than it takes; a list that lacks rows is not believed."""
        if conversation_id in self._listed:
            return self._listed[conversation_id]
        if sum(one not in self._listed for one in wanted) > _FEW:
            while not self._is_read and conversation_id not in self._listed:
                self._read_page()
            if conversation_id in self._listed:
                return self._listed[conversation_id]
        return None if self._is_whole else self._get(conversation_id)

    def _read_page(self) -> None:
        place = {"prompt_id": self._prompt_id, "limit": limits.LIST_LIMIT_MAX, "offset": self._offset}
        call = Call.to(endpoints.CONVERSATIONS_LIST, self._scheme, query=place)
        data = self._transport.send(call, self._task).data
        try:
            rows, total = data["data"], int(data["pagination"]["total"])
            found = list(_with_id(rows))
        except (KeyError, TypeError, ValueError):
            raise UnexpectedResponse(
                "The answer is not a page of conversations", request=call.label
            ) from None
        for row in found:
            self._listed[row["id"]] = Present(row["id"], row.get("status"))
        self._offset += len(rows)
        self._is_read = not rows or self._offset >= total
        self._is_whole = self._is_read and len(self._listed) >= total

    def _get(self, conversation_id: str) -> Present | None:
        query = {"include_insights": False}
        call = Call.to(endpoints.CONVERSATIONS_GET, self._scheme, conversation_id, query=query)
        try:
            data = self._transport.send(call, self._task).data
        except NotFound:
            return None
        status = data.get("status") if isinstance(data, dict) else None
        present = self._listed[conversation_id] = Present(conversation_id, status)
        return present


def _with_id(rows: list[Any]) -> Iterator[dict[str, Any]]:
    return (row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str))
