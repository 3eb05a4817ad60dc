"""The budget of one optimization with a search, from its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from promptlift.service.deployments.plan import tests_before_deploying
from promptlift.stats.budget import SearchBudget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.service.store.tables import AnyRow

__all__ = ["budget_of", "personas_of", "verification_of", "wants_search"]


def wants_search(settings: Mapping[str, Any], *, variants: int, failed: bool) -> bool:
    """Return whether an optimization is to search; its budget may still be too small for that.

    Parameters
    ----------
    settings
        Of the run.
    variants
        Candidates of the first generation.
    failed
        Whether a logged conversation failed.
    """
    return failed and variants > 1 and settings.get("search", "off") == "on"


def budget_of(row: AnyRow) -> SearchBudget:
    """Return what search and confirmation may spend."""
    settings = orjson.loads(row.settings)
    return SearchBudget.of(
        variants=row.variant_count,
        mode=row.mode,
        personas=personas_of(row),
        scenarios=settings["scenariosPerSimulation"],
        iterations=settings["maxIterations"],
    )


def personas_of(row: AnyRow) -> int:
    """Return how many personas a pass has."""
    if row.persona_ids is not None:
        return len(orjson.loads(row.persona_ids))
    return int(orjson.loads(row.settings)["personaCount"])


def verification_of(row: AnyRow) -> int:
    """Return how many passes follow a win."""
    settings = orjson.loads(row.settings)
    if tests_before_deploying(settings, rehearsal=row.rehearsal):
        # unspecified: whether pairs are held that those of the regression test will replace. They would cost for nothing.
        return 0
    return int(settings["verificationPasses"])
