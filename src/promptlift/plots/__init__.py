"""One function a picture, named like the analysis that gives its numbers.

Every function draws on ``ax`` or on a new figure, never shows it and never changes matplotlib's settings. An
interval stands at every estimate; estimates from fewer than 5 conversations are hollow, and where there are
none, there is a gap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.plots.changes import issue_changes, topic_changes
    from promptlift.plots.comparison import compare
    from promptlift.plots.mentions import issues, topics
    from promptlift.plots.overview import prompt_overview
    from promptlift.plots.sentiment import sentiment_distribution, sentiment_trend
    from promptlift.plots.trend import completion_trend

__all__ = [
    "compare",
    "completion_trend",
    "issue_changes",
    "issues",
    "prompt_overview",
    "sentiment_distribution",
    "sentiment_trend",
    "topic_changes",
    "topics",
]

_HOMES = {
    "issue_changes": "changes",
    "topic_changes": "changes",
    "compare": "comparison",
    "completion_trend": "trend",
    "issues": "mentions",
    "prompt_overview": "overview",
    "sentiment_distribution": "sentiment",
    "sentiment_trend": "sentiment",
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
