"""The overview page from rows and from a workspace, and its preview from the service's aggregates."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.colors import same_color

from promptlift import analysis, plots
from promptlift.errors import FrameError, NotFound
from promptlift.plots.prompt_overview import PREVIEW_FROM
from promptlift.schema.insights import PromptInsightsView
from support.drawn import points, said, whiskers, words
from support.sentences import PLOTS
from support.synthetic_tables import conversations, small

VIEW = {
    "promptId": "p",
    "period": {"days": 30},
    "summary": {"totalConversations": 420, "completedConversations": 300, "abandonedConversations": 120, "completionRate": 71.4},
    "metrics": {
        "taskCompletion": {"rate": 71.4, "trend": "+5.2%"},
        "sentiment": {"average": -0.31, "distribution": {"positive": 50, "neutral": 30, "negative": 20}},
    },
    "topIssues": [{"issue": "Costs $5 or $6", "frequency": 12, "impact": "high"}],
}  # fmt: skip


class Workspace:
    """A workspace as far as the overview needs one, noting what it is asked."""

    def __init__(self, table=None, view=VIEW):
        self.table, self.view, self.asked = table, view, []
        self.client = SimpleNamespace(prompts=SimpleNamespace(insights=self.insights))
        self._names = SimpleNamespace(call=lambda given, act: act(given))

    def conversations(self, *, prompt_id, insights):
        self.asked.append(("conversations", prompt_id))
        assert insights
        return self.table

    def insights(self, prompt_id, *, days):
        self.asked.append(("insights", prompt_id, days))
        return PromptInsightsView.from_wire(self.view)

    def prompts(self):
        return pd.DataFrame({"prompt_id": ["p"], "name": ["Support for $ACME$"]})


def test_the_page_has_four_panels_with_the_numbers_of_the_analysis():
    table = conversations(600)
    workspace = Workspace(table)
    figure = plots.prompt_overview(workspace, "p")
    assert workspace.asked == [("conversations", "p")]
    row = analysis.prompt_overview(table).iloc[0]
    texts = words(figure)
    assert {"600", f"{row['rate']:.0%}", "Task completion", "Sentiment", "Issues"} <= set(texts)
    assert r"Support for \$ACME\$" in texts
    assert f"95% interval {row['rate_low']:.0%} to {row['rate_high']:.0%} n = {row['n']:,}" in texts
    assert [bool(whiskers(ax)) for ax in figure.axes] == [False, True, True, True]
    # The finding of each panel is above it.
    for finding in ("completed their task (", "is the most frequent issue"):
        assert finding in said(figure)


def test_the_title_is_the_name_or_a_text_of_the_caller_and_findings_can_be_left_out():
    table = conversations(60)
    assert "is the most frequent issue" not in said(plots.prompt_overview(table, title=None))
    assert "Mine" in words(plots.prompt_overview(table, title="Mine"))


def test_errors_come_before_any_figure():
    class Gone(Workspace):
        def conversations(self, *, prompt_id, **_more):
            raise NotFound(f"There is no prompt {prompt_id}", status=404)

    with pytest.raises(NotFound):
        plots.prompt_overview(Gone(conversations(5)), "p")
    with pytest.raises(FrameError):
        plots.prompt_overview(small(started_at=["2026-01-01"]))
    with pytest.raises(ValueError, match=PLOTS["name the prompt"]):
        plots.prompt_overview(Workspace())
    assert plt.get_fignums() == []


@pytest.fixture
def shown(monkeypatch):
    """What a notebook shows, in order; its kernel is a stand-in."""
    import IPython
    import IPython.display

    plt.switch_backend("agg")  # before the stand-in: a first use of pyplot would register with a real shell
    log = []

    def display(figure, *, display_id):
        assert display_id
        log.append(("shown", figure))
        return SimpleNamespace(update=lambda data, **_raw: log.append(("changed", data)))

    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr(IPython.display, "display", display)
    return log


def large(total, read, **more):
    view = VIEW | {"summary": VIEW["summary"] | {"totalConversations": total}} | more
    source = Workspace(view=view)
    source.conversations = read
    return source


def test_a_notebook_shows_the_aggregates_of_a_large_prompt_until_its_rows_are_read(shown, monkeypatch):
    def read(**_):
        shown.append(("read", None))
        return conversations(0)

    figure = plots.prompt_overview(large(PREVIEW_FROM, read), "p1")
    assert [event for event, _ in shown] == ["shown", "read", "changed"]
    assert PLOTS["conversations are loading"] in said(shown[0][1])
    assert shown[2][1] == {"text/plain": ""}
    assert plt.get_fignums() == [figure.number]
    with pytest.raises(ZeroDivisionError):
        plots.prompt_overview(large(PREVIEW_FROM, lambda **_: 1 / 0), "p1")
    assert shown[-1] == ("changed", {"text/plain": ""})
    shown.clear()
    plots.prompt_overview(large(PREVIEW_FROM - 1, read), "p1")
    monkeypatch.setattr("IPython.get_ipython", SimpleNamespace)  # a script
    plots.prompt_overview(large(PREVIEW_FROM, read), "p1")
    assert [event for event, _ in shown] == ["read", "read"]


def test_aggregates_are_drawn_hollow_and_without_intervals(shown):
    plots.prompt_overview(large(PREVIEW_FROM, lambda **_: conversations(0)), "p1")
    figure = shown[0][1]
    assert not any(whiskers(ax) for ax in figure.axes)
    texts = {f"{PREVIEW_FROM:,}", "71%", "−0.31", "as reported", "Trend as reported: +5.2%"}
    assert texts <= set(words(figure))
    assert "so there are no intervals" in said(figure)
    assert [x for ax in figure.axes for x, _ in points(ax)] == pytest.approx([0.2, 0.3, 0.5, 12])
    faces = [line.get_markerfacecolor() for ax in figure.axes for line in ax.lines]
    assert all(same_color(face, figure.axes[2].get_facecolor()) for face in faces)
    # The labels of a word list are not drawn.
    shown.clear()
    plots.prompt_overview(large(PREVIEW_FROM, lambda **_: conversations(0), analyser="lexicon"), "p1")
    listed = shown[0][1]
    assert not listed.axes[2].lines
    assert "A word list judged" in said(listed)


@pytest.mark.usefixtures("shown")
def test_a_snapshot_which_has_no_aggregates_is_drawn_in_a_notebook_too():
    class Offline(Workspace):
        def insights(self, prompt_id, **_):
            raise NotFound(f"The snapshot does not have {prompt_id}", status=404)

    figure = plots.prompt_overview(Offline(conversations(60)), "p")
    assert "60" in words(figure)
