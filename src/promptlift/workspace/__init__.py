"""The workspace of an analyst: the tables of one account, and ways to log, optimize and apply."""

from __future__ import annotations

from promptlift.client.log.result import LogResult
from promptlift.client.reads.plan_read import ReadPlan
from promptlift.workspace.benchmarking import BenchmarkRun, Benchmarks, CheapestChoice
from promptlift.workspace.comparing import Comparison
from promptlift.workspace.events import Events, Webhooks
from promptlift.workspace.explaining import Endings
from promptlift.workspace.filters import NothingMatchesWarning
from promptlift.workspace.importing.files import FileImport, ImportResult
from promptlift.workspace.judging.judges import BackfillPlan, Judges, JudgingRun
from promptlift.workspace.judging.labels import Labels
from promptlift.workspace.optimizing.optimizations import Optimizations
from promptlift.workspace.optimizing.planning import OptimizationPlan
from promptlift.workspace.optimizing.run import MayBeIncomplete, OptimizationRun
from promptlift.workspace.reviews import Reviews
from promptlift.workspace.runs import Run, RunFailed, RunStopped, StillRunning
from promptlift.workspace.topics import Topics
from promptlift.workspace.workspace import Workspace, connect

__all__ = [
    "BackfillPlan",
    "BenchmarkRun",
    "Benchmarks",
    "CheapestChoice",
    "Comparison",
    "Endings",
    "Events",
    "FileImport",
    "ImportResult",
    "Judges",
    "JudgingRun",
    "Labels",
    "LogResult",
    "MayBeIncomplete",
    "NothingMatchesWarning",
    "OptimizationPlan",
    "OptimizationRun",
    "Optimizations",
    "ReadPlan",
    "Reviews",
    "Run",
    "RunFailed",
    "RunStopped",
    "StillRunning",
    "Topics",
    "Webhooks",
    "Workspace",
    "connect",
]
