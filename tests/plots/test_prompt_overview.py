"""The overview page from rows, from a workspace, and from the service's aggregates."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.pyplot as plt
import polars as pl
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color

from promptlift import analysis, plots
from promptlift.errors import FrameError, NotFound
from promptlift.schema.insights import PromptInsightsView
from support.cases import slow_except
from support.drawn import words
from support.sentences import PLOTS
from support.synthetic_tables import conversations, small

SUMMARY = {
    "totalConversations": 420,
    "completedConversations": 300,
    "abandonedConversations": 120,
    "completionRate": 71.4,
}
VIEW = {
    "promptId": "p",
    "period": {"days": 30},
    "summary": {"totalConversations": 420, "completionRate": 71.4},
    "metrics": {
        "taskCompletion": {"rate": 71.4, "trend": "+5.2%"},
        "sentiment": {"average": -0.31, "distribution": {"positive": 50, "neutral": 30, "negative": 20}},
    },
    "topIssues": [{"issue": "Costs $5 or $6", "frequency": 12, "impact": "high"}],
}


class Workspace:
    """A workspace as far as the overview needs one, noting what it is asked."""

    def __init__(self, table=None, view=VIEW):
        self.table, self.view, self.asked = table, view, []
        self.client = SimpleNamespace(prompts=SimpleNamespace(get=self.prompt))

    def conversations(self, *, prompt_id, insights):
        self.asked.append(("conversations", prompt_id))
        assert insights
        return self.table

    def prompt_insights(self, prompt_id):
        self.asked.append(("prompt_insights", prompt_id))
        return self.view

    def prompt(self, prompt_id):
        return SimpleNamespace(id=prompt_id, name="Support for $ACME$")


def whiskers(figure):
    return [c for ax in figure.axes for c in ax.collections if isinstance(c, LineCollection)]


def test_the_page_has_four_panels_with_the_numbers_of_the_analysis():
    table = conversations(600)
    figure = plots.prompt_overview(table)
    row = analysis.prompt_overview(table).iloc[0]
    texts = words(figure)
    assert len(figure.axes) == 4
    assert {"600", f"{row['rate']:.0%}", "Task completion", "Sentiment", "Issues"} <= set(texts)
    assert f"95% interval {row['rate_low']:.0%} to {row['rate_high']:.0%} n = {row['n']:,}" in texts
    assert whiskers(figure)


def test_the_labels_that_a_service_reports_of_a_word_list_are_not_drawn():
    judged = plots.prompt_overview(Workspace(), "p", rows=False).axes[2]
    listed = plots.prompt_overview(Workspace(view=VIEW | {"analyser": "lexicon"}), "p", rows=False).axes[2]
    assert (len(judged.lines), len(listed.lines)) == (3, 0)
    assert any("A word list judged" in text for text in words(listed))


@pytest.mark.parametrize("n", slow_except([0], [0, 1, 4, 5]))
def test_few_or_no_conversations_give_a_page_too(n):
    texts = words(plots.prompt_overview(conversations(n, seed=2)))
    assert ("No conversations" in texts) == (n == 0)


def test_a_workspace_is_read_once_and_the_prompt_has_its_name():
    workspace = Workspace(conversations(80))
    figure = plots.prompt_overview(workspace, "p")
    assert workspace.asked == [("conversations", "p")]
    assert figure.texts[0].get_text() == r"Support for \$ACME\$"


@pytest.mark.slow
def test_a_table_is_cut_to_the_prompt():
    table = conversations(200)
    expected = (table["prompt_id"] == "a").sum()
    assert f"{expected:,}" in words(plots.prompt_overview(table, "a"))
    assert f"{expected:,}" in words(plots.prompt_overview(pl.from_pandas(table), "a"))


@pytest.mark.slow
def test_a_trend_without_an_earlier_period_is_none():
    completion = {"rate": 71.4, "trend": "+0.0%"}
    for fields, said in (
        (completion, "Trend as reported: +0.0%"),
        ({**completion, "trendPoints": 0.0}, "Trend as reported: +0.0%"),
        ({**completion, "trendPoints": None}, "No earlier period to compare with"),
    ):
        data = VIEW | {"metrics": VIEW["metrics"] | {"taskCompletion": fields}, "summary": SUMMARY}
        for view in (data, PromptInsightsView.from_wire(data)):
            assert said in words(plots.prompt_overview(Workspace(view=view), "p", rows=False))


def test_aggregates_are_drawn_hollow_and_without_intervals():
    workspace = Workspace(view=SimpleNamespace(model_dump=lambda **_: VIEW))
    figure = plots.prompt_overview(workspace, "p", rows=False)
    texts = words(figure)
    assert workspace.asked == [("prompt_insights", "p")]
    assert not whiskers(figure)
    assert {"420", "71%", "−0.31", "as reported", "Trend as reported: +5.2%"} <= set(texts)
    assert any("so there are no intervals" in text for text in texts)
    dots = [line for ax in figure.axes for line in ax.lines if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots] == pytest.approx([0.2, 0.3, 0.5, 12])
    assert all(same_color(dot.get_markerfacecolor(), figure.axes[2].get_facecolor()) for dot in dots)


def test_aggregates_with_holes_are_drawn_with_holes():
    view = {"metrics": None, "topIssues": [{}], "summary": {"totalConversations": "many"}}
    assert "Not reported" in words(plots.prompt_overview(Workspace(view=view), "p", rows=False))


def test_a_fraction_is_a_fraction_and_a_percent_a_percent():
    view = {"metrics": {"taskCompletion": {"rate": 0.714}}}
    assert "71%" in words(plots.prompt_overview(Workspace(view=view), "p", rows=False))


def test_a_workspace_without_a_prompt_is_asked_for_one():
    with pytest.raises(ValueError, match=PLOTS["name the prompt"]):
        plots.prompt_overview(Workspace())
    with pytest.raises(ValueError, match="rows=False needs a workspace"):
        plots.prompt_overview(conversations(3), rows=False)


def test_errors_come_before_any_figure():
    class Gone(Workspace):
        def prompt(self, prompt_id):
            raise NotFound(f"There is no prompt {prompt_id}", status=404)

    with pytest.raises(NotFound):
        plots.prompt_overview(Gone(conversations(5)), "p")
    with pytest.raises(FrameError):
        plots.prompt_overview(small(started_at=["2026-01-01"]))
    assert plt.get_fignums() == []


@pytest.mark.slow
def test_each_panel_has_its_finding_unless_there_is_to_be_none():
    table = conversations(60)
    texts = words(plots.prompt_overview(table))
    assert any("completed their task (" in text for text in texts)
    assert any("is the most frequent issue" in text for text in texts)
    plain = words(plots.prompt_overview(table, title=None))
    assert not any("is the most frequent issue" in text for text in plain)
    assert "Mine" in words(plots.prompt_overview(table, title="Mine"))


@pytest.mark.slow
def test_ends_of_an_interval_that_look_alike_have_one_more_digit():
    table = conversations(30_000, seed=4)
    said = next(text for text in words(plots.prompt_overview(table)) if text.startswith("95% interval"))
    low, high = said.removeprefix("95% interval ").split(",")[0].split(" to ")
    assert low != high
    few = small(status=["completed"] * 10**5, task_completed=[i % 10 < 7 for i in range(10**5)], sentiment=["neutral"] * 10**5, sentiment_score=[0.5] * 10**5, conversation_id=["c"] * 10**5, issues=[None] * 10**5, started_at=["2026-01-01"] * 10**5)  # fmt: skip
    assert any(text.startswith("95% interval 69.7% to 70.3%") for text in words(plots.prompt_overview(few)))
