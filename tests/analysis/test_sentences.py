"""True sentences: for any data, a sentence has the direction, the numbers and the strength of the table beside it."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift import analysis
from support.true_sentences import NUMBER, agrees, check

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
        few = min(len(first), len(second)) < 10
        assert ("cannot be compared" if few else "does not vary") in sentence
    elif low <= 0 <= high or min(row["n"], row["n_control"]) < 10:
        assert row["verdict"] == "no winner"
        assert not re.search("higher|lower", sentence)
        agrees(re.search(rf"({NUMBER}) measured", sentence)[1], difference)
    else:
        assert ("higher" in sentence, "lower" in sentence) == (difference > 0, difference < 0)
        assert ("; clearly" in sentence) == (row["verdict"] == ("winner" if difference > 0 else "worse"))
        agrees(re.search(rf"is ({NUMBER}) (?:higher|lower)", sentence)[1], abs(difference))
