"""Estimate what a read will cost before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.client.reads.pages import list_page
from promptlift.client.reads.paging import PAGE_ROWS, pages_for
from promptlift.schema.limits import CONVERSATIONS_LIMIT_MAX

if TYPE_CHECKING:
    from promptlift.client.reads.conversations import ConversationRead, Wanted
    from promptlift.client.transport import Transport


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Cost of a read.

    Attributes
    ----------
    rows
        Number of conversations according to the service.
    requests
        Maximum number of requests of the read.
    requests_per_minute
        Pace of the plan; ``None`` if unlimited or unknown.
    minutes
        Time required by the pace alone.
    """

    rows: int
    requests: int
    requests_per_minute: float | None
    minutes: float

    def __str__(self) -> str:
        pace = (
            f"{self.requests_per_minute:.0f} requests a minute"
            if self.requests_per_minute
            else "no known limit of requests"
        )
        time = "under a minute" if self.minutes < 1 else f"about {self.minutes:.0f} minutes"
        return f"{self.rows} rows, {self.requests} requests, {time} ({pace})"


def plan_read(transport: Transport, read: ConversationRead, wanted: Wanted) -> ReadPlan:
    """Request a page and the plan, and estimate what a read will cost."""
    transport.ask_plan()
    # A page of the usual size says whether the service allows larger ones; with content it never does.
    call = read.call().page(1 if wanted.content else PAGE_ROWS, 0)
    page = list_page(transport.send(call).data, call)
    total = page.total
    requests = pages_for(total, max(PAGE_ROWS, min(page.max_limit, CONVERSATIONS_LIMIT_MAX)))
    if page.rows:
        row = page.rows[0]
        content = wanted.content and "content" not in row
        insights = wanted.insights and "insights" not in row
        requests += total * (content + insights)
    rate = transport.pace.per_minute
    return ReadPlan(total, requests, rate, (requests - 1) // rate if rate and requests else 0.0)
