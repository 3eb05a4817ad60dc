"""``promptlift worker``: work on a PostgreSQL database in the background."""

from __future__ import annotations

import sys

from promptlift.service.settings import ServiceSettings
from promptlift.service.work import work


def run_worker(*, database: str | None) -> None:
    """Work until SIGINT or SIGTERM, and say on standard output when ready.

    Parameters
    ----------
    database
        Address of the database; ``None`` is ``PROMPTLIFT_DATABASE_URL``.
    """

    def on_ready() -> None:
        sys.stdout.write("promptlift worker is ready\n")
        sys.stdout.flush()

    work(ServiceSettings.from_env(database_url=database), on_ready=on_ready)
