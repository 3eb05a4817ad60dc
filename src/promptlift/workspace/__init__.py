"""What an analyst holds: the tables of one account, and ways to log, optimize and apply."""

from __future__ import annotations

from promptlift.client.log.result import LogResult, NotUpdated, NotUpdatedWarning
from promptlift.client.reads.plan_read import ReadPlan
from promptlift.workspace.door import Workspace, connect
from promptlift.workspace.optimization_tables import MayBeIncomplete
from promptlift.workspace.waiting import OptimizationFailed, OptimizationStopped, StillRunning

__all__ = [
    "LogResult",
    "MayBeIncomplete",
    "NotUpdated",
    "NotUpdatedWarning",
    "OptimizationFailed",
    "OptimizationStopped",
    "ReadPlan",
    "StillRunning",
    "Workspace",
    "connect",
]
