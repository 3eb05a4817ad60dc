"""The picture of topics: shares and outcomes, the most failures on top, and the way to the conversations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis, plots
from promptlift.errors import FrameError
from support.drawn import points, said, whiskers
from support.topical import topical

pytestmark = pytest.mark.slow  # the conversations are grouped

TABLE = topical("English", 160)
FAILED = TABLE["truth"].eq("refund") | (TABLE["truth"].eq("password") & (np.arange(160) % 4 == 0))
RATED = TABLE.assign(task_completed=pd.array(~FAILED, dtype="boolean"), basis="outcome")


@pytest.fixture(scope="module")
def found():
    return analysis.atlas(RATED)


def test_the_topic_with_the_most_failures_is_on_top_and_leads_to_its_conversations(found):
    ax = plots.atlas(found, title="auto")
    failures = (found.table["n_known"] * (1 - found.table["rate"])).to_numpy()
    expected = found.table.iloc[np.argsort(-failures, kind="stable")]
    from_the_top = sorted(points(ax, "o"), key=lambda place: -place[1])
    assert [x for x, _ in from_the_top] == pytest.approx(expected["rate"].tolist())
    ends = expected[["rate_low", "rate_high", "share_low", "share_high"]].to_numpy().reshape(-1, 2)
    np.testing.assert_allclose(sorted(whiskers(ax)), sorted(ends.tolist()))
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(expected["share"].tolist())
    first = expected.iloc[0]
    title = ax.get_title("left").replace("\n", " ")
    assert title.startswith("The topic with the most failures is")
    assert f"of its {first['n']} conversations completed their task" in title
    assert "need not be why it fails" in said(ax)
    assert [mark.key for mark in ax.conversations.marks] == [(name,) for name in expected["name"]]
    assert f"n = {first['n']}" in ax.conversations.marks[0].words
    behind = ax.conversations(first["name"])
    assert len(behind) == first["n"]
    assert set(behind["truth"]) == {"refund"}
    assert list(behind.columns) == [*RATED.columns, "topic"]
    with pytest.raises(ValueError, match="The table has no topic 'Refund'"):
        ax.conversations("Refund")
    with pytest.raises(FrameError, match=r"analysis\.atlas\(df\)\.conversations"):
        analysis.conversations_of(found.table, RATED, first["name"])


def test_a_word_list_and_no_outcome_show_shares_alone():
    for table in (TABLE, RATED.assign(basis="words")):
        found = analysis.atlas(table)
        ax, expected = plots.atlas(found, title="auto"), found.table
        from_the_top = sorted(points(ax, "o"), key=lambda place: -place[1])
        assert [x for x, _ in from_the_top] == pytest.approx(expected["share"].tolist())
        assert not ax.patches
        assert "The largest of" in ax.get_title("left")
        assert ("cannot be told without outcomes" in said(ax)) == (table is not TABLE)
        assert f"n = {expected['n'].iloc[0]} of 160" in ax.conversations.marks[0].words


def test_few_topics_of_many_and_none_are_said(found):
    ax = plots.atlas(found, top=1)
    assert "1 of " in said(ax)
    assert len(points(ax, "o")) == 1
    assert "No topics were found" in said(plots.atlas(RATED.head(5)))
