"""Intervals and confidence drawn as boxes in a row, and the axis that all variants of a review share."""

from __future__ import annotations

import pytest

from promptlift.widgets.interval_bars import confidence_pieces, effect_pieces, interval_bar
from promptlift.widgets.tree import static_html


def kinds(pieces):
    return [piece.kind for piece in pieces]


def place(pieces, kind):
    """Percent from the left at which a marker is."""
    return sum(piece.width for piece in pieces[: kinds(pieces).index(kind)])


def width(pieces, kind):
    return sum(piece.width for piece in pieces if piece.kind == kind)


def test_markers_are_where_their_numbers_are():
    pieces = effect_pieces(20.0, 10.0, 40.0, expected=15.0, axis=(-50.0, 50.0), interval=True)
    places = {kind: place(pieces, kind) for kind in ("zero", "dot", "expected", "line")}
    assert places == pytest.approx({"zero": 50, "dot": 70, "expected": 65, "line": 60})
    assert width(pieces, "line") == pytest.approx(30)
    assert sum(piece.width for piece in pieces) == pytest.approx(100, abs=0.1)
    pieces = effect_pieces(20.0, None, None, axis=(-10.0, 30.0), interval=False)
    assert "hollow" in kinds(pieces)
    assert not {"dot", "line", "open-low", "open-high"} & set(kinds(pieces))
    assert effect_pieces(None, 1.0, 2.0, axis=(0.0, 5.0), interval=True) == []
    assert interval_bar([], "x") is None


def test_an_end_without_a_bound_or_beyond_the_axis_gets_an_arrow_at_the_edge():
    pieces = effect_pieces(20.0, 5.0, None, axis=(0.0, 50.0), interval=True)
    assert kinds(pieces)[-1] == "open-high"
    assert place(pieces, "line") == pytest.approx(10)
    pieces = effect_pieces(20.0, -80.0, 300.0, axis=(-10.0, 40.0), interval=True)
    assert (kinds(pieces)[0], kinds(pieces)[-1]) == ("open-low", "open-high")
    assert width(pieces, "line") == pytest.approx(100)


def test_confidence_is_a_bar_with_a_tick_at_what_a_winner_needs():
    pieces = confidence_pieces(0.75, 0.9)
    assert width(pieces, "fill") == pytest.approx(75)
    assert place(pieces, "tick") == pytest.approx(90)
    assert kinds(confidence_pieces(1.0, None)) == ["fill"]
    assert confidence_pieces(None, 0.9) == []
    html = str(static_html(interval_bar(pieces, '"><script>x</script>')))
    assert "<script" not in html
    assert "title=" in html
