"""One module a format: each has ``FORMATS``, from the ending of a file name to what renders a document to bytes.

A module may have ``check``, which raises when the format cannot be written on this machine; it is asked before
anything is read. A new format is a new module here; nothing else has to know.
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
    """Renders a document as the bytes of a file."""

    def __call__(self, document: Document, /) -> bytes:
        """Give the file's bytes; the same document gives the same bytes.

        Everything in the document may be hostile. May raise ``MissingExtra``; imports what is heavy only here.
        """
        ...


def suffixes() -> tuple[str, ...]:
    """File name endings that a report can have."""
    return tuple(sorted(_modules()))


def renderer_for(path: Path) -> Renderer:
    """Choose the format by the ending of the file name.

    Raises
    ------
    ConfigError
        When no format has this ending, naming those that there are; or it cannot be written here.
    """
    endings = ["".join(path.suffixes[-2:]).lower(), path.suffix.lower()]
    found = next((module for ending in endings if (module := _modules().get(ending))), None)
    if found is None:
        said = f"files ending in {path.suffix!r}" if path.suffix else "files without an ending"
        raise ConfigError(
            f"A report cannot be written as {said} ({path.name!r}). Supported: {', '.join(suffixes())}."
        )
    if hasattr(found, "check"):
        found.check()
    renderer: Renderer = next(found.FORMATS[ending] for ending in endings if ending in found.FORMATS)
    return renderer


@cache
def _modules() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        found.update(dict.fromkeys(module.FORMATS, module))
    return found
