"""Widgets to read, label, review and decide with, each with a static twin that needs no JavaScript."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptlift.widgets.browser import ConversationBrowser
    from promptlift.widgets.monitor import OptimizationMonitor
    from promptlift.widgets.review import VariantReview

__all__ = ["ConversationBrowser", "OptimizationMonitor", "VariantReview"]

# Loaded on first use: a report may take the static parts without loading any widget.
_HOMES = {
    "ConversationBrowser": "browser",
    "OptimizationMonitor": "monitor",
    "VariantReview": "review",
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
