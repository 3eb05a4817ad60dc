"""Pure statistics over numbers and arrays: no tables, no model, no clock, no database.

Here is what an analyst calls. The rest is imported from its module, such as
``from promptlift.stats.differences import score_interval``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
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

# Loaded on first use, because some need SciPy and some do not. No name here is also the name of a module: importing the
# module would put it in the place of the function.
_MODULES: Final = {
    "Experiment": "experiment",
    "analyse_pairs": "pairs",
    "change_point": "trend",
    "compare_paired": "differences",
    "compare_unpaired": "differences",
    "confidence": "evidence",
    "expected_lift": "shrinkage",
    "labels_needed": "label_planning",
    "lift_interval": "effect",
    "mcnemar_e_value": "evidence",
    "pairs_needed": "planning",
    "smallest_findable_points": "planning",
    "trend_test": "trend",
    "wilson": "intervals",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
