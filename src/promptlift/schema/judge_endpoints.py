"""The endpoints of judges of one's own: rows of the table in ``endpoints``."""

from __future__ import annotations

from typing import Final

from promptlift.schema.endpoint import Endpoint
from promptlift.schema.judges import (
    Judge,
    JudgeAlignCreate,
    JudgeBackfillCreate,
    JudgeCreate,
    JudgePlan,
    JudgeRun,
    JudgeVerdict,
)
from promptlift.schema.optimizations import StopRequest
from promptlift.schema.pages import Done, Page
from promptlift.schema.queries import JudgeQuery, JudgeRunsQuery, PageQuery, VerdictsQuery

JUDGES_LIST: Final = Endpoint(
    "judges.list",
    "GET /judges",
    Page[Judge],
    "List judges, each in its newest version",
    query=PageQuery,
    specified=(),
)
# The same text twice is one version.
JUDGES_CREATE: Final = Endpoint(
    "judges.create",
    "POST /judges",
    Judge,
    "Create a judge, or a new version of the judge of this name",
    body=JudgeCreate,
    status=201,
    also=(200,),
    repeat="always",
    specified=(),
)
JUDGES_GET: Final = Endpoint(
    "judges.get", "GET /judges/{id}", Judge, "Get a version of a judge", query=JudgeQuery, specified=()
)
JUDGES_DELETE: Final = Endpoint(
    "judges.delete",
    "DELETE /judges/{id}",
    Done,
    "Delete a judge with its versions, verdicts and runs",
    specified=(),
)
JUDGES_VERSIONS: Final = Endpoint(
    "judges.versions",
    "GET /judges/{id}/versions",
    Page[Judge],
    "Versions of a judge, newest first",
    query=PageQuery,
    specified=(),
)
JUDGES_VERDICTS: Final = Endpoint(
    "judges.verdicts",
    "GET /judges/{id}/verdicts",
    Page[JudgeVerdict],
    "Verdicts of a judge, the newest conversations first",
    query=VerdictsQuery,
    specified=(),
)
JUDGES_PLAN: Final = Endpoint(
    "judges.plan",
    "POST /judges/{id}/plan",
    JudgePlan,
    "Say what putting a judge to conversations takes, without doing it",
    body=JudgeBackfillCreate,
    body_optional=True,
    errors=("NOT_FOUND",),
    repeat="always",
    specified=(),
)
# Never sent again: calls of a model cost.
JUDGES_BACKFILL: Final = Endpoint(
    "judges.backfill",
    "POST /judges/{id}/backfill",
    JudgeRun,
    "Put a judge to logged conversations",
    body=JudgeBackfillCreate,
    body_optional=True,
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
    specified=(),
)
JUDGES_ALIGN: Final = Endpoint(
    "judges.align",
    "POST /judges/{id}/align",
    JudgeRun,
    "Improve a judge's rubric by labels",
    body=JudgeAlignCreate,
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
    specified=(),
)
JUDGE_RUNS_LIST: Final = Endpoint(
    "judge_runs.list",
    "GET /judge-runs",
    Page[JudgeRun],
    "Backfills and alignments of judges, newest first",
    query=JudgeRunsQuery,
    specified=(),
)
JUDGE_RUNS_GET: Final = Endpoint(
    "judge_runs.get", "GET /judge-runs/{id}", JudgeRun, "Get a run of a judge", specified=()
)
JUDGE_RUNS_STOP: Final = Endpoint(
    "judge_runs.stop",
    "POST /judge-runs/{id}/stop",
    JudgeRun,
    "Stop a run of a judge; its verdicts stay",
    body=StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
    specified=(),
)
JUDGE_RUNS_RESUME: Final = Endpoint(
    "judge_runs.resume",
    "POST /judge-runs/{id}/resume",
    JudgeRun,
    "Go on with a run that was stopped or failed",
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
    specified=(),
)
