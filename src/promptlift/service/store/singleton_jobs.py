"""Which worker does the jobs that one worker at a time does for all. Their rows come with the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import insert

from promptlift.service.store.leases import Leases
from promptlift.service.store.tables import singleton_jobs

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.service.store.leases import Wait

NAMES: Final = ("watch_deployments", "clean_up", "name_issues")


def add_all(connection: Connection) -> None:
    """Add the row of every job, in a new database."""
    connection.execute(insert(singleton_jobs), [{"id": name} for name in NAMES])


def leases(name: str, wait: Wait | None = None) -> Leases:
    """Return the leases of the one row of a job, with a time that the job goes by."""
    return Leases(singleton_jobs, singleton_jobs.c.id == name, wait=wait)
