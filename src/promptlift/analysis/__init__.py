"""Tables in, small tables out: the numbers behind every picture and report.

Every function takes whatever narwhals accepts (pandas, Polars, PyArrow, DuckDB, Dask, PySpark) and answers with
a small pandas table. Rates and shares are fractions; ``…_low`` and ``…_high`` are the ends of a Wilson interval.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.analysis.agreement import judge_agreement
    from promptlift.analysis.cells import persona_scenario_heatmap
    from promptlift.analysis.changes import issue_changes, topic_changes
    from promptlift.analysis.comparison import compare
    from promptlift.analysis.consumption import usage
    from promptlift.analysis.mentions import issues, topics
    from promptlift.analysis.outcomes import completion
    from promptlift.analysis.overview import prompt_overview
    from promptlift.analysis.promises import simulated_against_production
    from promptlift.analysis.sentiments import sentiment_distribution, sentiment_trend
    from promptlift.analysis.trends import completion_trend
    from promptlift.analysis.variants import variant_confidence, variant_lift
    from promptlift.analysis.versions import prompt_timeline

__all__ = [
    "compare",
    "completion",
    "completion_trend",
    "issue_changes",
    "issues",
    "judge_agreement",
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

# Modules are not named like their functions: importing a module sets its name in the package.
_HOMES = {
    "compare": "comparison",
    "completion": "outcomes",
    "completion_trend": "trends",
    "issue_changes": "changes",
    "issues": "mentions",
    "judge_agreement": "agreement",
    "persona_scenario_heatmap": "cells",
    "prompt_overview": "overview",
    "prompt_timeline": "versions",
    "sentiment_distribution": "sentiments",
    "sentiment_trend": "sentiments",
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
