"""Intervals and confidence drawn as boxes in a row."""

from __future__ import annotations

import pytest

from promptlift.widgets.interval_bars import common_axis, confidence_pieces, effect_pieces, interval_bar
from promptlift.widgets.tree import static_html


def kinds(pieces):
    return [piece.kind for piece in pieces]


def place(pieces, kind):
    """Percent from the left at which a marker is."""
    at = kinds(pieces).index(kind)
    return sum(piece.width for piece in pieces[:at])


def test_markers_are_where_their_numbers_are():
    pieces = effect_pieces(20.0, 10.0, 40.0, expected=15.0, axis=(-50.0, 50.0), interval=True)
    assert sum(piece.width for piece in pieces) == pytest.approx(100, abs=0.1)
    assert place(pieces, "zero") == pytest.approx(50)
    assert place(pieces, "dot") == pytest.approx(70)
    assert place(pieces, "expected") == pytest.approx(65)
    assert sum(piece.width for piece in pieces if piece.kind == "line") == pytest.approx(30)
    assert place(pieces, "line") == pytest.approx(60)


def test_without_an_interval_the_dot_is_hollow_and_no_line_is_drawn():
    pieces = effect_pieces(20.0, None, None, axis=(-10.0, 30.0), interval=False)
    assert "hollow" in kinds(pieces)
    assert not {"dot", "line", "open-low", "open-high"} & set(kinds(pieces))


def test_an_end_without_a_bound_gets_an_arrow_at_the_edge():
    pieces = effect_pieces(20.0, 5.0, None, axis=(0.0, 50.0), interval=True)
    assert kinds(pieces)[-1] == "open-high"
    assert place(pieces, "line") == pytest.approx(10)


def test_an_end_beyond_the_axis_gets_an_arrow_at_the_edge():
    pieces = effect_pieces(20.0, -80.0, 300.0, axis=(-10.0, 40.0), interval=True)
    assert kinds(pieces)[0] == "open-low"
    assert kinds(pieces)[-1] == "open-high"
    assert sum(piece.width for piece in pieces if piece.kind == "line") == pytest.approx(100)


def test_nothing_measured_draws_nothing():
    assert effect_pieces(None, 1.0, 2.0, axis=(0.0, 5.0), interval=True) == []
    assert confidence_pieces(None, 0.9) == []
    assert interval_bar([], "x") is None


def test_confidence_is_a_bar_with_a_tick_at_what_a_winner_needs():
    pieces = confidence_pieces(0.75, 0.9)
    assert sum(piece.width for piece in pieces if piece.kind == "fill") == pytest.approx(75)
    assert place(pieces, "tick") == pytest.approx(90)
    assert kinds(confidence_pieces(1.0, None)) == ["fill"]


def test_the_axis_has_zero_and_every_number_inside():
    low, high = common_axis([None, 12.0, float("nan"), float("inf")])
    assert low < 0
    assert high > 12
    assert common_axis([]) == (-0.08, 0.08)


def test_the_drawing_says_its_words_and_runs_nothing():
    html = str(static_html(interval_bar(confidence_pieces(0.5, 0.9), '"><script>x</script>')))
    assert "<script" not in html
    assert "title=" in html
