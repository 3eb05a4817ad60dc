"""Widgets to read, label, review and decide with. Each has a static fallback that needs no JavaScript."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.widgets.browser.widget import ConversationBrowser
    from promptlift.widgets.interactive_plot import InteractivePlot
    from promptlift.widgets.optimization_monitor import OptimizationMonitor
    from promptlift.widgets.review.widget import VariantReview

__all__ = ["ConversationBrowser", "InteractivePlot", "OptimizationMonitor", "VariantReview"]

# Loaded on first use, so that a part can be imported without ipywidgets.
_MODULES = {
    "ConversationBrowser": "browser.widget",
    "InteractivePlot": "interactive_plot",
    "OptimizationMonitor": "optimization_monitor",
    "VariantReview": "review.widget",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
