"""The tools of the agent that an optimization tests, as its logs were when it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.service.simulations.tools.toolbox import Toolbox
from promptlift.service.store import optimizations

if TYPE_CHECKING:
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.runs import OptimizationRow

__all__ = ["toolbox_of"]


def toolbox_of(database: Database, optimization: OptimizationRow, prompt: str) -> Toolbox | None:
    """Return the tools of an optimization's agent; ``None`` where they are not played, or it has none.

    Parameters
    ----------
    prompt
        The text that may name tools.
    """
    if optimization.rehearsal or not optimization.settings.get("simulateTools"):
        return None
    row = optimization
    with database.read() as connection:
        contents = optimizations.transcripts(connection, row.account_id, row.prompt_id, before=row.created_at)
        return Toolbox.of(prompt, (one.decode("utf-8", "replace") for one in contents))
