"""Accounts, their API keys and their usage: counters of the billing period, and the request window."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, cast

from sqlalchemy import case, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from promptlift.schema.limits import Plan, plan_with
from promptlift.schema.settings import Settings
from promptlift.service import clock
from promptlift.service.errors import quota
from promptlift.service.identifiers import key_hash, new_id, shown_prefix
from promptlift.service.store import changes
from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables import accounts, api_keys, prompts, rate_windows, usage_counters
from promptlift.service.store.tables.accounts import AccountRow, ApiKeyRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Select, Table

    from promptlift.schema.limits import PlanName


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request; every query is made for its account.

    Attributes
    ----------
    limits
        The plan with the limits of the account.
    """

    account_id: str
    limits: Plan
    key_id: str


def create(
    connection: Connection,
    *,
    name: str,
    email: str,
    plan: PlanName,
    custom_limits: Mapping[str, int] | None = None,
) -> str:
    """Add an account with default settings and return its id."""
    account_id = new_id("acc")
    settings = Settings().model_dump(mode="json", by_alias=True, exclude_none=True)
    settings["general"]["name"] = name
    connection.execute(
        insert(accounts).values(
            id=account_id,
            name=name,
            email=email,
            plan=plan,
            limits=custom_limits or {},
            settings=settings,
            created_at=clock.now(),
        )
    )
    return account_id


def first(connection: Connection) -> str | None:
    """Return the id of the oldest account, ``None`` in a new database."""
    return connection.scalar(select(accounts.c.id).order_by(accounts.c.created_at, accounts.c.id).limit(1))


def get(connection: Connection, account_id: str) -> AccountRow:
    """Return the row of an account."""
    return Rows(connection).get_one(AccountRow, account_id)


def all_of(connection: Connection) -> Sequence[AccountRow]:
    """Return all accounts, oldest first."""
    return Rows(connection).all(wanted(AccountRow).order_by(AccountRow.created_at, AccountRow.id))


def named(connection: Connection, name: str) -> Sequence[AccountRow]:
    """Return the account with this id, or else those with this e-mail address or name, oldest first."""
    rows = all_of(connection)
    return [row for row in rows if row.id == name] or [row for row in rows if name in (row.email, row.name)]


def plan_of(connection: Connection, account_id: str) -> Plan:
    """Return the plan of an account with the account's limits."""
    row = get(connection, account_id)
    return plan_with(cast("PlanName", row.plan), row.limits)


def change(connection: Connection, account_id: str, values: Mapping[str, object]) -> None:
    """Change the name, e-mail address, plan or limits of an account; its name is also its organization's."""
    if "name" in values:
        known = settings(connection, account_id)
        known["general"]["name"] = values["name"]
        values = {**values, "settings": known}
    connection.execute(update(accounts).filter_by(id=account_id).values(**values))


def add_key(connection: Connection, account_id: str, key: str, *, name: str) -> None:
    """Store a key of an account as its hash; a known key stays unchanged."""
    digest = key_hash(key)
    if connection.scalar(select(func.count()).where(api_keys.c.hash == digest)):
        return
    connection.execute(
        insert(api_keys).values(
            id=new_id("key"),
            account_id=account_id,
            name=name,
            prefix=shown_prefix(key),
            hash=digest,
            created_at=clock.now(),
        )
    )


def find_caller(connection: Connection, key: str) -> Caller | None:
    """Return the account of a key; ``None`` for a key that is unknown or revoked."""
    digest = key_hash(key)
    row = connection.execute(
        select(api_keys.c.id, api_keys.c.hash, api_keys.c.account_id, accounts.c.plan, accounts.c.limits)
        .join(accounts, accounts.c.id == api_keys.c.account_id)
        .where(api_keys.c.hash == digest, api_keys.c.revoked_at.is_(None))
    ).one_or_none()
    if row is None or not hmac.compare_digest(row.hash, digest):
        return None
    return Caller(row.account_id, plan_with(cast("PlanName", row.plan), row.limits), row.id)


def caller_of(connection: Connection, account_id: str) -> Caller:
    """Return an account as a caller, for background work on its behalf."""
    return Caller(account_id, plan_of(connection, account_id), "")


