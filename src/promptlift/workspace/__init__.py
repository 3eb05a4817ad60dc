"""What an analyst holds: the tables of one account, and ways to log, optimize and apply."""

from __future__ import annotations

from promptlift.client.logging_run import LogResult
from promptlift.client.planning import ReadPlan
from promptlift.workspace.door import Workspace, connect

__all__ = ["LogResult", "ReadPlan", "Workspace", "connect"]
