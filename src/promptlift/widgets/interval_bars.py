"""Intervals and confidence drawn as a row of boxes, which any page can show without scripts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from promptlift.widgets.tree import h

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.widgets.tree import Node

__all__ = ["Piece", "common_axis", "confidence_pieces", "effect_pieces", "interval_bar"]

Kind = Literal[
    "gap", "line", "fill", "rest", "zero", "dot", "hollow", "expected", "tick", "open-low", "open-high"
]

_ORDER: Final = {"zero": 0, "tick": 0, "open-low": 1, "expected": 2, "dot": 3, "hollow": 3, "open-high": 4}
_MARGIN: Final = 0.08


class Piece(NamedTuple):
    """One box: its kind, and its width in percent (0 for a marker)."""

    kind: Kind
    width: float = 0.0


def common_axis(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the ends of an axis that contains 0 and every known value, shared by all variants."""
    known = [0.0, *(one for one in values if one is not None and math.isfinite(one))]
    low, high = min(known), max(known)
    spread = (high - low) or 1.0
    return low - _MARGIN * spread, high + _MARGIN * spread


def effect_pieces(
    lift: float | None,
    low: float | None,
    high: float | None,
    *,
    expected: float | None = None,
    axis: tuple[float, float],
    interval: bool,
) -> list[Piece]:
    """Draw a lift with its interval on an axis.

    Parameters
    ----------
    lift, low, high, expected
        Numbers on the axis; None where unknown.
    axis
        Its ends.
    interval
        Whether the service reported an interval. Without one the dot is hollow and has no line; with one, an end that is
        missing, and so unbounded, or beyond the axis gets an arrow.
    """
    if lift is None:
        return []
    start, end = axis
    left = start if low is None else max(low, start)
    right = end if high is None else min(high, end)
    markers: list[tuple[float, Kind]] = [(0.0, "zero"), (lift, "dot" if interval else "hollow")]
    if expected is not None:
        markers.append((expected, "expected"))
    if interval:
        markers += [(left, "open-low")] if low is None or low < start else []
        markers += [(right, "open-high")] if high is None or high > end else []
    covered = (left, right) if interval else (math.inf, -math.inf)
    return _row(markers, covered, axis, ("gap", "line"))


def confidence_pieces(confidence: float | None, needed: float | None) -> list[Piece]:
    """Draw a confidence from 0 to 1 as a bar, with a tick at the value that a winner needs."""
    if confidence is None:
        return []
    markers: list[tuple[float, Kind]] = [(needed, "tick")] if needed is not None else []
    return _row(markers, (0.0, confidence), (0.0, 1.0), ("rest", "fill"))


def _row(
    markers: list[tuple[float, Kind]],
    covered: tuple[float, float],
    axis: tuple[float, float],
    kinds: tuple[Kind, Kind],
) -> list[Piece]:
    """Return the boxes from left to right: empty or covered ones, and the markers between them."""
    start, end = axis
    whole = end - start
    inside = [(min(max(place, start), end), kind) for place, kind in markers]
    edges = sorted(
        {start, end, *(place for place, _ in inside), *(min(max(one, start), end) for one in covered)}
    )
    pieces: list[Piece] = []
    for place, after in zip(edges, [*edges[1:], None], strict=True):
        here = sorted((kind for position, kind in inside if position == place), key=lambda kind: _ORDER[kind])
        pieces += [Piece(kind) for kind in here]
        if after is not None:
            middle = (place + after) / 2
            kind = kinds[1] if covered[0] <= middle <= covered[1] else kinds[0]
            pieces.append(Piece(kind, round(100 * (after - place) / whole, 2)))
    return pieces


def interval_bar(pieces: Sequence[Piece], words: str) -> Node | None:
    """Return the boxes as a node; the words say the same, for those who cannot see them."""
    if not pieces:
        return None
    boxes = [
        h(f"span.plw-piece.plw-piece-{kind}", style=f"width:{width}%" if width else None)
        for kind, width in pieces
    ]
    return h("span.plw-interval", boxes, role="img", aria_label=words, title=words)
