"""The usage of an account: counters of the billing period, and the request window."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import case, func, select
from sqlalchemy.dialects import postgresql, sqlite

from promptlift.service import clock
from promptlift.service.errors import quota
from promptlift.service.store import accounts
from promptlift.service.store.tables import prompts, rate_windows, usage_counters

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from promptlift.service.store.accounts import Caller

Kind = Literal["conversations", "optimizations", "tokens"]
RATE_WINDOW = 60 * clock.SECOND


def _insert(dialect: str, table: Table) -> Any:
    """Return an ``INSERT`` in the database's own dialect, which supports conflict clauses."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


@cache
def _counting(dialect: str) -> Any:
    statement = _insert(dialect, usage_counters)
    return statement.on_conflict_do_update(
        index_elements=["account_id", "period_start", "kind"],
        set_={"used": usage_counters.c.used + statement.excluded.used},
    ).returning(usage_counters.c.used)


def add(connection: Connection, account_id: str, kind: Kind, amount: int, *, now: int) -> int:
    """Add to the usage of the current period and return the new total."""
    start, _ = clock.billing_period(now)
    values = {"account_id": account_id, "period_start": start, "kind": kind, "used": amount}
    return int(connection.execute(_counting(connection.dialect.name), values).scalar_one())


def used(connection: Connection, account_id: str, kind: Kind, *, now: int) -> int:
    """Return the usage of one kind in the current period."""
    start, _ = clock.billing_period(now)
    value = connection.scalar(
        select(usage_counters.c.used).filter_by(account_id=account_id, period_start=start, kind=kind)
    )
    return int(value or 0)


def token_limit_reached(connection: Connection, account_id: str, *, now: int) -> int | None:
    """Return the monthly token limit of an account that has used it up; ``None`` if it may use more."""
    limit = accounts.plan_of(connection, account_id).tokens_per_month
    if limit is None or used(connection, account_id, "tokens", now=now) < limit:
        return None
    return limit


def check_tokens(connection: Connection, caller: Caller, *, now: int) -> None:
    """Refuse to start work that needs a language model when the account has used up its monthly tokens.

    Raises
    ------
    ApiException
        ``LIMIT_EXCEEDED``.
    """
    limit = token_limit_reached(connection, caller.account_id, now=now)
    if limit is not None:
        spent = used(connection, caller.account_id, "tokens", now=now)
        raise quota("tokens a month", limit=limit, used=spent, now=now)


def active_prompts(connection: Connection, account_id: str) -> int:
    """Count the prompts that count toward the plan's limit: active ones."""
    statement = select(func.count()).where(
        prompts.c.account_id == account_id, prompts.c.deleted_at.is_(None), prompts.c.status == "active"
    )
    return int(connection.scalar(statement) or 0)


def count_request(connection: Connection, account_id: str, *, now: int) -> tuple[int, int]:
    """Count a request in the current minute; return the number of requests in this minute and its end."""
    window = now - now % RATE_WINDOW
    statement = _insert(connection.dialect.name, rate_windows).values(
        account_id=account_id, window=window, used=1
    )
    count = connection.execute(
        statement.on_conflict_do_update(
            index_elements=["account_id"],
            set_={
                # The row's own columns: a query for them would miss concurrent counts of other processes.
                "used": case((rate_windows.c.window == window, rate_windows.c.used + 1), else_=1),
                "window": window,
            },
        ).returning(rate_windows.c.used)
    ).scalar_one()
    return int(count), window + RATE_WINDOW
