"""One module per format: its ``FORMATS`` maps file name suffixes to functions that render a document to bytes.

A module may have ``check``, which raises when the format cannot be written on this machine; it is called before
anything is read. A new format is a new module here and nothing else.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from promptlift.report.document import Document

__all__ = ["Renderer", "renderer_for", "suffixes"]


class Renderer(Protocol):
    """Renders a document to the bytes of a file."""

    def __call__(self, document: Document, /) -> bytes:
        """Return the bytes of the file, the same for the same document.

        Everything in the document may be hostile. May raise ``MissingExtra``; heavy imports belong here.
        """
        ...


def suffixes() -> tuple[str, ...]:
    """Return the file name suffixes of all formats."""
    return tuple(sorted(_modules()))


def renderer_for(path: Path) -> Renderer:
    """Return the renderer for the suffix of a file name.

    Raises
    ------
    ConfigError
        When there is no such format (the message lists all), or it cannot be written on this machine.
    """
    suffix = path.suffix.lower()
    if (found := _modules().get(suffix)) is None:
        kind = f"a {path.suffix} file" if path.suffix else "a file without a suffix"
        raise ConfigError(
            f"A report cannot be written as {kind} ({path.name!r}). Supported: {', '.join(suffixes())}."
        )
    if hasattr(found, "check"):
        found.check()
    renderer: Renderer = found.FORMATS[suffix]
    return renderer


@cache
def _modules() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        found.update(dict.fromkeys(module.FORMATS, module))
    return found
