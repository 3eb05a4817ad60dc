"""Tables of optimizations, simulated conversations, personas and versions of a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.frames.columns import Column, Doubts, build
from promptlift.schema.deployments import DEPLOYMENT_STATES
from promptlift.schema.insights import SENTIMENTS
from promptlift.schema.naming import link_of
from promptlift.schema.optimizations import OPTIMIZATION_MODES, OPTIMIZATION_STATUSES
from promptlift.schema.simulations import (
    ENDED_BY,
    SCENARIO_SOURCES,
    SIMULATION_STAGES,
    SIMULATION_STATUSES,
)
from promptlift.schema.versions import VERSION_ORIGINS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

Row = dict[str, Any]
Table = tuple["pd.DataFrame", dict[str, int]]

OPTIMIZATIONS: Final = (
    Column("optimization_id", "text"),
    Column("prompt_id", "text"),
    Column("status", "category", OPTIMIZATION_STATUSES),
    Column("mode", "category", OPTIMIZATION_MODES),
    Column("variant_count", "integer"),
    Column("winner_selected", "boolean"),
    Column("winning_variant_id", "text"),
    Column("lift_pct", "float"),
    Column("confidence", "float"),
    Column("created_at", "time"),
    Column("completed_at", "time"),
    Column("started_at", "time"),
    Column("lift_low", "float"),
    Column("lift_high", "float"),
    Column("lift_expected", "float"),
    Column("n_pairs", "integer"),
    Column("reason", "text"),
    Column("rehearsal", "boolean"),
    Column("deployment_state", "category", DEPLOYMENT_STATES),
)
SIMULATIONS: Final = (
    Column("simulation_id", "text"),
    Column("optimization_id", "text"),
    Column("variant_id", "text"),
    Column("variant_number", "integer"),
    Column("is_original", "boolean"),
    Column("stage", "category", SIMULATION_STAGES),
    Column("pass", "integer"),
    Column("cell", "integer"),
    Column("persona_id", "text"),
    Column("persona", "text"),
    Column("scenario", "text"),
    Column("opening", "text"),
    Column("goal", "text"),
    Column("scenario_source", "category", SCENARIO_SOURCES),
    Column("status", "category", SIMULATION_STATUSES),
    Column("task_completed", "boolean"),
    Column("sentiment", "category", SENTIMENTS),
    Column("sentiment_score", "float"),
    Column("quality", "float"),
    Column("turns", "integer"),
    Column("ended_by", "category", ENDED_BY),
    Column("error", "text"),
    Column("created_at", "time"),
)
SIMULATION_CONTENT: Final = (Column("content", "text"),)
PERSONAS: Final = (
    Column("persona_id", "text"),
    Column("name", "text"),
    Column("description", "text"),
    Column("built_in", "boolean"),
    Column("created_at", "time"),
)
VERSIONS: Final = (
    Column("version_id", "text"),
    Column("number", "integer"),
    Column("content", "text"),
    Column("origin", "category", VERSION_ORIGINS),
    Column("optimization_id", "text"),
    Column("variant_id", "text"),
    Column("is_live", "boolean"),
    Column("created_at", "time"),
)

# Column to the way to its value in a row of the API.
_OPTIMIZATION_PATHS: Final = {
    "optimization_id": "id",
    "status": "status",
    "mode": "mode",
    "variant_count": "variantCount",
    "winner_selected": "results.winnerSelected",
    "winning_variant_id": "results.winningVariantId",
    "lift_pct": "results.lift",
    "confidence": "results.confidence",
    "created_at": "createdAt",
    "completed_at": "completedAt",
    "started_at": "startedAt",
    "lift_low": "results.liftLow",
    "lift_high": "results.liftHigh",
    "lift_expected": "results.liftExpected",
    "n_pairs": "results.pairs.n",
    "reason": "results.reason",
    "deployment_state": "deployment.state",
}
_SIMULATION_PATHS: Final = {
    "simulation_id": "id",
    "optimization_id": "optimizationId",
    "variant_id": "variantId",
    "variant_number": "variantNumber",
    "is_original": "isOriginal",
    "stage": "stage",
    "pass": "pass",
    "cell": "cell",
    "persona_id": "persona.id",
    "persona": "persona.name",
    "scenario": "scenario.title",
    "opening": "scenario.opening",
    "goal": "scenario.goal",
    "scenario_source": "scenario.source",
    "status": "status",
    "task_completed": "taskCompleted",
    "sentiment": "sentiment",
    "sentiment_score": "sentimentScore",
    "quality": "quality",
    "turns": "turns",
    "ended_by": "endedBy",
    "error": "error",
    "created_at": "createdAt",
    "content": "content",
}
_PERSONA_PATHS: Final = {
    "persona_id": "id",
    "name": "name",
    "description": "description",
    "built_in": "builtIn",
    "created_at": "createdAt",
}
_VERSION_PATHS: Final = {
    "version_id": "id",
    "number": "number",
    "content": "content",
    "origin": "origin",
    "optimization_id": "optimizationId",
    "variant_id": "variantId",
    "is_live": "isLive",
    "created_at": "createdAt",
}


def value_at(row: Any, path: str) -> Any:
    """Take the value at a dotted path out of decoded JSON; ``None`` where there is none."""
    for name in path.split("."):
        row = row.get(name) if isinstance(row, dict) else None
    return row


def is_rehearsal(row: Row) -> bool | None:
    """Tell whether an optimization ran on the rehearsal model; ``None`` where nothing says."""
    found = [value_at(row, "rehearsal"), value_at(row, "results.rehearsal")]
    known = [one for one in found if isinstance(one, bool)]
    return any(known) if known else None


def _build(
    rows: Sequence[Row], columns: Sequence[Column], paths: Mapping[str, str], **more: list[Any]
) -> Table:
    doubts = Doubts()
    values = {
        column.name: [value_at(row, paths[column.name]) for row in rows]
        for column in columns
        if column.name in paths
    }
    return build(columns, values | more, doubts), doubts.as_dict()


def optimizations_table(rows: Sequence[Row]) -> Table:
    """Make the table of optimizations, one row each.

    Returns
    -------
    tuple
        The table, and counts of unusable values by column.
    """
    return _build(
        rows,
        OPTIMIZATIONS,
        _OPTIMIZATION_PATHS,
        prompt_id=[link_of(row) for row in rows],
        rehearsal=[is_rehearsal(row) for row in rows],
    )


def simulations_table(rows: Sequence[Row], *, content: bool = False) -> Table:
    """Make the table of simulated conversations, one row each."""
    return _build(rows, (*SIMULATIONS, *(SIMULATION_CONTENT if content else ())), _SIMULATION_PATHS)


def personas_table(rows: Sequence[Row]) -> Table:
    """Make the table of personas, one row each."""
    return _build(rows, PERSONAS, _PERSONA_PATHS)


def versions_table(rows: Sequence[Row]) -> Table:
    """Make the table of the texts of a prompt, one row each."""
    return _build(rows, VERSIONS, _VERSION_PATHS)
