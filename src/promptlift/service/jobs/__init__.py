"""Background work that survives a kill: an interface of ours over DBOS, and the jobs."""

from __future__ import annotations
