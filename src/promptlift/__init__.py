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

# Loaded on first use, so that importing the package stays cheap: name to module and attribute (None is the module).
_LAZY: Final[dict[str, tuple[str, str | None]]] = {
    "Workspace": ("promptlift.workspace", "Workspace"),
    "connect": ("promptlift.workspace", "connect"),
    "open_snapshot": ("promptlift.workspace.opened_snapshot", "open_snapshot"),
    **{
        name: (f"promptlift.{name}", None)
        for name in (
            "analysis",
            "cli",
            "client",
            "display",
            "errors",
            "events",
            "frames",
            "local",
            "plots",
            "report",
            "samples",
            "schema",
            "service",
            "snapshot",
            "stats",
            "transcripts",
            "widgets",
            "words",
            "workspace",
        )
    },
}


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'promptlift' has no attribute {name!r}") from None
    loaded = importlib.import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
