"""Send several requests at once and wait only briefly, for optional displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.client.retry import RetryPolicy
from promptlift.client.transport import Task
from promptlift.client.worker_pool import WorkerPool
from promptlift.errors import ApiError, ConnectionFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.client.connection import Connection
    from promptlift.client.transport import Call, Transport

# Enough for a connection lost while idle; a service that is down is reported.
_RETRIES = RetryPolicy(timeout=0.5, first_timeout=0.5, rate_timeout=0.5)


def ask_quickly(transport: Transport, calls: Sequence[Call], *, until: float) -> list[Any]:
    """Send calls concurrently and return their decoded answers in order, with the error in place of a failed one.

    Whatever the network does, this returns about ``until``: requests without an answer are aborted.

    Parameters
    ----------
    until
        A time of the monotonic clock. A call without an answer by then gets a :class:`ConnectionFailed`.
    """
    answers: list[Any] = [
        ConnectionFailed(
            f"No answer from {transport.config.base_url} in time. Try again, or check whether the service runs",
            request=call.label,
        )
        for call in calls
    ]

    def work(place: int, connection: Connection) -> Any:
        return transport.send(calls[place], task, connection=connection).data

    task = Task(policy=_RETRIES)
    with WorkerPool(transport, work, task=task, threads=max(1, len(calls))) as pool:
        for place in range(len(calls)):
            pool.submit(place)
        for place, data, error in pool.results(until=until):
            if error is not None and not isinstance(error, ApiError):
                raise error
            answers[place] = data if error is None else error
    return answers
