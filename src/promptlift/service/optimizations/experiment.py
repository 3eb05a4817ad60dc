"""The experiment of an optimization, from its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from promptlift.service.optimizations.budget import personas_of, verification_of
from promptlift.stats import Experiment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.service.store.tables import AnyRow
    from promptlift.stats.passes import PairTally, Searched

__all__ = ["experiment_of"]


def experiment_of(
    row: AnyRow,
    *,
    variants: int | None = None,
    prior_sd_points: float = 10.0,
    searched: Searched | None = None,
    screened: Mapping[int, PairTally] | None = None,
) -> Experiment:
    """Return the experiment of an optimization before its first pass.

    Parameters
    ----------
    variants
        How many there really are, where the model wrote fewer than asked for.
    searched, screened
        Of a search; see ``Experiment``.
    """
    settings = orjson.loads(row.settings)
    return Experiment(
        variants or row.variant_count,
        row.mode,
        settings["confidenceMode"],
        personas_of(row),
        settings["scenariosPerSimulation"],
        settings["maxIterations"],
        row.seed,
        estimand="population" if row.persona_ids is None else "panel",
        prior_sd_points=prior_sd_points,
        verification_passes=verification_of(row),
        searched=searched,
        screened=screened,
    )
