"""Explore how LLM prompts perform, in a notebook.

>>> import promptlift
>>> lift = promptlift.connect()  # doctest: +SKIP
>>> lift.conversations(insights=True)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from promptlift._version import __version__

if TYPE_CHECKING:
    from promptlift import (
        analysis,
        errors,
        events,
        plots,
        report,
        samples,
        schema,
        snapshot,
        stats,
        transcripts,
        widgets,
    )
    from promptlift.local import local
    from promptlift.workspace import Workspace, connect
    from promptlift.workspace.opened_snapshot import open_snapshot

__all__ = [
    "Workspace",
    "__version__",
    "analysis",
    "connect",
    "errors",
    "events",
    "local",
    "open_snapshot",
    "plots",
    "report",
    "samples",
    "schema",
    "snapshot",
    "stats",
    "transcripts",
    "widgets",
]

# Loaded on first use, so that importing the package stays cheap.
_ROOMS: Final = (
    *(
        "analysis",
        "cli",
        "client",
        "clustering",
        "display",
        "errors",
        "events",
        "frames",
        "local",
        "plots",
        "report",
    ),
    *("samples", "schema", "service", "snapshot", "stats", "transcripts", "widgets", "words", "workspace"),
)
_NAMES: Final = {
    "Workspace": "promptlift.workspace",
    "connect": "promptlift.workspace",
    "open_snapshot": "promptlift.workspace.opened_snapshot",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        value: Any = importlib.import_module(f"promptlift.{name}")
    elif name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
    else:
        raise AttributeError(f"module 'promptlift' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
