"""Tables of events, of webhooks, and of the deliveries to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import DELIVERIES, EVENTS, WEBHOOKS
from promptlift.schema.events import reduction_warning
from promptlift.schema.naming import link_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    Row = dict[str, Any]
    Table = tuple[pd.DataFrame, dict[str, int]]


def events_table(rows: Sequence[Row]) -> Table:
    """Make the table of events, one row each."""
    payloads = [row["data"] if isinstance(row.get("data"), dict) else {} for row in rows]
    return read_table(
        EVENTS,
        rows,
        prompt_id=[link_of(payload) for payload in payloads],
        warnings=[reduction_warning(payload) for payload in payloads],
    )


def webhooks_table(rows: Sequence[Row]) -> Table:
    """Make the table of webhooks, one row each."""
    return read_table(WEBHOOKS, rows)


def deliveries_table(rows: Sequence[Row]) -> Table:
    """Make the table of the deliveries to a webhook, one row each."""
    return read_table(DELIVERIES, rows)
