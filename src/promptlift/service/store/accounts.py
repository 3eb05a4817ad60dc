"""Accounts and their API keys."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import func, insert, or_, select, update

from promptlift.schema.limits import Plan, plan_with
from promptlift.schema.settings import Settings
from promptlift.service import clock
from promptlift.service.identifiers import key_hash, new_id, shown_prefix
from promptlift.service.store import changes
from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables import accounts, api_keys
from promptlift.service.store.tables.accounts import AccountRow, ApiKeyRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Select

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
        values["exclusions_at"] = changes.stamp(connection, [account_id])
    connection.execute(update(accounts).filter_by(id=account_id).values(**values))
