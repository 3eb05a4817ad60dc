"""What an account has used: counters of the billing period, and the request window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite

from promptlift.service import moment
from promptlift.service.store.tables import prompts, rate_windows, usage_counters

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import Connection, Table

Kind = Literal["conversations", "optimizations", "tokens"]
RATE_WINDOW = 60 * moment.SECOND


def upsert(connection: Connection, table: Table) -> Any:
    """An ``INSERT`` that may say what happens on a conflict, in the database's own dialect."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def add(connection: Connection, account_id: str, kind: Kind, amount: int, *, now: int) -> int:
    """Count something into the current period and give the new total."""
    start, _ = moment.billing_period(now)
    statement = upsert(connection, usage_counters).values(
        account_id=account_id, period_start=start, kind=kind, used=amount
    )
    return int(
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=["account_id", "period_start", "kind"],
                set_={"used": usage_counters.c.used + statement.excluded.used},
            ).returning(usage_counters.c.used)
        ).scalar_one()
    )


def used(connection: Connection, account_id: str, kind: Kind, *, now: int) -> int:
    """What was used of one kind in the current period."""
    start, _ = moment.billing_period(now)
    value = connection.scalar(
        select(usage_counters.c.used).where(
            usage_counters.c.account_id == account_id,
            usage_counters.c.period_start == start,
            usage_counters.c.kind == kind,
        )
    )
    return int(value or 0)


def active_prompts(connection: Connection, account_id: str) -> int:
    """Prompts that count against the plan: those that are neither archived nor deleted."""
    # unspecified: whether drafts count. They do: they can be used for logging at once.
    statement = select(func.count()).where(
        prompts.c.account_id == account_id, prompts.c.deleted_at.is_(None), prompts.c.status != "archived"
    )
    return int(connection.scalar(statement) or 0)


def count_request(connection: Connection, account_id: str, *, now: int) -> tuple[int, int]:
    """Count a request into the current minute; gives the requests of this minute and when it ends."""
    window = now - now % RATE_WINDOW
    statement = upsert(connection, rate_windows).values(account_id=account_id, window=window, used=1)
    count = connection.execute(
        statement.on_conflict_do_update(
            index_elements=["account_id"],
            set_={
                "used": func.coalesce(
                    select(rate_windows.c.used)
                    .where(rate_windows.c.account_id == account_id, rate_windows.c.window == window)
                    .scalar_subquery(),
                    0,
                )
                + 1,
                "window": window,
            },
        ).returning(rate_windows.c.used)
    ).scalar_one()
    return int(count), window + RATE_WINDOW