def touch_key(connection: Connection, key_id: str) -> None:
    """Record that a key was used."""
    connection.execute(update(api_keys).filter_by(id=key_id).values(last_used_at=clock.now()))


def keys(connection: Connection, account_id: str | None = None) -> Sequence[ApiKeyRow]:
    """Return the keys of one or all accounts, oldest first."""
    return Rows(connection).all(_oldest_first(wanted(ApiKeyRow, account_id=account_id)))


def _oldest_first(query: Select[ApiKeyRow]) -> Select[ApiKeyRow]:
    return query.order_by(ApiKeyRow.created_at, ApiKeyRow.id)


def is_revoked(connection: Connection, key: str) -> bool:
    """Return whether a key was revoked."""
    revoked_at = select(api_keys.c.revoked_at).where(api_keys.c.hash == key_hash(key))
    return connection.scalar(revoked_at) is not None


def valid_keys_named(connection: Connection, name: str) -> Sequence[ApiKeyRow]:
    """Return the valid keys with the given prefix, id or full text, oldest first."""
    given = or_(ApiKeyRow.prefix == name, ApiKeyRow.id == name, ApiKeyRow.hash == key_hash(name))
    return Rows(connection).all(_oldest_first(wanted(ApiKeyRow).where(given, ApiKeyRow.revoked_at.is_(None))))


def revoke(connection: Connection, key_id: str) -> None:
    """Invalidate a key."""
    connection.execute(update(api_keys).filter_by(id=key_id).values(revoked_at=clock.now()))


def lock(connection: Connection, account_id: str) -> None:
    """Lock the account row for this transaction.

    SQLite has one writer at a time anyway.
    """
    # FOR NO KEY UPDATE. The check of a foreign key to the account would wait for FOR UPDATE: a worker that
    # holds the row of its run and adds rows, and a request that holds the account and waits for the run,
    # would deadlock.
    connection.execute(select(accounts.c.id).filter_by(id=account_id).with_for_update(key_share=True))


def settings(connection: Connection, account_id: str) -> dict[str, Any]:
    """Return the settings of an account in their API form."""
    known: dict[str, Any] = connection.scalars(select(accounts.c.settings).filter_by(id=account_id)).one()
    return known


def general(connection: Connection, account_id: str) -> dict[str, str]:
    """Return the general settings of an account, which describe the organization."""
    general: dict[str, str] = settings(connection, account_id)["general"]
    return general


def save_settings(connection: Connection, account_id: str, value: Mapping[str, Any]) -> None:
    """Store changed settings; the organization's name is also the account's."""
    values: dict[str, object] = {"settings": value}
    if value["general"]["name"]:
        values["name"] = value["general"]["name"]
    before = settings(connection, account_id)["general"].get("excludedDataAndTopics")
    if before != value["general"].get("excludedDataAndTopics"):
        changes.note_all_insights(connection, account_id)
    connection.execute(update(accounts).filter_by(id=account_id).values(**values))


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


def add_usage(connection: Connection, account_id: str, kind: Kind, amount: int, *, now: int) -> int:
    """Add to the usage of the current period and return the new total."""
    start, _ = clock.billing_period(now)
    values = {"account_id": account_id, "period_start": start, "kind": kind, "used": amount}
    return int(connection.execute(_counting(connection.dialect.name), values).scalar_one())


def used_in_period(connection: Connection, account_id: str, kind: Kind, *, now: int) -> int:
    """Return the usage of one kind in the current period."""
    start, _ = clock.billing_period(now)
    value = connection.scalar(
        select(usage_counters.c.used).filter_by(account_id=account_id, period_start=start, kind=kind)
    )
    return int(value or 0)


def token_limit_reached(connection: Connection, account_id: str, *, now: int) -> int | None:
    """Return the monthly token limit of an account that has used it up; ``None`` if it may use more."""
    limit = plan_of(connection, account_id).tokens_per_month
    if limit is None or used_in_period(connection, account_id, "tokens", now=now) < limit:
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
        spent = used_in_period(connection, caller.account_id, "tokens", now=now)
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
