"""The workspace of an analyst: the tables of one account, and ways to log, optimize and apply."""

from __future__ import annotations

from promptlift.client.log.result import LogResult
from promptlift.client.reads.plan_read import ReadPlan
from promptlift.workspace.cheapest import CheapestChoice
from promptlift.workspace.comparing.comparison import Comparison
from promptlift.workspace.filters import NothingMatchesWarning
from promptlift.workspace.importing.files import FileImport, ImportResult
from promptlift.workspace.judging.judges import Judges
from promptlift.workspace.judging.plan import BackfillPlan
from promptlift.workspace.optimizing.plan import OptimizationPlan
from promptlift.workspace.optimizing.tables import MayBeIncomplete
from promptlift.workspace.waiting import RunFailed, RunStopped, StillRunning
from promptlift.workspace.workspace import Workspace, connect

__all__ = [
    "BackfillPlan",
    "CheapestChoice",
    "Comparison",
    "FileImport",
    "ImportResult",
    "Judges",
    "LogResult",
    "MayBeIncomplete",
    "NothingMatchesWarning",
    "OptimizationPlan",
    "ReadPlan",
    "RunFailed",
    "RunStopped",
    "StillRunning",
    "Workspace",
    "connect",
]
