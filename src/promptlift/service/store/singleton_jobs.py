"""Which worker does the jobs that one worker at a time does for all. Their rows come with the tables."""

from __future__ import annotations

from promptlift.service.store.leases import Leases
from promptlift.service.store.tables import singleton_jobs


def leases(name: str) -> Leases:
    """Return the leases of the one row of a job."""
    return Leases(singleton_jobs, singleton_jobs.c.id == name)
