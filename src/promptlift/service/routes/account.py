"""The account, its usage and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import endpoints
from promptlift.schema.limits import PLANS
from promptlift.service import clock
from promptlift.service.actions.settings import merge
from promptlift.service.store import accounts, optimizations, usage

if TYPE_CHECKING:
    from promptlift.schema.settings import SettingsChange
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions, ApiRequest


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    account = _Account(context)
    return {
        endpoints.ACCOUNT_GET: account.get,
        endpoints.USAGE_GET: account.usage,
        endpoints.SETTINGS_GET: account.settings,
        endpoints.SETTINGS_UPDATE: account.update_settings,
    }


class _Account:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database

    def get(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        with self._database.read() as connection:
            row = accounts.get(connection, request.caller.account_id)
        plan = PLANS[request.caller.plan]
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
                },
            },
            "createdAt": clock.wire(row.created_at),
        }

    def usage(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        now = clock.now()
        start, end = clock.billing_period(now)
        plan, account_id = PLANS[request.caller.plan], request.caller.account_id
        with self._database.read() as connection:
            return {
                "period": {"start": clock.wire(start), "end": clock.wire(end)},
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

    def settings(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        with self._database.read() as connection:
            return accounts.settings(connection, request.caller.account_id)

    def update_settings(self, request: ApiRequest[SettingsChange, None]) -> dict[str, Any]:
        account_id = request.caller.account_id
        with self._database.write() as connection:
            accounts.lock(connection, account_id)
            merged = merge(accounts.settings(connection, account_id), request.body.to_wire())
            accounts.save_settings(connection, account_id, merged)
        return {"success": True, "settings": merged}
