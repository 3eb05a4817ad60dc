"""One function a picture, named like the analysis that gives its numbers.

Every function draws on ``ax`` or on a new figure, never shows it and never changes matplotlib's settings. An
interval stands at every estimate; estimates from fewer than 5 conversations are hollow, and where there are
none, there is a gap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.plots.cells import persona_scenario_heatmap
    from promptlift.plots.changes import issue_changes, topic_changes
    from promptlift.plots.comparison import compare
    from promptlift.plots.consumption import usage
    from promptlift.plots.mentions import issues, topics
    from promptlift.plots.overview import prompt_overview
    from promptlift.plots.promises import simulated_against_production
    from promptlift.plots.sentiment import sentiment_distribution, sentiment_trend
    from promptlift.plots.trend import completion_trend
    from promptlift.plots.variants import variant_confidence, variant_lift
    from promptlift.plots.versions import prompt_timeline

__all__ = [
    "compare",
    "completion_trend",
    "issue_changes",
    "issues",
    "persona_scenario_heatmap",
    "prompt_overview",
    "prompt_timeline",
    "sentiment_distribution",
    "sentiment_trend",
    "simulated_against_production",
    "topic_changes",
    "topics",
    "usage",
    "variant_confidence",
    "variant_lift",
]

_HOMES = {
    "compare": "comparison",
    "completion_trend": "trend",
    "issue_changes": "changes",
    "issues": "mentions",
    "persona_scenario_heatmap": "cells",
    "prompt_overview": "overview",
    "prompt_timeline": "versions",
    "sentiment_distribution": "sentiment",
    "sentiment_trend": "sentiment",
    "simulated_against_production": "promises",
    "topic_changes": "changes",
    "topics": "mentions",
    "usage": "consumption",
    "variant_confidence": "variants",
    "variant_lift": "variants",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
