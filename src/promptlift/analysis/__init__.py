"""Tables in, small tables out: the numbers behind every picture and report.

Every function takes whatever narwhals accepts (pandas, Polars, PyArrow, DuckDB, Dask, PySpark) and answers with
a small pandas table. Rates and shares are fractions; ``…_low`` and ``…_high`` are the ends of a Wilson interval.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.analysis.changes import issue_changes, topic_changes
    from promptlift.analysis.comparison import compare
    from promptlift.analysis.mentions import issues, topics
    from promptlift.analysis.outcomes import completion
    from promptlift.analysis.overview import prompt_overview
    from promptlift.analysis.sentiments import sentiment_distribution, sentiment_trend
    from promptlift.analysis.trends import completion_trend

__all__ = [
    "compare",
    "completion",
    "completion_trend",
    "issue_changes",
    "issues",
    "prompt_overview",
    "sentiment_distribution",
    "sentiment_trend",
    "topic_changes",
    "topics",
]

# Modules are not named like their functions: importing a module sets its name in the package.
_HOMES = {
    "issue_changes": "changes",
    "topic_changes": "changes",
    "compare": "comparison",
    "completion": "outcomes",
    "completion_trend": "trends",
    "issues": "mentions",
    "prompt_overview": "overview",
    "sentiment_distribution": "sentiments",
    "sentiment_trend": "sentiments",
    "topics": "mentions",
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
