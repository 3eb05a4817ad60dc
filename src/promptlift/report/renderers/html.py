"""A report as one HTML file: no scripts, no requests, everything inside."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

    from promptlift.report.document import Document

__all__ = ["SUFFIXES", "render"]

SUFFIXES: tuple[str, ...] = (".html", ".htm")


def render(document: Document) -> bytes:
    """Write a document as HTML."""
    template = _environment().get_template("report.html.jinja")
    return template.render(document=document).encode("utf-8", "replace")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415  (importing the room is free)

    folder = resources.files("promptlift.report").joinpath("templates")
    environment = Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["percent"] = lambda share: f"{100 * share:.2f}%"
    return environment
