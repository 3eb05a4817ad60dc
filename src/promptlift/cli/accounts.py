"""``promptlift accounts`` and ``promptlift keys``: the accounts of a service, each with its own keys and limits."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from promptlift.cli.options import Account, Data, Database, settings_of
from promptlift.cli.tables import write_table

if TYPE_CHECKING:
    from promptlift.service.administration import AccountInfo

__all__ = ["Plan", "accounts_app", "keys_app"]

keys_app = typer.Typer(help="Manage the API keys of a service.", no_args_is_help=True, rich_markup_mode=None)
accounts_app = typer.Typer(
    help="Manage the accounts of a service, each with its own keys and limits.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Plan(StrEnum):
    """The plans of an account."""

    FREE = "free"
    PRO = "pro"
    ENTERPRISE = "enterprise"


def _limit_option(name: str, what: str) -> Any:
    return typer.Option(name, metavar="N", help=f"Limit of {what}; `plan` for that of the plan.")


PromptsLimit = Annotated[str | None, _limit_option("--prompts", "active prompts (enterprise)")]
OptimizationsLimit = Annotated[
    str | None, _limit_option("--optimizations", "optimizations a month (enterprise)")
]
ConversationsLimit = Annotated[
    str | None, _limit_option("--conversations", "conversations a month (enterprise)")
]
RequestsLimit = Annotated[str | None, _limit_option("--requests", "requests a minute (enterprise)")]
TokensLimit = Annotated[str | None, _limit_option("--tokens", "LLM tokens a month")]


_LIMITS = (
    "prompts",
    "optimizations_per_month",
    "conversations_per_month",
    "requests_per_minute",
    "tokens_per_month",
)


def _limits(*given: str | None) -> dict[str, int | None]:
    """Read limits in the order of ``_LIMITS``: numbers, and ``plan`` for that of the plan."""
    read: dict[str, int | None] = {}
    for name, value in zip(_LIMITS, given, strict=True):
        if value is None:
            continue
        if value != "plan" and not (value.isascii() and value.isdecimal()):
            raise typer.BadParameter(
                f"must be a whole number or `plan`, not {value!r}", param_hint=f"--{name.partition('_')[0]}"
            )
        read[name] = None if value == "plan" else int(value)
    return read


@keys_app.command("create")
def create_key(
    *,
    name: Annotated[str, typer.Option(help="Purpose of the key.")] = "command line",
    account: Account = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Create an API key and print it. Only its hash is stored, so it cannot be shown again.

    Without --account, it belongs to the first account.
    """
    from promptlift.service import administration  # noqa: PLC0415

    made = administration.create_key(settings_of(data, database), name=name, account=account)
    sys.stdout.write(f"{made.key}\n")
    sys.stderr.write("Copy it now: only its hash is stored, and it is not shown again.\n")


@keys_app.command("list")
def list_keys(account: Account = None, data: Data = None, database: Database = None) -> None:
    """List the API keys of one or all accounts, with their prefixes and ids."""
    from promptlift.service import administration  # noqa: PLC0415

    known = administration.list_keys(settings_of(data, database), account=account)
    if not known:
        sys.stdout.write("There are no keys yet. `promptlift keys create` creates one.\n")
        return
    head = ("prefix", "id", "name", "account", "created", "last used", "state")
    rows = [
        (
            key.prefix,
            key.id,
            key.name,
            key.account,
            _minute(key.created_at),
            _minute(key.last_used_at),
            "revoked" if key.revoked_at else "valid",
        )
        for key in known
    ]
    write_table([head, *rows])


@keys_app.command("revoke")
def revoke_key(
    key: Annotated[str, typer.Argument(help="Prefix or id of the key, as shown by `keys list`.")],
    data: Data = None,
    database: Database = None,
) -> None:
    """Revoke an API key, immediately and permanently."""
    from promptlift.service import administration  # noqa: PLC0415

    sys.stdout.write(f"The key {administration.revoke_key(settings_of(data, database), key)} is revoked.\n")


@accounts_app.command("create")
def create_account(
    *,
    name: Annotated[str, typer.Argument(help="Name of the organization.")] = "My workspace",
    email: Annotated[str, typer.Option("--email", metavar="EMAIL", help="E-mail address of the account.")],
    plan: Annotated[Plan, typer.Option(help="Plan, which sets the limits.")] = Plan.ENTERPRISE,
    prompts: PromptsLimit = None,
    optimizations: OptimizationsLimit = None,
    conversations: ConversationsLimit = None,
    requests: RequestsLimit = None,
    tokens: TokensLimit = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Create an account and print its id. `keys create --account` creates a key for it."""
    from promptlift.service import administration  # noqa: PLC0415

    limits = _limits(prompts, optimizations, conversations, requests, tokens)
    own = {limit: value for limit, value in limits.items() if value is not None}
    made = administration.create_account(
        settings_of(data, database), name=name, email=email, plan=plan.value, limits=own
    )
    sys.stdout.write(f"{made}\n")
    sys.stderr.write(f"Create a key for it: promptlift keys create --account {made}\n")


@accounts_app.command("list")
def list_accounts(data: Data = None, database: Database = None) -> None:
    """List the accounts with their plans and limits."""
    from promptlift.service import administration  # noqa: PLC0415

    known = administration.list_accounts(settings_of(data, database))
    if known:
        _write(known)
    else:
        sys.stdout.write("There are no accounts yet. `promptlift accounts create` creates one.\n")


@accounts_app.command("rename")
def change_account(
    account: Annotated[str, typer.Argument(help="Id, e-mail address or name of the account.")],
    name: Annotated[str | None, typer.Argument(help="New name of the organization.")] = None,
    *,
    email: Annotated[str | None, typer.Option("--email", metavar="EMAIL", help="New e-mail address.")] = None,
    plan: Annotated[Plan | None, typer.Option(help="New plan.")] = None,
    prompts: PromptsLimit = None,
    optimizations: OptimizationsLimit = None,
    conversations: ConversationsLimit = None,
    requests: RequestsLimit = None,
    tokens: TokensLimit = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Change the name, e-mail address, plan or limits of an account, immediately, even while the service runs."""
    from promptlift.service import administration  # noqa: PLC0415

    limits = _limits(prompts, optimizations, conversations, requests, tokens)
    changed = administration.change_account(
        settings_of(data, database),
        account,
        name=name,
        email=email,
        plan=None if plan is None else plan.value,
        limits=limits,
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
            _minute(account.created_at),
        )
        for account in known
    ]
    write_table([(*head, "keys", "created"), *rows])


def _limit(value: int | None) -> str:
    return "unlimited" if value is None else str(value)


def _minute(time: str | None) -> str:
    return "never" if time is None else time[:16].replace("T", " ")
