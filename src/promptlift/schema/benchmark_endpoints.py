"""The endpoints of benchmarks and their scenario sets: rows of the table in ``endpoints``."""

from __future__ import annotations

from typing import Final

from promptlift.schema.benchmarks import (
    Benchmark,
    BenchmarkConversation,
    BenchmarkCreate,
    BulkAnswer,
    BulkRequest,
    ScenarioSet,
)
from promptlift.schema.endpoint import Endpoint
from promptlift.schema.optimizations import StopRequest
from promptlift.schema.pages import Page
from promptlift.schema.queries import (
    BenchmarkConversationsQuery,
    BenchmarkQuery,
    BenchmarksQuery,
    PageQuery,
    ScenarioSetQuery,
)

BENCHMARKS_LIST: Final = Endpoint(
    "benchmarks.list",
    "GET /benchmarks",
    Page[Benchmark],
    "List benchmarks",
    query=BenchmarksQuery,
)
# Never sent again: a benchmark that was started twice costs twice.
# unspecified: the status of success. 200, which the specification gives to all that it does not state.
BENCHMARKS_CREATE: Final = Endpoint(
    "benchmarks.create",
    "POST /benchmarks",
    Benchmark,
    "Start a benchmark",
    body=BenchmarkCreate,
    errors=("LIMIT_EXCEEDED",),
)
BENCHMARKS_BULK: Final = Endpoint(
    "benchmarks.bulk",
    "POST /benchmarks/bulk",
    BulkAnswer,
    "Delete benchmarks",
    body=BulkRequest,
)
BENCHMARKS_GET: Final = Endpoint(
    "benchmarks.get",
    "GET /benchmarks/{id}",
    Benchmark,
    "Get a benchmark with its results",
    query=BenchmarkQuery,
)
BENCHMARKS_CONVERSATIONS: Final = Endpoint(
    "benchmarks.conversations",
    "GET /benchmarks/{id}/conversations",
    Page[BenchmarkConversation],
    "Simulated conversations of a benchmark",
    query=BenchmarkConversationsQuery,
    specified=(),
)
BENCHMARKS_STOP: Final = Endpoint(
    "benchmarks.stop",
    "POST /benchmarks/{id}/stop",
    Benchmark,
    "Stop a benchmark; what was measured stays",
    body=StopRequest,
    body_optional=True,
    errors=("INVALID_STATE",),
    specified=(),
)
BENCHMARKS_RESUME: Final = Endpoint(
    "benchmarks.resume",
    "POST /benchmarks/{id}/resume",
    Benchmark,
    "Go on with a benchmark that was stopped or failed",
    errors=("INVALID_STATE", "LIMIT_EXCEEDED"),
    specified=(),
)
SCENARIO_SETS_LIST: Final = Endpoint(
    "scenario_sets.list",
    "GET /scenario-sets",
    Page[ScenarioSet],
    "Every version of every scenario set, newest first",
    query=PageQuery,
    specified=(),
)
SCENARIO_SETS_GET: Final = Endpoint(
    "scenario_sets.get",
    "GET /scenario-sets/{id}",
    ScenarioSet,
    "Get a scenario set with its scenarios",
    query=ScenarioSetQuery,
    specified=(),
)
