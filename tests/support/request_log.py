"""The requests that a workspace makes, noted where its client hands them to the transport."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.workspace import Workspace


@contextmanager
def requests_of(lift: Workspace) -> Iterator[list[str]]:
    """Give a list that has the method and path of every request from now on; the requests are made as ever."""
    made: list[str] = []
    transport = lift.client.transport
    send = transport.send

    def noted(call, *rest, **options):
        made.append(call.label)
        return send(call, *rest, **options)

    transport.send = noted
    try:
        yield made
    finally:
        transport.send = send
