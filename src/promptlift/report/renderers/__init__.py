"""One module a format: each names its ``SUFFIXES`` and renders a document to bytes.

A new format is a new module here; nothing else has to know.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from promptlift.report.document import Document

__all__ = ["Renderer", "renderer_for", "suffixes"]


class Renderer(Protocol):
    """A module that writes one format."""

    SUFFIXES: tuple[str, ...]
    """File name endings in small letters, with their dot."""

    def render(self, document: Document) -> bytes:
        """Give the file's bytes; the same document gives the same bytes.

        Everything in the document may be hostile. May raise ``MissingExtra``; imports what is heavy only here.
        """
        ...


def suffixes() -> tuple[str, ...]:
    """File name endings that a report can have."""
    return tuple(sorted(_renderers()))


def renderer_for(path: Path) -> Renderer:
    """Choose the format by the ending of the file name.

    Raises
    ------
    ConfigError
        When no format has this ending; names those that there are.
    """
    found = _renderers().get(path.suffix.lower())
    if found is None:
        said = f"files ending in {path.suffix!r}" if path.suffix else "files without an ending"
        raise ConfigError(
            f"A report cannot be written as {said} ({path.name!r}). Supported: {', '.join(suffixes())}."
        )
    return found


@cache
def _renderers() -> dict[str, Renderer]:
    found: dict[str, Renderer] = {}
    for module in pkgutil.iter_modules(__path__):
        renderer = cast("Renderer", importlib.import_module(f"{__name__}.{module.name}"))
        found.update(dict.fromkeys(renderer.SUFFIXES, renderer))
    return found
