"""The account, its usage and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from promptlift.schema.account import Account, Usage
from promptlift.schema.limits import PLANS
from promptlift.schema.settings import Settings, SettingsAnswer, SettingsChange
from promptlift.service import clock
from promptlift.service.actions.settings import merge
from promptlift.service.routes import endpoint
from promptlift.service.routes.http import answer, caller_of, read_body
from promptlift.service.store import accounts, optimizations, usage

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.context import AppContext
    from promptlift.service.store.accounts import Caller


def add_to(endpoints: endpoint.Endpoints, context: AppContext) -> None:
    """Add the endpoints."""
    _Account(context).add_to(endpoints)


class _Account:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database

    def add_to(self, endpoints: endpoint.Endpoints) -> None:
        add = endpoint.add
        add(
            endpoints,
            "GET",
            "/account",
            self.account,
            answer=Account,
            summary="The account",
            operation="get_account",
        )
        add(
            endpoints,
            "GET",
            "/usage",
            self.usage,
            answer=Usage,
            summary="Usage of the billing period",
            operation="get_usage",
        )
        add(
            endpoints,
            "GET",
            "/settings",
            self.settings,
            answer=Settings,
            summary="All settings",
            operation="get_settings",
        )
        add(
            endpoints,
            "PATCH",
            "/settings",
            self.change,
            answer=SettingsAnswer,
            body=SettingsChange,
            summary="Change settings",
            operation="update_settings",
        )

    async def account(self, request: Request) -> Response:
        return answer(await run_in_threadpool(self._account_view, caller_of(request)))

    async def usage(self, request: Request) -> Response:
        return answer(await run_in_threadpool(self._usage_view, caller_of(request)))

    async def settings(self, request: Request) -> Response:
        return answer(await run_in_threadpool(self._settings, caller_of(request)))

    async def change(self, request: Request) -> Response:
        body = await read_body(request, SettingsChange)
        merged = await run_in_threadpool(self._change, caller_of(request), body.to_wire())
        return answer({"success": True, "settings": merged})

    def _account_view(self, caller: Caller) -> dict[str, Any]:
        with self._database.read() as connection:
            row = accounts.get(connection, caller.account_id)
        plan = PLANS[caller.plan]
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

    def _usage_view(self, caller: Caller) -> dict[str, Any]:
        now = clock.now()
        start, end = clock.billing_period(now)
        plan, account_id = PLANS[caller.plan], caller.account_id
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

    def _settings(self, caller: Caller) -> dict[str, Any]:
        with self._database.read() as connection:
            return accounts.settings(connection, caller.account_id)

    def _change(self, caller: Caller, change: dict[str, Any]) -> dict[str, Any]:
        with self._database.write() as connection:
            accounts.lock(connection, caller.account_id)
            merged = merge(accounts.settings(connection, caller.account_id), change)
            accounts.save_settings(connection, caller.account_id, merged)
        return merged
