"""Optimizations: asking, reading, stopping and applying."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from promptlift.schema import limits
from promptlift.schema.naming import LINKS, SCHEMES
from promptlift.schema.optimizations import (
    OPTIMIZATION_STATUSES,
    ApplyAnswer,
    ApplyRequest,
    Optimization,
    OptimizationCreate,
    StopAnswer,
    StopRequest,
    Variant,
)
from promptlift.schema.pages import Page
from promptlift.schema.simulations import Simulation
from promptlift.service.deployments import transitions
from promptlift.service.optimizations import requests
from promptlift.service.routes import endpoint
from promptlift.service.routes.http import Query, answer, caller_of, path_id, read_body

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.context import AppContext

_STAGES = ("screen", "confirm", "regression")


def add_to(endpoints: endpoint.Endpoints, context: AppContext) -> None:
    """Add the endpoints."""
    _Optimizations(context).add_to(endpoints)


class _Optimizations:
    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._database = context.database

    def add_to(self, endpoints: endpoint.Endpoints) -> None:
        root, one = "/optimizations", "/optimizations/{id}"
        self._add_resource(endpoints, root, one)
        self._add_actions(endpoints, one)

    def _add_resource(self, endpoints: endpoint.Endpoints, root: str, one: str) -> None:
        add, text = endpoint.add, {"type": "string"}
        page = (
            endpoint.parameter(
                "limit",
                {"type": "integer", "minimum": 1, "maximum": limits.LIST_LIMIT_MAX},
                "Items of a page",
            ),
            endpoint.parameter("offset", {"type": "integer", "minimum": 0}, "Items before the page"),
        )
        listing = (
            endpoint.parameter("promptId", text, "Only of this prompt (agentId in the agent scheme)"),
            endpoint.parameter("agentId", text, "The same in the agent scheme"),
            endpoint.parameter(
                "status", {"type": "string", "enum": list(OPTIMIZATION_STATUSES)}, "Only this status"
            ),
            *page,
        )
        simulated = (
            endpoint.parameter("variantId", text, "Only conversations with this variant"),
            endpoint.parameter("stage", {"type": "string", "enum": list(_STAGES)}, "Only of this stage"),
            endpoint.parameter("taskCompleted", {"type": "boolean"}, "Only with this outcome"),
            endpoint.parameter("includeContent", {"type": "boolean"}, "Whether items carry transcripts"),
            *page,
        )
        add(
            endpoints,
            "POST",
            root,
            self.create,
            answer=Optimization,
            status=201,
            body=OptimizationCreate,
            errors=("NOT_FOUND", "INVALID_STATE", "LIMIT_EXCEEDED"),
            summary="Start an optimization",
            operation="create_optimization",
        )
        add(
            endpoints,
            "GET",
            root,
            self.list,
            answer=Page[Optimization],
            query=listing,
            summary="List optimizations",
            operation="list_optimizations",
        )
        add(
            endpoints,
            "GET",
            one,
            self.get,
            answer=Optimization,
            summary="Get an optimization with its results",
            operation="get_optimization",
        )
        add(
            endpoints,
            "GET",
            f"{one}/variants",
            self.variants,
            answer=Page[Variant],
            summary="Variants of an optimization",
            operation="list_variants",
        )
        add(
            endpoints,
            "GET",
            f"{one}/simulations",
            self.simulations,
            answer=Page[Simulation],
            query=simulated,
            summary="Simulated conversations of an optimization (beyond the specification)",
            operation="list_simulations",
        )

    def _add_actions(self, endpoints: endpoint.Endpoints, one: str) -> None:
        endpoint.add(
            endpoints,
            "POST",
            f"{one}/apply",
            self.apply,
            answer=ApplyAnswer,
            body=ApplyRequest,
            body_optional=True,
            errors=("INVALID_STATE",),
            summary="Make a variant the live text of its prompt",
            operation="apply_optimization",
        )
        endpoint.add(
            endpoints,
            "POST",
            f"{one}/stop",
            self.stop,
            answer=StopAnswer,
            body=StopRequest,
            body_optional=True,
            errors=("INVALID_STATE",),
            summary="Stop an optimization",
            operation="stop_optimization",
        )

    async def create(self, request: Request) -> Response:
        body = await read_body(request, OptimizationCreate, either=LINKS)
        models = self._context.models
        made = await run_in_threadpool(
            lambda: requests.trigger(self._database, caller_of(request), body, rehearsal=models.rehearse)
        )
        self._context.optimizations.look()
        return answer(made, 201)

    async def list(self, request: Request) -> Response:
        query = Query(request)
        limit, offset = query.page(limits.OPTIMIZATIONS_LIMIT_DEFAULT)
        prompt_id = query.text("promptId") or query.text("agentId")
        status = query.choice("status", OPTIMIZATION_STATUSES)
        query.check()
        return answer(
            await run_in_threadpool(
                lambda: requests.page(
                    self._database,
                    caller_of(request),
                    prompt_id=prompt_id,
                    status=status,
                    limit=limit,
                    offset=offset,
                )
            )
        )

    async def get(self, request: Request) -> Response:
        return answer(
            await run_in_threadpool(requests.view, self._database, caller_of(request), path_id(request))
        )

    async def variants(self, request: Request) -> Response:
        return answer(
            await run_in_threadpool(requests.variants, self._database, caller_of(request), path_id(request))
        )

    async def simulations(self, request: Request) -> Response:
        query = Query(request)
        limit, offset = query.page(limits.CONVERSATIONS_LIMIT_DEFAULT)
        variant_id = query.text("variantId")
        stage = query.choice("stage", _STAGES)
        task_completed = query.flag("taskCompleted")
        content = query.flag("includeContent", default=False) or False
        query.check()
        return answer(
            await run_in_threadpool(
                lambda: requests.simulated(
                    self._database,
                    caller_of(request),
                    path_id(request),
                    variant_id=variant_id,
                    stage=stage,
                    task_completed=task_completed,
                    content=content,
                    limit=limit,
                    offset=offset,
                )
            )
        )

    async def apply(self, request: Request) -> Response:
        body = await read_body(request, ApplyRequest, optional=True)
        applied = await run_in_threadpool(
            lambda: transitions.apply(
                self._database,
                caller_of(request),
                SCHEMES["prompt"],
                path_id(request),
                body.variant_id,
                if_version_id=body.if_version_id,
                note=body.note,
            )
        )
        # unspecified: which link an answer carries when the request names no scheme. Both.
        return answer({**applied, "agentId": applied["promptId"]})

    async def stop(self, request: Request) -> Response:
        body = await read_body(request, StopRequest, optional=True)
        stopped = await run_in_threadpool(
            lambda: requests.stop(
                self._database, caller_of(request), path_id(request), body.reason, note=body.note
            )
        )
        self._context.optimizations.look()
        return answer(stopped)
