"""The workspace of an analyst: the tables of one account, and ways to log, optimize and apply."""

from __future__ import annotations

from promptlift.client.log.result import LogResult
from promptlift.client.reads.plan_read import ReadPlan
from promptlift.workspace.benchmarking import (
    BenchmarkFailed,
    BenchmarkStillRunning,
    BenchmarkStopped,
)
from promptlift.workspace.cheapest import CheapestChoice
from promptlift.workspace.comparing.comparison import Comparison
from promptlift.workspace.filters import NothingMatchesWarning
from promptlift.workspace.importing.files import FileImport, ImportResult
from promptlift.workspace.judging.judges import Judges
from promptlift.workspace.judging.runs import (
    BackfillPlan,
    JudgeRunFailed,
    JudgeRunStillRunning,
    JudgeRunStopped,
)
from promptlift.workspace.optimizing.plan import OptimizationPlan
from promptlift.workspace.optimizing.tables import MayBeIncomplete
from promptlift.workspace.waiting import OptimizationFailed, OptimizationStopped, StillRunning
from promptlift.workspace.workspace import Workspace, connect

__all__ = [
    "BackfillPlan",
    "BenchmarkFailed",
    "BenchmarkStillRunning",
    "BenchmarkStopped",
    "CheapestChoice",
    "Comparison",
    "FileImport",
    "ImportResult",
    "JudgeRunFailed",
    "JudgeRunStillRunning",
    "JudgeRunStopped",
    "Judges",
    "LogResult",
    "MayBeIncomplete",
    "NothingMatchesWarning",
    "OptimizationFailed",
    "OptimizationPlan",
    "OptimizationStopped",
    "ReadPlan",
    "StillRunning",
    "Workspace",
    "connect",
]
