"""Prompts, under both naming schemes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints
from promptlift.service.actions import conversations, prompts
from promptlift.service.actions.views.prompt_insights import agent_insights_view, insights_view
from promptlift.service.actions.views.prompt_status import status_view
from promptlift.service.actions.views.steps import step_failures

if TYPE_CHECKING:
    from promptlift.schema.prompts import PromptCreate, PromptUpdate
    from promptlift.schema.queries import InsightsQuery, PromptsQuery
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions
    from promptlift.service.store.tables import AnyRow

_CREATED = ("id", "name", "content", "contentKnown", "llmModel", "status", "createdAt", "updatedAt")
_UPDATED = ("id", "name", "content", "updatedAt")


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Prompts(context)
    return {
        endpoints.PROMPTS_LIST: room.list,
        endpoints.PROMPTS_CREATE: room.create,
        endpoints.PROMPTS_GET: room.get,
        endpoints.PROMPTS_UPDATE: room.update,
        endpoints.PROMPTS_DELETE: room.delete,
        endpoints.PROMPTS_STATUS: room.status,
        endpoints.PROMPTS_INSIGHTS: room.insights,
        endpoints.AGENTS_INSIGHTS: room.agent_insights,
        endpoints.PROMPTS_REGENERATE_INSIGHTS: room.regenerate,
        endpoints.PROMPTS_STEP_FAILURES: room.step_failures,
    }


class _Prompts:
    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._database = context.database

    def list(self, request: Call[None, PromptsQuery]) -> dict[str, Any]:
        return prompts.page(self._database, request.caller, request.query)

    async def create(self, request: Call[PromptCreate, None]) -> dict[str, Any]:
        await self._context.check_model(request.body.llm_model)
        row = await run_in_threadpool(prompts.create, self._database, request.caller, request.body)
        return prompts.wire(row, _CREATED)

    def get(self, request: Call[None, None]) -> dict[str, Any]:
        return prompts.wire(self._row(request))

    async def update(self, request: Call[PromptUpdate, None]) -> dict[str, Any]:
        body = request.body
        if body.llm_model is not None:
            await self._context.check_model(body.llm_model)
        row = await run_in_threadpool(
            lambda: prompts.update(self._database, request.caller, request.scheme, request.id, body=body)
        )
        return prompts.wire(row, _UPDATED)

    def delete(self, request: Call[None, None]) -> dict[str, Any]:
        prompts.delete(self._database, request.caller, request.scheme, request.id)
        return {"success": True, "message": f"{request.scheme.noun} deleted"}

    def status(self, request: Call[None, None]) -> dict[str, Any]:
        row, waits_because = self._row(request), self._context.jobs.waits_because
        return status_view(self._database, row, waits_because=waits_because)

    def insights(self, request: Call[None, InsightsQuery]) -> dict[str, Any]:
        row, days = self._row(request), request.query.days
        return insights_view(self._database, row, days, link=request.scheme.link)

    def agent_insights(self, request: Call[None, InsightsQuery]) -> dict[str, Any]:
        return agent_insights_view(self._database, self._row(request), request.query.days)

    def regenerate(self, request: Call[None, None]) -> dict[str, Any]:
        row = self._row(request)
        count = conversations.ask_again(self._context, row.account_id, prompt_id=row.id)
        message = f"{count} conversations will be judged again"
        return {"success": True, "message": message, "queued": count}

    def step_failures(self, request: Call[None, None]) -> dict[str, Any]:
        return step_failures(self._database, self._row(request), link=request.scheme.link)

    def _row(self, request: Call[Any, Any]) -> AnyRow:
        return prompts.get(self._database, request.caller, request.scheme, request.id)
