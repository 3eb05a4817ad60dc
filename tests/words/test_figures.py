"""Figures of a sentence: rounded, in the order of the numbers, and 0% and 100% only where they are exact."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from promptlift.words.figures import percent

SHARES = st.integers(0, 10**6).map(lambda count: count / 10**6)


@given(st.lists(SHARES, min_size=1, max_size=4))
@example([0.575, 0.573])
@example([0.002, 0.0004, 0.0112])
def test_percentages_keep_their_order_and_reach_no_end(shares):
    shown = [text.removesuffix("%") for text in percent(*shares)]
    for share, text in zip(shares, shown, strict=True):
        assert "." not in text or text[-1] not in "0."
        assert abs(float(text) - 100 * share) <= 0.5 * 10 ** -len(text.partition(".")[2]) + 1e-9
        assert (float(text) in (0, 100)) == (share in (0, 1))
        for other, beside in zip(shares, shown, strict=True):
            assert (float(text) < float(beside)) == (share < other)
