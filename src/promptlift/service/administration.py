"""Administration of the service, as the command line does it: accounts, API keys, deletion of old data, moving to another database."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, cast

from promptlift.errors import ConfigError
from promptlift.schema.limits import LIMITED_IN_EVERY_PLAN, NAME_CHARS, Plan, plan_with
from promptlift.schema.model import not_blank, to_wire_time
from promptlift.service import clock
from promptlift.service.actions.access import KEY_MEMORY_SECONDS
from promptlift.service.identifiers import new_key, shown_prefix
from promptlift.service.server import first_account
from promptlift.service.settings import DEFAULT_PLAN
from promptlift.service.store import accounts, conversation_updates, conversations, judging, transfer
from promptlift.service.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy import Connection

    from promptlift.schema.limits import PlanName
    from promptlift.service.settings import ServiceSettings
    from promptlift.service.store.tables.accounts import AccountRow
    from promptlift.service.store.transfer import TableContent

_LIMITS = tuple(field.name for field in fields(Plan) if field.name != "name")
_MOST = 2**53


@dataclass(frozen=True)
class AccountInfo:
    """An account as shown in lists.

    Attributes
    ----------
    limits
        Its limits, from its plan or its own.
    prompts
        Active prompts.
    keys
        Valid API keys.
    """

    id: str
    name: str
    email: str
    limits: Plan
    prompts: int
    keys: int
    created_at: str | None


def create_account(
    settings: ServiceSettings,
    *,
    name: str,
    email: str,
    plan: PlanName | None = None,
    limits: Mapping[str, int] | None = None,
) -> str:
    """Create an account and return its id.

    Parameters
    ----------
    limits
        Limits that replace those of the plan, by the names of `Plan`.

    Raises
    ------
    ConfigError
        A value is invalid; nothing is created then.
    """
    wanted = plan or settings.plan or DEFAULT_PLAN
    _check_text("name", name)
    _check_email(email)
    _check_limits(wanted, limits or {})
    with opened(settings) as database, database.write() as connection:
        return accounts.create(connection, name=name, email=email, plan=wanted, custom_limits=limits)


def list_accounts(settings: ServiceSettings) -> list[AccountInfo]:
    """Return all accounts, oldest first."""
    with opened(settings) as database, database.read() as connection:
        return [_info(connection, row) for row in accounts.all_of(connection)]


def change_account(
    settings: ServiceSettings,
    account: str,
    *,
    name: str | None = None,
    email: str | None = None,
    plan: PlanName | None = None,
    limits: Mapping[str, int | None] | None = None,
) -> AccountInfo:
    """Change the given values of an account and return the changed account.

    Parameters
    ----------
    account
        Id, e-mail address or name of the account.
    limits
        Limits that replace those of the plan; ``None`` restores the plan's limit.

    Raises
    ------
    ConfigError
        No account or several match, or a value is invalid; nothing is changed then.
    """
    changes: dict[str, object] = {}
    if name is not None:
        changes["name"] = _check_text("name", name)
    if email is not None:
        changes["email"] = _check_email(email)
    if plan is not None:
        changes["plan"] = plan
    with opened(settings) as database, database.write() as connection:
        row = find_account(connection, account)
        if limits:
            _check_limits(
                plan or row.plan, {key: value for key, value in limits.items() if value is not None}
            )
            known = {**row.limits, **limits}
            changes["limits"] = {key: value for key, value in known.items() if value is not None}
        if not changes:
            raise ConfigError("Nothing to change: give a new name, --email, --plan or a limit.")
        accounts.change(connection, row.id, changes)
        if "limits" in changes:
            # Work that waits for next month because the tokens are used up may continue now.
            judging.make_account_due(connection, row.id, now=clock.now())
        return _info(connection, accounts.get(connection, row.id))


def find_account(connection: Connection, name: str) -> AccountRow:
    """Return the one account with this id, e-mail address or name.

    Raises
    ------
    ConfigError
        No account or several match.
    """
    meant = accounts.named(connection, name)
    if not meant:
        raise ConfigError(
            f"No account has the id, e-mail address or name {name!r}: `promptlift accounts list` shows them."
        )
    if len(meant) > 1:
        lines = [f"  {row.id}  {row.name}  {row.email}" for row in meant]
        raise ConfigError(
            f"{len(meant)} accounts are called {name!r}. Nothing was done; pass the id of one instead:\n"
            + "\n".join(lines)
        )
    return meant[0]


@contextmanager
def opened(settings: ServiceSettings) -> Iterator[Database]:
    """Open the database of a service, which may be running; create it when there is none."""
    if settings.database_url is None:
        settings.data.expanduser().mkdir(mode=0o700, parents=True, exist_ok=True)
    with Database(settings.resolved_database_url) as database:
        database.migrate()
        yield database


def _info(connection: Connection, row: AccountRow) -> AccountInfo:
    return AccountInfo(
        id=row.id,
        name=row.name,
        email=row.email,
        limits=plan_with(cast("PlanName", row.plan), row.limits),
        prompts=accounts.active_prompts(connection, row.id),
        keys=sum(key.revoked_at is None for key in accounts.keys(connection, row.id)),
        created_at=to_wire_time(row.created_at),
    )


def _check_text(what: str, value: str) -> str:
    try:
        not_blank(value)
    except ValueError as error:
        raise ConfigError(f"The {what} of an account {error}.") from None
    if len(value) > NAME_CHARS:
        raise ConfigError(f"The {what} of an account must have at most {NAME_CHARS} characters.")
    return value


def _check_email(value: str) -> str:
    _check_text("e-mail address", value)
    user, at, host = value.rpartition("@")
    if not (user and at and host) or "@" in user or any(sign.isspace() for sign in value):
        raise ConfigError(f"{value!r} is not an e-mail address: give an address such as ada@example.com.")
    return value


def _check_limits(plan: str, limits: Mapping[str, int]) -> None:
    for name, value in limits.items():
        if name not in _LIMITS:
            raise ConfigError(f"There is no limit {name!r}: choose some of {', '.join(_LIMITS)}.")
        if plan != "enterprise" and name not in LIMITED_IN_EVERY_PLAN:
            raise ConfigError(
                f"The limit of {name.replace('_', ' ')} is that of the plan {plan}. "
                "Only an enterprise account can have its own: add --plan enterprise."
            )
        least = 1 if name == "requests_per_minute" else 0
        if not least <= value <= _MOST:
            raise ConfigError(f"The limit of {name.replace('_', ' ')} must be at least {least}.")


@dataclass(frozen=True)
class NewKey:
    """A new key; it cannot be shown again."""

    key: str = field(repr=False)
    prefix: str


@dataclass(frozen=True)
class KeyInfo:
    """A key as shown in lists. Times are ISO 8601 UTC or ``None``."""

    id: str
    prefix: str
    name: str
    account: str
    created_at: str | None
    last_used_at: str | None
    revoked_at: str | None


def create_key(settings: ServiceSettings, *, name: str, account: str | None = None) -> NewKey:
    """Create a key for an account, by default the first, which is created in a new database.

    Raises
    ------
    ConfigError
        No account or several match.
    """
    with opened(settings) as database:
        key = new_key()
        with database.write() as connection:
            if account is not None:
                account_id = find_account(connection, account).id
            else:
                # This command does not change the plan of an existing account.
                account_id = accounts.first(connection) or first_account(connection, settings)
            accounts.add_key(connection, account_id, key, name=name)
    return NewKey(key, shown_prefix(key))


def list_keys(settings: ServiceSettings, *, account: str | None = None) -> list[KeyInfo]:
    """Return the keys of one or all accounts, oldest first.

    Raises
    ------
    ConfigError
        No account or several match.
    """
    with opened(settings) as database, database.read() as connection:
        account_id = None if account is None else find_account(connection, account).id
        return [
            KeyInfo(
                id=row.id,
                prefix=row.prefix,
                name=row.name,
                account=row.account_id,
                created_at=clock.iso(row.created_at),
                last_used_at=clock.iso(row.last_used_at),
                revoked_at=clock.iso(row.revoked_at),
            )
            for row in accounts.keys(connection, account_id)
        ]


def revoke_key(settings: ServiceSettings, name: str) -> str:
    """Revoke the valid key with this prefix, id or full text, and return its prefix.

    When this returns, no process of the service accepts it any more.

    Raises
    ------
    ConfigError
        No valid key matches, or several do; nothing is revoked then.
    """
    with opened(settings) as database, database.write() as connection:
        meant = accounts.valid_keys_named(connection, name)
        if not meant:
            # The argument may be the full text of a key, so it is not repeated.
            raise ConfigError("No valid key has this prefix or id: `promptlift keys list` shows them.")
        if len(meant) > 1:
            lines = [f"  {row.id}  {row.name}  made {clock.iso(row.created_at)}" for row in meant]
            raise ConfigError(
                f"{len(meant)} valid keys begin with {name}. Nothing was revoked; pass the id of one instead:\n"
                + "\n".join(lines)
            )
        accounts.revoke(connection, meant[0].id)
    time.sleep(KEY_MEMORY_SECONDS)
    return str(meant[0].prefix)


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """The amount deleted, and the size of the database in bytes before and after.

    Attributes
    ----------
    transcripts
        Conversations that lost their transcripts, not counting deleted conversations.
    conversations
        Conversations that were deleted, with their insights.
    """

    transcripts: int
    conversations: int
    bytes_before: int
    bytes_after: int


def vacuum(
    settings: ServiceSettings, *, keep_days: int | None = None, keep_insights_days: int | None = None
) -> Vacuumed:
    """Delete data older than its retention period, and free the space of everything deleted.

    The service may run meanwhile.

    Parameters
    ----------
    keep_days
        Days for which transcripts are kept, from the start of a conversation; ``None`` keeps them all.
    keep_insights_days
        Days for which the rest of a conversation and its insights are kept; ``None`` keeps them all.

    Raises
    ------
    ConfigError
        Insights would be deleted before their transcripts.
    """
    if keep_insights_days is not None and (keep_days is None or keep_insights_days < keep_days):
        raise ConfigError(
            "--keep-insights is the longer time: give --keep too, and no more days than --keep-insights"
        )
    now = clock.now()
    with opened(settings) as database:
        before = database.size()
        # unspecified: which time defines the age of a conversation. Its start, as for every trend.
        deleted = transcripts = 0
        if keep_insights_days is not None:
            end = now - keep_insights_days * clock.DAY
            deleted = _in_batches(database, conversation_updates.delete_conversations, before=end)
        if keep_days is not None:
            end = now - keep_days * clock.DAY
            transcripts = _in_batches(database, conversation_updates.delete_transcripts, before=end)
        with database.write() as connection:
            conversations.drop_expired_keys(connection, now=now)
        database.vacuum()
        return Vacuumed(transcripts, deleted, before, database.size())


def _in_batches(database: Database, delete: Callable[..., tuple[int, int | None]], *, before: int) -> int:
    """Delete batch after batch, each in a transaction of its own, and return how many were deleted."""
    total = 0
    at: int | None = 0
    while at is not None:
        with database.write() as connection:
            count, at = delete(connection, before=before, after_seq=at)
        total += count
    return total


def move(source_url: str, target_url: str, *, note: Callable[[TableContent], None]) -> None:
    """Copy a SQLite database into an empty PostgreSQL database, and read both to compare them.

    The source is locked for writing meanwhile and stays unchanged. Afterwards the target has everything, or
    nothing.

    Parameters
    ----------
    note
        Called for each table that is identical in both.

    Raises
    ------
    ConfigError
        The addresses are not of these kinds, or the target is not empty.
    ServiceStartError
        One of the databases cannot be used.
    """
    with Database(source_url) as source, Database(target_url) as target:
        if not source.is_sqlite or target.is_sqlite:
            raise ConfigError(
                "migrate copies from SQLite to PostgreSQL: --from sqlite:///FILE --to postgresql://HOST/NAME"
            )
        source.migrate()
        target.migrate()
        with source.write() as reading, target.write() as writing:
            if not transfer.is_empty(writing):
                raise ConfigError(
                    "The database to copy to has accounts already: create an empty one, and copy to that"
                )
            copied = list(transfer.copy_tables(reading, writing))
            for there, here in zip(copied, transfer.contents(writing), strict=True):
                if there != here:
                    raise ConfigError(
                        f"The copy of the table {there.table} differs ({here.rows} rows of {there.rows}), so nothing was "
                        "kept: copy again, and report it if that happens twice"
                    )
                note(there)
        target.vacuum()  # the planner has no statistics of the new rows yet
