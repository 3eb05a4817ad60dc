"""Log many new conversations with one request each few hundred, where the service offers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.client.transport import Call, Task, Transport
from promptlift.errors import ApiError, InvalidApiKey, UnexpectedResponse, from_response
from promptlift.schema import endpoints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.client.connection import Connection
    from promptlift.client.log.records import Outgoing

# Fewer than these go one by one: asking whether they may go together costs a request too.
_WORTHWHILE: Final = 32


class BulkLog:
    """Log new conversations in groups.

    Attributes
    ----------
    is_offered
        Whether the service takes groups; ``None`` before it was asked.
    """

    def __init__(self, transport: Transport, task: Task) -> None:
        self._transport = transport
        self._task = task
        self._scheme = transport.config.scheme
        self.is_offered: bool | None = None

    def takes(self, count: int) -> bool:
        """Whether so many new conversations go in groups; the first time, the service is asked.

        Raises
        ------
        InvalidApiKey
            The key is wrong.
        """
        if count < _WORTHWHILE:
            return False
        if self.is_offered is None:
            self.is_offered = self._ask()
        return self.is_offered

    def _ask(self) -> bool:
        try:
            data = self._transport.send(self._call([]), self._task).data
        except InvalidApiKey:
            raise
        except ApiError:  # also where it could not answer: one by one is always right
            return False
        return isinstance(data, dict) and data.get("data") == []

    def send(self, some: Sequence[Outgoing], connection: Connection) -> list[dict[str, Any] | ApiError]:
        """Log a group, and return what became of each: its row of the answer, or why it was refused.

        Raises
        ------
        ApiError
            The request failed as a whole.
        """
        call = self._call([one.body for one in some])
        data = self._transport.send(call, self._task, connection=connection).data
        rows = data.get("data") if isinstance(data, dict) else None
        if not isinstance(rows, list) or len(rows) != len(some):
            raise UnexpectedResponse("The answer has not a row for each conversation", request=call.label)
        return [self._outcome(row, call) for row in rows]

    def _outcome(self, row: Any, call: Call) -> dict[str, Any] | ApiError:
        if isinstance(row, dict) and isinstance(row.get("id"), str):
            return row
        return from_response(400, row, request=call.label)

    def _call(self, bodies: Sequence[bytes]) -> Call:
        body = b'{"conversations":[' + b",".join(bodies) + b"]}"
        return Call.to(endpoints.CONVERSATIONS_LOG_MANY, self._scheme, body=body, keyed=True)
