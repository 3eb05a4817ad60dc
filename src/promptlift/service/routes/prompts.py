"""Prompts, under both naming schemes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints
from promptlift.service.actions import insights, prompt_views, prompts
from promptlift.service.store import prompts as prompt_rows

if TYPE_CHECKING:
    from promptlift.schema.prompts import PromptCreate, PromptUpdate
    from promptlift.schema.queries import InsightsQuery, PromptsQuery
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions, ApiRequest
    from promptlift.service.store.tables import AnyRow

_CREATED = ("id", "name", "content", "contentKnown", "llmModel", "status", "createdAt", "updatedAt")
_UPDATED = ("id", "name", "content", "updatedAt")
_LISTED = (
    *("id", "name", "content", "contentKnown", "llmModel", "description", "tags", "status"),
    *("createdAt", "updatedAt"),
)


def actions(context: AppContext) -> Actions:
    """Return the function of every endpoint."""
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

    def list(self, asked: ApiRequest[None, PromptsQuery]) -> dict[str, Any]:
        query = asked.query
        with self._database.read() as connection:
            rows, total = prompt_rows.page(
                connection,
                asked.caller.account_id,
                tags=query.tags,
                status=query.status,
                limit=query.limit,
                offset=query.offset,
            )
        return {
            "data": [prompts.wire(row, _LISTED) for row in rows],
            "pagination": {"total": total, "limit": query.limit, "offset": query.offset},
        }

    async def create(self, asked: ApiRequest[PromptCreate, None]) -> dict[str, Any]:
        await self._context.check_model(asked.body.llm_model)
        row = await run_in_threadpool(prompts.create, self._database, asked.caller, asked.body)
        return prompts.wire(row, _CREATED)

    def get(self, asked: ApiRequest[None, None]) -> dict[str, Any]:
        return prompts.wire(self._row(asked))

    async def update(self, asked: ApiRequest[PromptUpdate, None]) -> dict[str, Any]:
        body = asked.body
        if body.llm_model is not None:
            await self._context.check_model(body.llm_model)
        row = await run_in_threadpool(
            lambda: prompts.update(self._database, asked.caller, asked.scheme, asked.id, body=body)
        )
        return prompts.wire(row, _UPDATED)

    def delete(self, asked: ApiRequest[None, None]) -> dict[str, Any]:
        prompts.delete(self._database, asked.caller, asked.scheme, asked.id)
        return {"success": True, "message": f"{asked.scheme.noun} deleted"}

    def status(self, asked: ApiRequest[None, None]) -> dict[str, Any]:
        row, waits_because = self._row(asked), self._context.jobs.waits_because
        return prompt_views.status_view(self._database, row, waits_because=waits_because)

    def insights(self, asked: ApiRequest[None, InsightsQuery]) -> dict[str, Any]:
        row, days = self._row(asked), asked.query.days
        return prompt_views.insights_view(self._database, row, days, link=asked.scheme.link)

    def agent_insights(self, asked: ApiRequest[None, InsightsQuery]) -> dict[str, Any]:
        return prompt_views.agent_insights_view(self._database, self._row(asked), asked.query.days)

    def regenerate(self, asked: ApiRequest[None, None]) -> dict[str, Any]:
        row = self._row(asked)
        count = insights.ask_again(self._context, row.account_id, prompt_id=row.id)
        message = f"{count} conversations will be judged again"
        return {"success": True, "message": message, "queued": count}

    def step_failures(self, asked: ApiRequest[None, None]) -> dict[str, Any]:
        return prompt_views.step_failures(self._database, self._row(asked), link=asked.scheme.link)

    def _row(self, asked: ApiRequest[Any, Any]) -> AnyRow:
        return prompts.get(self._database, asked.caller, asked.scheme, asked.id)
