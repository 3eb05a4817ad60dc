"""The tables of workers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, String, Table, Text

from promptlift.service.store.tables.columns import ID, metadata, numbered

# Who works in the background. Rows name their worker; one that is not here any more has lost them.
workers = Table(
    "workers",
    metadata,
    Column("id", ID, primary_key=True),
    # Until when it is taken for living without another sign of life.
    Column("lease_until", BigInteger, nullable=False),
    # Why rows wait that it could work on.
    Column("problem", Text),
)

# Work that one worker at a time does for all, for as long as it lives: its name, and who has it.
singleton_jobs = Table(
    "singleton_jobs",
    metadata,
    *numbered(),
    Column("worker", String(100)),
)
