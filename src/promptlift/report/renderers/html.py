"""A report as one HTML file: no scripts, no requests, everything inside."""

from __future__ import annotations

import base64
import math
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from promptlift.report.cells import heading, printed, value_of
from promptlift.report.headlines import CARDS
from promptlift.report.wording import clock_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment

    from promptlift.report.document import Cell, Document, Headline, Kind, Logo

__all__ = ["FORMATS", "page"]

_ENDS: Final = {"share": (0.0, 1.0), "score": (-1.0, 1.0)}


def page(document: Document, *, paged: bool = False) -> str:
    """Write a document as HTML.

    Parameters
    ----------
    document
        What to write.
    paged
        Whether it goes on sheets of paper: then what a page shows on request stands at the end.
    """
    template = _environment().get_template("report.html.jinja")
    text = template.render(document=document, paged=paged, cards=len(document.headlines) <= CARDS)
    return text.encode("utf-8", "replace").decode("utf-8")


def _render(document: Document) -> bytes:
    return page(document).encode("utf-8")


FORMATS: dict[str, Callable[[Document], bytes]] = {".html": _render, ".htm": _render}


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
    environment.filters |= {
        "percent": lambda share: f"{100 * share:.2f}%",
        "printed": _printed,
        "heading": heading,
        "value_of": value_of,
        "scale": _scale,
        "clock": clock_time,
        "data_uri": _data_uri,
    }
    return environment


def _printed(cell: Cell, kind: Kind) -> str:
    """Print a cell that breaks before its interval only."""
    text = printed(cell, kind)
    if kind == "text":
        return text
    number, bracket, rest = text.partition(" (")
    return number.replace(" ", "\u00a0") + bracket + rest.replace(" ", "\u00a0")


def _scale(number: Headline) -> tuple[float, float, float] | None:
    """Where the number and the ends of its interval stand between the ends of their scale, as fractions."""
    low, high = _ENDS.get(number.kind, (0.0, 0.0))
    estimate = number.estimate
    if low == high or math.isnan(estimate.value):
        return None
    ends = [(end - low) / (high - low) for end in (estimate.value, estimate.low, estimate.high)]
    return ends[0], ends[1], ends[2]


def _data_uri(logo: Logo) -> str:
    return f"data:image/{logo.kind};base64,{base64.b64encode(logo.data).decode('ascii')}"
