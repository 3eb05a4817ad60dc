"""Alembic's environment: it uses the connection passed in by the service, in its transaction."""

from __future__ import annotations

from alembic import context

from promptlift.service.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
