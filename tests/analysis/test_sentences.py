"""True sentences: for any data, a sentence has the direction, the numbers and the strength of the table beside it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.analysis.sentences import (
    comparison_sentence,
    completion_sentence,
    difference_sentence,
    strength_of,
    trend_sentence,
)
from promptlift.analysis.wording import figures, signed_figures
from support.true_sentences import NUMBER, agrees, check, value

COUNTS = st.tuples(*[st.integers(0, 400)] * 2)


def table_of(**counts):
    """Rows of each group: how many completed, how many did not."""
    return pd.DataFrame(
        [(name, done) for name, (yes, no) in counts.items() for done in [True] * yes + [False] * no],
        columns=["run", "task_completed"],
    )


@given(st.lists(COUNTS, min_size=2, max_size=4), st.sampled_from([0.8, 0.95, 0.99]))
@pytest.mark.slow
def test_a_sentence_on_groups_agrees_with_its_table(groups, level):
    if sum(map(bool, map(sum, groups))) < 2:
        return
    table = table_of(**{f"v{place}": counts for place, counts in enumerate(groups) if sum(counts)})
    result = analysis.compare(table, by="run", level=level)
    for row, sentence in zip(result.to_dict("records"), result.attrs["promptlift"]["sentences"], strict=True):
        check(sentence, row)


@example((112, 23), (139, 14))
@example((139, 14), (112, 23))
@example((308, 141), (48, 28))
@given(COUNTS.filter(any), COUNTS.filter(any))
@pytest.mark.slow
def test_the_title_of_a_plot_and_the_sentence_have_the_same_numbers(first, second):
    result = analysis.compare(table_of(v1=first, v2=second), by="run", control="v1")
    (sentence,), said = result.attrs["promptlift"]["sentences"], finding(result)
    if result["verdict"].iloc[0] == "no winner":
        shown = [text.lstrip("+−") for text in re.findall(NUMBER, said.replace("v1", "").replace("v2", ""))]
        assert all(text in sentence for text in shown)
    else:
        assert sentence.startswith(said)


def test_one_point_is_one_point():
    result = analysis.compare(table_of(v1=(50, 50), v2=(51, 49)), by="run", control="v1")
    assert finding(result).startswith("No difference was found: v2 1 point higher than v1 (")
    assert ": +1 point measured (" in result.attrs["promptlift"]["sentences"][0]


@given(
    st.tuples(*[st.integers(0, 90)] * 4),
    st.sampled_from([0.8, 0.95]),
    st.sampled_from(["low", "moderate", "high"]),
)
@pytest.mark.slow
def test_a_sentence_on_pairs_agrees_with_its_table(cells, level, mode):
    outcomes = [(1, 1), (1, 0), (0, 1), (0, 0)]
    items = [pair for pair, n in zip(outcomes, cells, strict=True) for _ in range(n)]
    if not items:
        return
    table = pd.DataFrame(
        [(run, i, bool(done)) for i, pair in enumerate(items) for run, done in zip("ba", pair, strict=True)],
        columns=["run", "item", "task_completed"],
    )
    result = analysis.compare(table, by="run", pair="item", control="a", level=level, confidence_mode=mode)
    check(result.attrs["promptlift"]["sentences"][0], result.to_dict("records")[0])


@given(
    st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=40),
    st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=40),
)
@pytest.mark.slow
def test_a_sentence_on_scores_agrees_with_its_table(first, second):
    table = pd.DataFrame({"run": ["a"] * len(first) + ["b"] * len(second), "quality": [*first, *second]})
    result = analysis.compare(table, by="run", outcome="quality", control="a", kind="score")
    (row,), (sentence,) = result.to_dict("records"), result.attrs["promptlift"]["sentences"]
    difference, low, high = (row[f"difference{end}"] for end in ("", "_low", "_high"))
    if pd.isna(low) or pd.isna(high):
        assert "cannot be compared" in sentence
    elif low <= 0 <= high:
        assert not re.search("higher|lower", sentence)
        agrees(re.search(rf"({NUMBER}) measured", sentence)[1], difference)
    else:
        assert ("higher" in sentence, "lower" in sentence) == (difference > 0, difference < 0)
        assert ("; clearly" in sentence) == (row["verdict"] == ("winner" if difference > 0 else "worse"))
        agrees(re.search(rf"is ({NUMBER}) (?:higher|lower)", sentence)[1], abs(difference))


@given(st.floats(-5, 5), st.floats(0.0001, 5), st.floats(0.0001, 5), st.booleans())
def test_a_sentence_on_a_trend_agrees_with_its_interval(slope, below, above, is_trend):
    trend = {
        "points_per_day": slope, "points_low": slope - below, "points_high": slope + above, "is_trend": is_trend,
    }  # fmt: skip
    sentence = trend_sentence(trend)
    clear = is_trend and not trend["points_low"] <= 0 <= trend["points_high"]
    assert (" rises " in sentence, " falls " in sentence) == (clear and slope > 0, clear and slope < 0)
    assert ("No clear trend" in sentence) == (not clear)


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_sentence_on_completion_agrees_with_its_table(yes, no):
    row = analysis.completion(table_of(a=(yes, no)).assign(status="completed")).iloc[0]
    sentence = completion_sentence(rate=row["rate"], low=row["rate_low"], high=row["rate_high"], n=row["n"])
    if not yes + no:
        assert "No ended conversation" in sentence
        return
    found = re.search(rf"^({NUMBER})% of ([\d,]+) conversations? .* \(({NUMBER})% to ({NUMBER})%\)", sentence)
    agrees(found[1], 100 * row["rate"])
    agrees(found[3], 100 * row["rate_low"])
    agrees(found[4], 100 * row["rate_high"])
    assert value(found[2]) == row["n"]
    assert (value(found[1]) in (0, 100)) == (row["rate"] in (0, 1))


def test_the_words_of_each_strength():
    def say(difference, low, high, *, decided=False, **more):
        return difference_sentence(
            "v2", "v1", difference=difference, low=low, high=high, decided=decided, **more
        )

    assert say(-19.0, -28.2, -9.1, decided=True) == (
        "v2 completes 19 points less than v1 (9 to 28); clearly lower. 19 fewer of 100 users get their task done."
    )
    assert say(9.1, 1.2, 17.4, why_not="p is 0.06") == (
        "v2 completes 9 points more than v1 (1 to 17); perhaps higher, but not clearly: p is 0.06."
    )
    assert say(3.0, -6.0, 12.0) == (
        "No clear difference between v2 and v1: +3 points measured (−6 to +12); unclear. "
        "From 6 fewer to 12 more of 100 users who get their task done, anything is possible."
    )
    assert say(0.31, 0.12, 0.5, decided=True).endswith("3 more of 1,000 users get their task done.")
    assert say(1.0, 0.6, 1.6, decided=True).startswith("v2 completes 1.0 points more")
    assert say(None, None, None) == ("v2 and v1 cannot be compared yet: one of them has no known outcome.")
    assert "refunded 19 points more often" in say(19.0, 9.0, 28.0, decided=True, outcome="refunded")


def test_a_figure_keeps_its_digits_until_nothing_different_looks_alike():
    assert figures(70.04, 69.98, 70.1) == ("70.04", "69.98", "70.10")
    assert signed_figures(0.0, -0.4, 3.0) == ("0.0", "−0.4", "+3.0")
    assert figures(99.97, 99.2, 100.0, ends=(0.0, 100.0)) == ("99.97", "99.20", "100.00")
    assert strength_of(np.nan, 1, 2, decided=True) == "not known"


def test_a_hostile_name_stays_one_short_line():
    name = "v2\n\x1b[31m<script>\u202e" + "x" * 500
    table = pd.concat([table_of(a=(30, 10)), table_of(b=(20, 20)).assign(run=name)])
    (sentence,) = analysis.compare(table, by="run", control="a").attrs["promptlift"]["sentences"]
    assert "\n" not in sentence
    assert "\x1b" not in sentence
    assert "\u202e" not in sentence
    assert len(sentence) < 300


def test_labels_are_told_by_their_verdict():
    table = pd.DataFrame({"run": ["a"] * 60 + ["b"] * 60, "sentiment": ["negative"] * 50 + ["positive"] * 70})
    result = analysis.compare(table, by="run", outcome="sentiment", control="a")
    row = result.to_dict("records")[0]
    assert comparison_sentence(row, result.attrs["promptlift"]).startswith(
        "Sentiment of b is better than that of a"
    )
