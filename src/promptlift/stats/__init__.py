"""Pure statistics over numbers and arrays: no tables, no model, no clock, no database.

The functions for analysts are exported here. The rest is imported from its module, such as ``from
promptlift.stats.differences import score_interval``. SciPy is loaded on first use: rates never need it.
"""

from __future__ import annotations

from promptlift.stats.differences import compare_paired, compare_unpaired
from promptlift.stats.effect import lift_interval
from promptlift.stats.evidence import confidence, mcnemar_e_value
from promptlift.stats.experiment import Experiment
from promptlift.stats.intervals import wilson
from promptlift.stats.label_planning import labels_needed
from promptlift.stats.pairs import analyse_pairs
from promptlift.stats.planning import pairs_needed, smallest_findable_points
from promptlift.stats.shrinkage import expected_lift
from promptlift.stats.trend import change_point, trend_test

__all__ = [
    "Experiment",
    "analyse_pairs",
    "change_point",
    "compare_paired",
    "compare_unpaired",
    "confidence",
    "expected_lift",
    "labels_needed",
    "lift_interval",
    "mcnemar_e_value",
    "pairs_needed",
    "smallest_findable_points",
    "trend_test",
    "wilson",
]


def __dir__() -> list[str]:
    return sorted(__all__)
