"""Small pictures of a number over passes or weeks, drawn as boxes that any page can show without scripts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup

from promptlift.schema.static_html import element

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Bar", "bars", "bars_html", "last_values"]

_HEIGHT: Final = 28
# A number that is 0 is there all the same.
_LEAST: Final = 3.0


class Bar(NamedTuple):
    """One pass or week: where its bar begins and how high it is, in percent of the picture; no height where nothing is known."""

    bottom: float
    height: float


def bars(values: Sequence[float | None], *, low: float | None = None, high: float | None = None) -> list[Bar]:
    """Draw one bar a value from 0, up or down.

    Parameters
    ----------
    values
        By pass or week; None where there is none.
    low, high
        Ends of the axis; by default those of the values and 0.
    """
    known = [one for one in values if one is not None and math.isfinite(one)]
    start = min(0.0, *known) if low is None and known else low or 0.0
    end = max(0.0, *known) if high is None and known else high or 0.0
    spread = (end - start) or 1.0
    drawn = []
    for value in values:
        if value is None or not math.isfinite(value):
            drawn.append(Bar(0.0, 0.0))
            continue
        bottom = 100 * (min(value, 0.0) - start) / spread
        height = max(_LEAST, 100 * abs(value) / spread)
        drawn.append(Bar(round(min(bottom, 100 - _LEAST), 2), round(min(height, 100 - max(bottom, 0.0)), 2)))
    return drawn


def last_values(words: Sequence[str], most: int = 12) -> str:
    """Return what the bars say, in words: the last values, with an ellipsis where there are more."""
    return ("… " if len(words) > most else "") + ", ".join(words[-most:])


def bars_html(drawn: Sequence[Bar], *, label: str) -> Markup:
    """Return the bars as HTML; ``label`` says the same in words, for those who cannot see them."""
    if not drawn:
        return Markup("")
    boxes = [
        element(
            "span",
            style=(
                f"display:inline-block;width:7px;margin:0 1px {bar.bottom * _HEIGHT / 100:.1f}px;vertical-align:bottom;"
                f"height:{bar.height * _HEIGHT / 100:.1f}px;background:#2b83ba"
            ),
        )
        for bar in drawn
    ]
    style = f"display:inline-block;height:{_HEIGHT}px;line-height:{_HEIGHT}px;font-size:0;white-space:nowrap;vertical-align:middle"
    return element("span", *boxes, style=style, title=label)
