"""Prompts, under both naming schemes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from promptlift.schema import limits
from promptlift.schema.insights import RegenerateAnswer
from promptlift.schema.naming import SCHEMES, Scheme
from promptlift.schema.pages import Done, Page
from promptlift.schema.prompts import (
    PROMPT_STATUSES,
    AgentInsightsView,
    Prompt,
    PromptChange,
    PromptCreate,
    PromptInsightsView,
    PromptStatusView,
    PromptUpdate,
    StepFailures,
)
from promptlift.service.actions import insights, prompt_views, prompts
from promptlift.service.routes import endpoint
from promptlift.service.routes.http import Query, answer, caller_of, path_id, read_body
from promptlift.service.store import prompts as prompt_rows

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.context import AppContext

_CREATED = ("id", "name", "content", "contentKnown", "llmModel", "status", "createdAt", "updatedAt")
_UPDATED = ("id", "name", "content", "updatedAt")
_LISTED = (
    *("id", "name", "content", "contentKnown", "llmModel", "description", "tags", "status"),
    *("createdAt", "updatedAt"),
)

_LIMIT = endpoint.parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": limits.LIST_LIMIT_MAX}, "Items of a page"
)
_OFFSET = endpoint.parameter("offset", {"type": "integer", "minimum": 0}, "Items before the page")


def add_to(endpoints: endpoint.Endpoints, context: AppContext) -> None:
    """Add the endpoints of both schemes."""
    for scheme in SCHEMES.values():
        _Prompts(context, scheme).add_to(endpoints)


class _Prompts:
    """Endpoints of one scheme."""

    def __init__(self, context: AppContext, scheme: Scheme) -> None:
        self._context = context
        self._database = context.database
        self._scheme = scheme

    def add_to(self, endpoints: endpoint.Endpoints) -> None:
        root = f"/{self._scheme.segment}"
        self._add_resource(endpoints, root, f"{root}/{{id}}")
        self._add_views(endpoints, f"{root}/{{id}}")

    def _add_resource(self, endpoints: endpoint.Endpoints, root: str, one: str) -> None:
        noun, add = self._scheme.name, endpoint.add
        listing = (
            _LIMIT,
            _OFFSET,
            endpoint.parameter("tags", {"type": "string"}, "Comma-separated; one of them is enough"),
            endpoint.parameter(
                "status", {"type": "string", "enum": list(PROMPT_STATUSES)}, "Only this status"
            ),
        )
        add(
            endpoints,
            "GET",
            root,
            self.list,
            answer=Page[Prompt],
            query=listing,
            summary=f"List {noun}s",
            operation=f"list_{noun}s",
        )
        add(
            endpoints,
            "POST",
            root,
            self.create,
            answer=Prompt,
            status=201,
            body=PromptCreate,
            errors=("LIMIT_EXCEEDED",),
            summary=f"Create a {noun}",
            operation=f"create_{noun}",
        )
        add(endpoints, "GET", one, self.get, answer=Prompt, summary=f"Get a {noun}", operation=f"get_{noun}")
        add(
            endpoints,
            "PATCH",
            one,
            self.update,
            answer=PromptChange,
            body=PromptUpdate,
            errors=("LIMIT_EXCEEDED",),
            summary=f"Change a {noun}",
            operation=f"update_{noun}",
        )
        add(
            endpoints,
            "DELETE",
            one,
            self.delete,
            answer=Done,
            summary=f"Delete a {noun}",
            operation=f"delete_{noun}",
        )

    def _add_views(self, endpoints: endpoint.Endpoints, one: str) -> None:
        noun, add = self._scheme.name, endpoint.add
        days = (
            endpoint.parameter(
                "days", {"type": "string", "enum": list(limits.INSIGHTS_DAYS)}, "Days to cover"
            ),
        )
        add(
            endpoints,
            "GET",
            f"{one}/status",
            self.status,
            answer=PromptStatusView,
            summary=f"Status of a {noun}",
            operation=f"get_{noun}_status",
        )
        add(
            endpoints,
            "GET",
            f"{one}/insights",
            self.insights,
            answer=AgentInsightsView if noun == "agent" else PromptInsightsView,
            query=days,
            summary=f"Insights of a {noun}",
            operation=f"get_{noun}_insights",
        )
        add(
            endpoints,
            "POST",
            f"{one}/insights/regenerate",
            self.regenerate,
            answer=RegenerateAnswer,
            summary=f"Judge all conversations of a {noun} again",
            operation=f"regenerate_{noun}_insights",
        )
        add(
            endpoints,
            "GET",
            f"{one}/step-failures",
            self.step_failures,
            answer=StepFailures,
            summary=f"Failing steps of a {noun}",
            operation=f"get_{noun}_step_failures",
        )

    async def list(self, request: Request) -> Response:
        query = Query(request)
        limit, offset = query.page(limits.PROMPTS_LIMIT_DEFAULT)
        status = query.choice("status", PROMPT_STATUSES)
        tags = query.words("tags", limits.TAGS)
        query.check()
        account_id = caller_of(request).account_id

        def read() -> dict[str, object]:
            with self._database.read() as connection:
                rows, total = prompt_rows.page(
                    connection, account_id, tags=tags, status=status, limit=limit, offset=offset
                )
            return {
                "data": [prompts.wire(row, _LISTED) for row in rows],
                "pagination": {"total": total, "limit": limit, "offset": offset},
            }

        return answer(await run_in_threadpool(read))

    async def create(self, request: Request) -> Response:
        body = await read_body(request, PromptCreate)
        await self._context.check_model(body.llm_model)
        row = await run_in_threadpool(prompts.create, self._database, caller_of(request), body)
        return answer(prompts.wire(row, _CREATED), 201)

    async def get(self, request: Request) -> Response:
        row = await run_in_threadpool(
            prompts.get, self._database, caller_of(request), self._scheme, path_id(request)
        )
        return answer(prompts.wire(row))

    async def update(self, request: Request) -> Response:
        body = await read_body(request, PromptUpdate)
        if body.llm_model is not None:
            await self._context.check_model(body.llm_model)
        caller, prompt_id = caller_of(request), path_id(request)
        row = await run_in_threadpool(
            lambda: prompts.update(self._database, caller, self._scheme, prompt_id, body=body)
        )
        return answer(prompts.wire(row, _UPDATED))

    async def delete(self, request: Request) -> Response:
        await run_in_threadpool(
            prompts.delete, self._database, caller_of(request), self._scheme, path_id(request)
        )
        return answer({"success": True, "message": f"{self._scheme.noun} deleted"})

    async def status(self, request: Request) -> Response:
        row = await run_in_threadpool(
            prompts.get, self._database, caller_of(request), self._scheme, path_id(request)
        )
        waits_because = self._context.jobs.waits_because
        return answer(
            await run_in_threadpool(
                lambda: prompt_views.status_view(self._database, row, waits_because=waits_because)
            )
        )

    async def insights(self, request: Request) -> Response:
        query = Query(request)
        days = (
            query.choice("days", limits.INSIGHTS_DAYS, limits.INSIGHTS_DAYS_DEFAULT)
            or limits.INSIGHTS_DAYS_DEFAULT
        )
        query.check()
        row = await run_in_threadpool(
            prompts.get, self._database, caller_of(request), self._scheme, path_id(request)
        )
        if self._scheme.name == "agent":
            return answer(
                await run_in_threadpool(prompt_views.agent_insights_view, self._database, row, days)
            )
        view = await run_in_threadpool(
            lambda: prompt_views.insights_view(self._database, row, days, link=self._scheme.link)
        )
        return answer(view)

    async def regenerate(self, request: Request) -> Response:
        row = await run_in_threadpool(
            prompts.get, self._database, caller_of(request), self._scheme, path_id(request)
        )
        count = await run_in_threadpool(
            lambda: insights.ask_again(self._context, row.account_id, prompt_id=row.id)
        )
        message = f"{count} conversations will be judged again"
        return answer({"success": True, "message": message, "queued": count})

    async def step_failures(self, request: Request) -> Response:
        row = await run_in_threadpool(
            prompts.get, self._database, caller_of(request), self._scheme, path_id(request)
        )
        view = await run_in_threadpool(
            lambda: prompt_views.step_failures(self._database, row, link=self._scheme.link)
        )
        return answer(view)
