"""What people think of variants, what they did, and undoing it. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from promptlift.schema import limits
from promptlift.schema.action_log import Action, UndoAnswer, UndoRequest
from promptlift.schema.pages import Page
from promptlift.schema.reviews import ReviewUpdate, VariantReview
from promptlift.service.actions import action_log, reviews
from promptlift.service.routes import endpoint
from promptlift.service.routes.http import Query, answer, caller_of, path_id, read_body

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.context import AppContext

_LISTING = (
    endpoint.parameter("promptId", {"type": "string"}, "Only of this prompt (agentId in the agent scheme)"),
    endpoint.parameter("agentId", {"type": "string"}, "The same in the agent scheme"),
    endpoint.parameter("optimizationId", {"type": "string"}, "Only of this optimization"),
    endpoint.parameter(
        "limit", {"type": "integer", "minimum": 1, "maximum": limits.LIST_LIMIT_MAX}, "Items of a page"
    ),
    endpoint.parameter("offset", {"type": "integer", "minimum": 0}, "Items before the page"),
)


def add_to(endpoints: endpoint.Endpoints, context: AppContext) -> None:
    """Add the endpoints."""
    _Reviews(context).add_to(endpoints)


class _Reviews:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database

    def add_to(self, endpoints: endpoint.Endpoints) -> None:
        add, review = endpoint.add, "/optimizations/{id}/review"
        add(
            endpoints,
            "GET",
            review,
            self.get,
            answer=Page[VariantReview],
            summary="What people think of the variants (beyond the specification)",
            operation="get_review",
        )
        add(
            endpoints,
            "PATCH",
            review,
            self.say,
            answer=VariantReview,
            body=ReviewUpdate,
            summary="Say what you think of a variant (beyond the specification)",
            operation="update_review",
        )
        add(
            endpoints,
            "GET",
            "/actions",
            self.list,
            answer=Page[Action],
            query=_LISTING,
            summary="What people did, newest first (beyond the specification)",
            operation="list_actions",
        )
        add(
            endpoints,
            "POST",
            "/actions/{id}/undo",
            self.undo,
            answer=UndoAnswer,
            body=UndoRequest,
            body_optional=True,
            errors=("INVALID_STATE",),
            summary="Bring back the text from before an action (beyond the specification)",
            operation="undo_action",
        )

    async def get(self, request: Request) -> Response:
        return answer(
            await run_in_threadpool(reviews.view, self._database, caller_of(request), path_id(request))
        )

    async def say(self, request: Request) -> Response:
        body = await read_body(request, ReviewUpdate)
        return answer(
            await run_in_threadpool(reviews.say, self._database, caller_of(request), path_id(request), body)
        )

    async def list(self, request: Request) -> Response:
        query = Query(request)
        limit, offset = query.page(limits.CONVERSATIONS_LIMIT_DEFAULT)
        prompt_id = query.text("promptId") or query.text("agentId")
        optimization_id = query.text("optimizationId")
        query.check()
        caller = caller_of(request)
        return answer(
            await run_in_threadpool(
                lambda: action_log.page(
                    self._database,
                    caller,
                    prompt_id=prompt_id,
                    optimization_id=optimization_id,
                    limit=limit,
                    offset=offset,
                )
            )
        )

    async def undo(self, request: Request) -> Response:
        body = await read_body(request, UndoRequest, optional=True)
        caller, action_id = caller_of(request), path_id(request)
        return answer(
            await run_in_threadpool(
                lambda: action_log.undo(self._database, caller, action_id, note=body.note)
            )
        )
