"""The lift axis that all variants of a review share."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from promptlift.widgets.review.cards import lift_axis


def row(stage, lift, low, high, *, is_original=False):
    return {
        "is_original": is_original,
        "stage": stage,
        "lift": lift,
        "lift_low": low,
        "lift_high": high,
        "lift_expected": lift,
    }


ORIGINAL = row(None, None, None, None, is_original=True)
SCREENED = row("screen", 60.0, -90.0, 450.0)


def axis_of(*rows):
    return lift_axis(SimpleNamespace(variants=[ORIGINAL, *rows]))


def test_wide_intervals_of_screened_variants_leave_the_axis_to_what_decides():
    low, high = axis_of(SCREENED, row("confirm", 20.0, -4.0, 44.0))
    assert (low, high) == pytest.approx((-4.0 - 0.08 * 64.0, 60.0 + 0.08 * 64.0))


def test_without_a_confirmed_variant_the_axis_holds_every_interval():
    low, high = axis_of(SCREENED)
    assert low < -90.0
    assert high > 450.0
