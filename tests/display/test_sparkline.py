"""Small pictures of a number by pass: bars from 0, up and down, and the same in words."""

from __future__ import annotations

import math

import pytest

from promptlift.display.static_html import Bar, bars, bars_html, last_values


def test_bars_begin_at_zero_and_go_up_and_down():
    up, down, flat, none = bars([30.0, -10.0, 0.0, None])
    assert up == Bar(25.0, 75.0)
    assert down == Bar(0.0, 25.0)
    assert flat.bottom == 25.0
    assert flat.height > 0
    assert none == Bar(0.0, 0.0)


def test_an_axis_can_be_given():
    assert bars([0.5, 1.0], low=0.0, high=1.0) == [Bar(0.0, 50.0), Bar(0.0, 100.0)]


@pytest.mark.parametrize(
    "values", [[], [None], [0.0, 0.0], [math.nan, math.inf], [-5.0], [1e-9, 1e9], [-1e9, 1.0]]
)
def test_no_bar_leaves_the_picture(values):
    for one in bars(values):
        assert one.bottom >= 0
        assert one.bottom + one.height <= 100.01


def test_only_the_last_values_are_said():
    assert last_values(["1", "2"]) == "1, 2"
    assert last_values([str(n) for n in range(14)], most=2) == "… 12, 13"


def test_without_values_there_is_no_picture():
    assert bars_html([], label="x") == ""
    assert bars_html(bars([1.0, None]), label="a <b>").count("<span") == 3
