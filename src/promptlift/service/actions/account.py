"""The account and its usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service import clock
from promptlift.service.store import accounts, optimizations, usage

if TYPE_CHECKING:
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database


def view(database: Database, caller: Caller) -> dict[str, Any]:
    """Return the account with its plan."""
    with database.read() as connection:
        row = accounts.get(connection, caller.account_id)
    plan = caller.limits
    return {
        "id": row.id,
        "name": row.name,
        "email": row.email,
        "plan": {
            "name": plan.name,
            "limits": {
                "prompts": plan.prompts,
                "optimizationsPerMonth": plan.optimizations_per_month,
                "conversationsPerMonth": plan.conversations_per_month,
                # Beyond the specification: what else is limited, so that a client can keep its pace.
                "requestsPerMinute": plan.requests_per_minute,
                "tokensPerMonth": plan.tokens_per_month,
            },
        },
        "createdAt": clock.iso(row.created_at),
    }


def usage_view(database: Database, caller: Caller) -> dict[str, Any]:
    """Return what the account has used in the billing period, beside the limits of its plan."""
    now = clock.now()
    start, end = clock.billing_period(now)
    plan, account_id = caller.limits, caller.account_id
    with database.read() as connection:
        return {
            "period": {"start": clock.iso(start), "end": clock.iso(end)},
            "prompts": {"used": usage.active_prompts(connection, account_id), "limit": plan.prompts},
            "optimizations": {
                "used": usage.used(connection, account_id, "optimizations", now=now),
                "limit": plan.optimizations_per_month,
                "running": optimizations.running_count(connection, account_id),
            },
            "conversations": {
                "used": usage.used(connection, account_id, "conversations", now=now),
                "limit": plan.conversations_per_month,
            },
            "tokens": {
                "used": usage.used(connection, account_id, "tokens", now=now),
                "limit": plan.tokens_per_month,
            },
        }
