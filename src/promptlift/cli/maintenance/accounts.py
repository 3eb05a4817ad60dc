"""``promptlift accounts``: create, list and change the accounts of a service."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from promptlift.cli.maintenance.keys import minute, settings_of, write_table
from promptlift.service.administration import accounts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from promptlift.schema.limits import PlanName
    from promptlift.service.administration.accounts import AccountInfo


def create(
    name: str,
    email: str,
    *,
    plan: PlanName,
    limits: Mapping[str, int],
    data: Path | None,
    database: str | None,
) -> None:
    """Create an account and print its id.

    Parameters
    ----------
    name, email
        Name of the organization, and where to reach it.
    plan, limits
        Plan, and limits in place of those of the plan.
    data, database
        Which service.
    """
    made = accounts.create_account(
        settings_of(data, database), name=name, email=email, plan=plan, limits=limits
    )
    sys.stdout.write(f"{made}\n")
    sys.stderr.write(f"Create a key for it: promptlift keys create --account {made}\n")


def show(*, data: Path | None, database: str | None) -> None:
    """Print one line for each account.

    Parameters
    ----------
    data, database
        Which service.
    """
    known = accounts.list_accounts(settings_of(data, database))
    if not known:
        sys.stdout.write("There are no accounts yet. `promptlift accounts create` creates one.\n")
        return
    _write(known)


def change(
    account: str,
    *,
    name: str | None,
    email: str | None,
    plan: PlanName | None,
    limits: Mapping[str, int | None],
    data: Path | None,
    database: str | None,
) -> None:
    """Change an account and print it.

    Parameters
    ----------
    account
        Id, e-mail address or name of the account.
    name, email, plan, limits
        What to change; a limit of ``None`` is that of the plan again.
    data, database
        Which service.

    Raises
    ------
    ConfigError
        No account is meant, or several are, or a value cannot be used.
    """
    changed = accounts.change_account(
        settings_of(data, database), account, name=name, email=email, plan=plan, limits=limits
    )
    _write([changed])


def _write(known: list[AccountInfo]) -> None:
    head = ("id", "name", "email", "plan", "prompts", "optimizations", "conversations", "tokens", "requests")
    rows = [
        (
            account.id,
            account.name,
            account.email,
            account.limits.name,
            f"{account.prompts} of {_limit(account.limits.prompts)}",
            f"{_limit(account.limits.optimizations_per_month)} a month",
            f"{_limit(account.limits.conversations_per_month)} a month",
            f"{_limit(account.limits.tokens_per_month)} a month",
            f"{_limit(account.limits.requests_per_minute)} a minute",
            str(account.keys),
            minute(account.created_at),
        )
        for account in known
    ]
    write_table([(*head, "keys", "created"), *rows])


def _limit(value: int | None) -> str:
    return "unlimited" if value is None else str(value)
