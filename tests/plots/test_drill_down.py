"""Every mark of a plot leads to its conversations."""

from __future__ import annotations

import io
import pickle

import pytest
from matplotlib.axes import Axes

from promptlift import analysis, plots
from promptlift.plots.drill_down import drill_down_of
from promptlift.plots.palette import MARKERS
from support.drawn import points
from support.every_plot import table

DATA = table(400, ("v1", "v2"))
CASES = {
    "issues": ({"by": "prompt_id"},),
    "topics": ({"by": ["prompt_id", "llm_model"]},),
    "changes": ({"at": "2026-02-10"}, {"at": "2026-02-10", "of": "topics"}),
    "completion_trend": ({"by": "prompt_id", "freq": "W", "tz": "Europe/Berlin"}, {"freq": "D"}),
    "sentiment_trend": ({"by": "prompt_id"}, {"freq": "W"}),
    "sentiment_distribution": ({"by": "prompt_id"},),
    "segments": ({"by": ["llm_model", "hour"]},),
    "compare": ({"by": "prompt_id"}, {"by": "llm_model", "outcome": "sentiment_score"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options"), [(name, one) for name, several in CASES.items() for one in several]
)
def test_each_mark_is_where_it_is_drawn_and_leads_to_as_many_conversations_as_it_says(name, options):
    ax = getattr(plots, name)(DATA, **options)
    assert isinstance(ax, Axes)
    marks = drill_down_of(ax).marks
    seen = points(ax, *MARKERS)
    assert len(marks) == len(seen) > 0
    for mark in marks[:: max(1, len(marks) // 5)]:
        assert (mark.x, mark.y) in seen
        found = ax.conversations(*mark.key)
        words = mark.words.rpartition("points, " if name == "changes" else "n = ")[2]
        counts = [int(part.partition(" of ")[0].replace(",", "")) for part in words.split(" then ")]
        assert len(found) == sum(counts), mark
        assert list(found.columns) == list(DATA.columns)


def test_what_is_written_into_the_table_later_changes_nothing():
    data = table(100, ("v1",))
    ax = plots.sentiment_distribution(data)
    before = len(ax.conversations("negative"))
    data["sentiment"] = "positive"
    assert len(ax.conversations("negative")) == before > 0


def test_a_pickled_figure_carries_no_conversations_and_can_be_drawn():
    figure = plots.completion_trend(DATA).figure
    text = pickle.dumps(figure)
    assert b"conversation_id" not in text
    again = pickle.loads(text)
    again.savefig(io.BytesIO())
    with pytest.raises(ValueError, match="does not have the conversations"):
        again.axes[0].conversations("2026-02-05")


def test_a_plot_of_a_result_says_how_to_get_at_the_conversations():
    result = analysis.issues(DATA)
    ax = plots.issues(result)
    with pytest.raises(ValueError, match=r"analysis\.conversations_of\(result, df"):
        ax.conversations("Long wait")
    assert len(analysis.conversations_of(result, DATA, "Long wait")) > 0
