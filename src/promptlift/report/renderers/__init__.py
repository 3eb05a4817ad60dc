"""One module per format, each with ``render``, which renders a document to bytes.

A module may have ``check``, which raises when the format cannot be written on this machine; it is called before
anything is read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from promptlift.report.document import Document

    Renderer = Callable[[Document], bytes]

__all__ = ["SUFFIXES", "renderer_for"]

SUFFIXES: Final = {
    ".htm": "html",
    ".html": "html",
    ".markdown": "markdown",
    ".md": "markdown",
    ".pdf": "pdf",
    ".xlsx": "xlsx",
}
"""The module of each file name suffix."""


def renderer_for(path: Path) -> Renderer:
    """Return what renders a document for the suffix of a file name, the same bytes for the same document.

    Everything in the document may be hostile.

    Raises
    ------
    ConfigError
        When there is no such format (the message lists all), or it cannot be written on this machine.
    """
    if (name := SUFFIXES.get(path.suffix.lower())) is None:
        kind = f"a {path.suffix} file" if path.suffix else "a file without a suffix"
        raise ConfigError(
            f"A report cannot be written as {kind} ({path.name!r}). Supported: {', '.join(SUFFIXES)}."
        )
    module = import_module(f"{__name__}.{name}")
    if hasattr(module, "check"):
        module.check()
    render: Renderer = module.render
    return render
