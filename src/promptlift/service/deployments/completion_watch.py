"""Watch prompts that should complete a certain share of their tasks, and report those that fall below it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from promptlift.schema.basis import may_tell
from promptlift.schema.events import QualityDropped
from promptlift.service import clock
from promptlift.service.background.kind import each
from promptlift.service.store import aggregates, events, prompts

if TYPE_CHECKING:
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.prompts import PromptRow

LOOK_SECONDS = 300.0
# More days than any account has.
_ALL_DAYS = 1_000_000


def look(database: Database) -> None:
    """Look at every watched prompt of all accounts; emit ``quality.dropped`` for those that have fallen since the last look.

    `promptlift.stats.watch` keeps its promise at any number of looks. The days count from the one on which the line
    was set. Verdicts of a word list tell nothing and raise no alarm.
    """
    with database.read() as connection:
        watched = prompts.watched(connection)
    of_account = Counter(row.account_id for row in watched)
    each("the watch of prompt", watched, partial(_look_at, database, of_account))


def _look_at(database: Database, watched: Counter[str], row: PromptRow) -> None:
    line, now = row.alert_below, clock.now()
    if line is None:
        return
    from promptlift.stats.watch import watch  # noqa: PLC0415 - most services watch no prompt

    first = None if row.alert_since is None else row.alert_since // clock.DAY * clock.DAY
    with database.read() as connection:
        _, found = aggregates.completion_by_day(
            connection, row.account_id, [row.id], days=_ALL_DAYS, today=now
        )
        basis = aggregates.totals(connection, row.account_id, row.id, since=first).basis
    days = found[row.id].days if row.id in found else {}
    nights = [(day, *days[day]) for day in sorted(days) if days[day][0] and (first is None or day >= first)]
    seen = watch(
        [(judged, completed) for _, judged, completed in nights], line, prompts=watched[row.account_id]
    )
    is_below = seen.is_below and basis is not None and may_tell(basis)
    if is_below == (row.alerted_at is not None):
        return
    with database.write() as connection:
        current = prompts.find(connection, row.account_id, row.id, lock=True)
        # Changed by a user or another process in the meantime: the next look sees it.
        if current is None or (current.alert_below, current.alerted_at) != (line, row.alerted_at):
            return
        prompts.change(connection, row.account_id, row.id, {"alerted_at": now if is_below else None})
        if is_below and seen.n:
            payload = QualityDropped(
                prompt_id=row.id,
                prompt_name=row.name,
                alert_below=line,
                completion_rate=seen.completed / seen.n,
                conversations=seen.n,
                since=clock.to_datetime(nights[seen.since][0]),
                basis=str(basis),
            )
            events.add(connection, "quality.dropped", row.account_id, row.id, payload, now=now)
