"""Judges of one's own: plans and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import endpoints
from promptlift.service.judges import requests

if TYPE_CHECKING:
    from promptlift.schema.judges import JudgeAlignCreate, JudgeBackfillCreate
    from promptlift.schema.optimizations import StopRequest
    from promptlift.schema.queries import JudgeRunsQuery
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Judges(context)
    return {
        endpoints.JUDGES_PLAN: room.plan,
        endpoints.JUDGES_BACKFILL: room.backfill,
        endpoints.JUDGES_ALIGN: room.align,
        endpoints.JUDGE_RUNS_LIST: room.runs,
        endpoints.JUDGE_RUNS_GET: room.run,
        endpoints.JUDGE_RUNS_STOP: room.stop,
        endpoints.JUDGE_RUNS_RESUME: room.resume,
    }


class _Judges:
    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._database = context.database

    @property
    def _model(self) -> str | None:
        return self._context.models.model

    def plan(self, request: Call[JudgeBackfillCreate, None]) -> dict[str, Any]:
        return requests.plan(self._database, request.caller, request.id, request.body, model=self._model)

    def backfill(self, request: Call[JudgeBackfillCreate, None]) -> dict[str, Any]:
        return requests.backfill(self._database, request.caller, request.id, request.body, model=self._model)

    def align(self, request: Call[JudgeAlignCreate, None]) -> dict[str, Any]:
        return requests.align(self._database, request.caller, request.id, request.body, model=self._model)

    def runs(self, request: Call[None, JudgeRunsQuery]) -> dict[str, Any]:
        query = request.query
        return requests.runs_page(
            self._database, request.caller, judge_id=query.judge_id, limit=query.limit, offset=query.offset
        )

    def run(self, request: Call[None, None]) -> dict[str, Any]:
        return requests.get_run(self._database, request.caller, request.id)

    def stop(self, request: Call[StopRequest, None]) -> dict[str, Any]:
        return requests.stop(self._database, request.caller, request.id, request.body.reason)

    def resume(self, request: Call[None, None]) -> dict[str, Any]:
        return requests.resume(self._database, request.caller, request.id, model=self._model)
