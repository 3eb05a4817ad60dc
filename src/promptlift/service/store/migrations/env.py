"""How Alembic reaches the database: over the connection that the service hands in."""

from __future__ import annotations

from alembic import context

from promptlift.service.store.tables import metadata

connection = context.config.attributes["connection"]
# All steps in one transaction, on SQLite too: of processes that start at once one migrates, and a crash leaves nothing half done.
context.configure(
    connection=connection, target_metadata=metadata, render_as_batch=True, transactional_ddl=True
)
with context.begin_transaction():
    if connection.dialect.name == "postgresql":
        # Several processes may start on a new database at once: one makes the tables, the others wait for it.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7265736561726368)")
    context.run_migrations()
