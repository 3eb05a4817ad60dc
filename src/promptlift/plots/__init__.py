"""One function per plot, with the name of the analysis that computes its numbers.

Every function draws on ``ax`` or on a new figure, never shows it and never changes matplotlib's settings. Every
estimate has an interval; estimates from fewer than 5 conversations are hollow, and periods without any are gaps.

Axes of a plot of conversations have one attribute more, ``conversations``: called with what names a mark, it returns the
rows behind it, as in ``plots.issues(df).conversations("User gave up")``; see `promptlift.analysis.conversations_of`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.plots.atlas import atlas
    from promptlift.plots.benchmark import benchmark
    from promptlift.plots.changes import changes
    from promptlift.plots.compare import compare
    from promptlift.plots.completion_trend import completion_trend
    from promptlift.plots.mentions import issues, topics
    from promptlift.plots.notebook_theme import follow_notebook_theme
    from promptlift.plots.production_metrics import production_metrics
    from promptlift.plots.prompt_overview import prompt_overview
    from promptlift.plots.search import search
    from promptlift.plots.segments import segments
    from promptlift.plots.sentiment import sentiment_distribution, sentiment_trend
    from promptlift.plots.simulated_vs_production import simulated_vs_production
    from promptlift.plots.targets import targets
    from promptlift.plots.variants import variant_confidence, variant_lift
    from promptlift.plots.where_it_differs import where_it_differs

__all__ = [
    "atlas",
    "benchmark",
    "changes",
    "compare",
    "completion_trend",
    "follow_notebook_theme",
    "issues",
    "production_metrics",
    "prompt_overview",
    "search",
    "segments",
    "sentiment_distribution",
    "sentiment_trend",
    "simulated_vs_production",
    "targets",
    "topics",
    "variant_confidence",
    "variant_lift",
    "where_it_differs",
]

# Loaded on first use: matplotlib takes a while. Every other function is in the module of its own name.
_MODULES = {
    "follow_notebook_theme": "notebook_theme",
    "issues": "mentions",
    "sentiment_distribution": "sentiment",
    "sentiment_trend": "sentiment",
    "topics": "mentions",
    "variant_confidence": "variants",
    "variant_lift": "variants",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES.get(name, name)}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Plots(ModuleType):
    """Importing a submodule binds its name in this package; where a function has the same name, it wins."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in __all__ and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Plots
