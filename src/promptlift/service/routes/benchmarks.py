"""Benchmarks and scenario sets: starting, reading, stopping, resuming, deleting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints
from promptlift.service.benchmarks import requests, scenario_sets
from promptlift.service.errors import ApiException, invalid

if TYPE_CHECKING:
    from promptlift.schema.benchmarks import BenchmarkCreate, BulkRequest
    from promptlift.schema.optimizations import StopRequest
    from promptlift.schema.queries import (
        BenchmarkConversationsQuery,
        BenchmarkQuery,
        BenchmarksQuery,
        PageQuery,
        ScenarioSetQuery,
    )
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Benchmarks(context)
    return {
        endpoints.BENCHMARKS_LIST: room.list,
        endpoints.BENCHMARKS_CREATE: room.create,
        endpoints.BENCHMARKS_BULK: room.bulk,
        endpoints.BENCHMARKS_GET: room.get,
        endpoints.BENCHMARKS_CONVERSATIONS: room.conversations,
        endpoints.BENCHMARKS_STOP: room.stop,
        endpoints.BENCHMARKS_RESUME: room.resume,
        endpoints.SCENARIO_SETS_LIST: room.sets,
        endpoints.SCENARIO_SETS_GET: room.scenario_set,
    }


class _Benchmarks:
    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._database = context.database

    def list(self, request: Call[None, BenchmarksQuery]) -> dict[str, Any]:
        query = request.query
        return requests.page(
            self._database, request.caller, status=query.status, limit=query.limit, offset=query.offset
        )

    async def create(self, request: Call[BenchmarkCreate, None]) -> dict[str, Any]:
        body = request.body
        for at, arm in enumerate(body.arms):
            if arm.llm_model is not None:
                await self._check_model(arm.llm_model, f"arms[{at}].llmModel")
        return await run_in_threadpool(self._create, request)

    async def _check_model(self, name: str, field: str) -> None:
        try:
            await self._context.check_model(name)
        except ApiException as error:
            raise invalid({field: next(iter((error.details or {}).values()))}, error.message) from None

    def _create(self, request: Call[BenchmarkCreate, None]) -> dict[str, Any]:
        models = self._context.models
        return requests.create(
            self._database,
            request.caller,
            request.body,
            rehearsal=models.rehearse,
            agent_model=models.agent_model,
        )

    def get(self, request: Call[None, BenchmarkQuery]) -> dict[str, Any]:
        return requests.get(self._database, request.caller, request.id, request.query)

    def conversations(self, request: Call[None, BenchmarkConversationsQuery]) -> dict[str, Any]:
        return requests.conversations(self._database, request.caller, request.id, request.query)

    def stop(self, request: Call[StopRequest, None]) -> dict[str, Any]:
        return requests.stop(self._database, request.caller, request.id, request.body.reason)

    def resume(self, request: Call[None, None]) -> dict[str, Any]:
        return requests.resume(self._database, request.caller, request.id)

    def bulk(self, request: Call[BulkRequest, None]) -> dict[str, Any]:
        return requests.bulk(self._database, request.caller, request.body)

    def sets(self, request: Call[None, PageQuery]) -> dict[str, Any]:
        query = request.query
        return scenario_sets.page(self._database, request.caller, limit=query.limit, offset=query.offset)

    def scenario_set(self, request: Call[None, ScenarioSetQuery]) -> dict[str, Any]:
        return scenario_sets.get(self._database, request.caller, request.id, request.query.version)
