"""A report as one self-contained HTML file without scripts or requests."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from promptlift.display.turn import Turn
from promptlift.report.cells import formatted, heading, parts_of, value_of
from promptlift.report.formatting import clock_time, omitted
from promptlift.report.sections.headlines import CARDS
from promptlift.schema.inert import shorten
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from jinja2 import Environment

    from promptlift.report.document import Cell, Document, Headline, Kind, Transcript, Width

__all__ = ["page", "render"]

_COLOR: Final = re.compile(r"(?<=: )#[0-9a-fA-F]{6}(?![0-9a-fA-F])")
_ENDS_ON_PAPER: Final = (4, 3)
_CHARS_ON_PAPER: Final = 300
_ENDS: Final = {"share": (0.0, 1.0), "score": (-1.0, 1.0)}


def page(document: Document, *, paged: bool = False) -> str:
    """Return a document as HTML.

    Parameters
    ----------
    document
        The document.
    paged
        Whether it is for paper: folded tables are left out, and long tables and conversations shortened.
    """
    template = _environment().get_template("report.html.jinja")
    figures = [figure for section in document.sections for figure in section.figures]
    # A reader's screen may be narrow or dark; paper is neither.
    drawings: dict[str, dict[Width, str]] = {}
    for figure in figures:
        on_paper: Width = "narrow" if figure.is_half else "wide"
        widths: tuple[Width, ...] = (on_paper,) if paged else ("wide", "narrow")
        drawings[figure.name] = {width: figure.paint(width) for width in widths}
    dark = "" if paged or not figures else _follow_page(drawings)
    text = template.render(
        document=document,
        paged=paged,
        cards=len(document.headlines) <= CARDS,
        drawings=drawings,
        dark=dark,
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def render(document: Document) -> bytes:
    """Render a document."""
    return page(document).encode("utf-8")


def _follow_page(drawings: dict[str, dict[Width, str]]) -> str:
    """Make the colours of drawings follow the page, and return their values on a dark one as style rules."""
    from promptlift.plots.notebook_theme import on_dark  # noqa: PLC0415  (loaded by the drawings)
    from promptlift.report.drawings import INK  # noqa: PLC0415

    of_page = {INK: "var(--ink)", "#ffffff": "var(--page)"}
    used: set[str] = set()

    def variable(found: re.Match[str]) -> str:
        color = found.group().lower()
        if color in of_page:
            return of_page[color]
        used.add(color)
        return f"var(--drawn-{color[1:]}, {color})"

    for drawing in drawings.values():
        for width, svg in drawing.items():
            drawing[width] = _COLOR.sub(variable, svg)
    return " ".join(f"--drawn-{color[1:]}: {on_dark(color)};" for color in sorted(used))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # noqa: PLC0415  (the package must import quickly)

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
        "formatted": _formatted,
        "heading": heading,
        "value_of": value_of,
        "scale": _scale,
        "clock": clock_time,
        "omitted": omitted,
        "data_uri": lambda logo: (
            f"data:image/{logo.kind};base64,{base64.b64encode(logo.data).decode('ascii')}"
        ),
        "on_paper": _on_paper,
    }
    return environment


def _formatted(cell: Cell, kind: Kind, *, dense: bool) -> str:
    """Return a cell as text that breaks only before its interval, and in a dense table anywhere."""
    number, ends = parts_of(cell, kind)
    if dense:
        return formatted(cell, kind)
    if kind == "text":
        return number
    number, ends = number.replace(" ", "\u00a0"), ends.replace(" ", "\u00a0")
    return f"{number} ({ends})" if ends else number


def _scale(number: Headline) -> tuple[float, float, float] | None:
    """Return the number and the bounds of its interval as fractions of their scale."""
    low, high = _ENDS.get(number.kind, (0.0, 0.0))
    estimate = number.estimate
    if low == high or math.isnan(estimate.value):
        return None
    ends = [(end - low) / (high - low) for end in (estimate.value, estimate.low, estimate.high)]
    return ends[0], ends[1], ends[2]


def _on_paper(transcript: Transcript) -> Transcript:
    """Return a transcript that takes a part of a printed page: its first and last messages, each of a few lines."""
    first, last = _ENDS_ON_PAPER
    hidden = len(transcript.turns) - first - last
    turns = list(transcript.turns)
    if hidden > 1:
        turns[first : len(turns) - last] = [Turn("gap", f"… {counted(hidden, 'message')} omitted …")]
    short = [
        replace(turn, content=shorten(turn.content, _CHARS_ON_PAPER)[0], cut=0)
        if turn.role != "gap"
        else turn
        for turn in turns
    ]
    return replace(transcript, turns=tuple(short))
