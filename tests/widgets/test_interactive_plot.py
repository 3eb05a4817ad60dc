"""A plot whose marks open conversations: what the front end is told, what it may ask for, and the picture that stays."""

from __future__ import annotations

import base64
import io
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import polars as pl
import pytest

from promptlift import analysis, plots
from promptlift.widgets import InteractivePlot
from support.every_plot import table
from support.front_end import TreeFrontEnd

mpl.use("agg")
VIEW = "application/vnd.jupyter.widget-view+json"
DATA = table(300, ("v1", "v2"))


@pytest.fixture(autouse=True)
def figures_are_closed():
    yield
    plt.close("all")


def click(plot, mark):
    """Press a mark, and return what is shown below the picture."""
    front = TreeFrontEnd(plot)
    front.press("open", mark=mark)
    return front.root.one(".plw-below")


@pytest.mark.slow
def test_a_click_opens_a_browser_on_the_rows_of_the_mark():
    ax = plots.issues(DATA, by="prompt_id")
    plot = InteractivePlot(ax)
    for place, mark in enumerate(ax.conversations.marks):
        opened = click(plot, place)
        rows = ax.conversations(*mark.key)
        assert opened.one("b").text == f"{len(rows)} conversations · {mark.words}"
        assert opened.all(widget=f"anywidget:{plot.browser.model_id}")
        assert plot.browser._catalogue.ids == rows["conversation_id"].tolist()
    there = TreeFrontEnd(plot)
    assert [one["mark"] for one in there.root.all(".plw-mark", aria_expanded="true")] == [str(place)]
    there.press("close", keys="Escape")
    assert there.root.one(".plw-below").text == ""


def test_any_other_message_is_ignored():
    plot = InteractivePlot(plots.issues(DATA))
    there = TreeFrontEnd(plot)
    for message in (None, [], {}, {"action": "open"}, {"action": 7, "mark": "0"}, {"action": "open", "mark": 0}, {"action": "open", "mark": "-1"},
                    {"action": "open", "mark": "10000"}, {"action": "open", "mark": "²"}, {"action": "open", "mark": "9" * 99}):  # fmt: skip
        there.receive(message)
        assert there.root.one(".plw-below").text == there.notice == ""
        assert plot.browser is None
        assert plot.labels is None


def test_the_output_is_the_picture_and_the_view():
    shown = plt.get_fignums()
    ax = plots.completion_trend(DATA, freq="W")
    plot = InteractivePlot(ax)
    # The cell does not show the figure a second time.
    assert plt.get_fignums() == shown
    bundle, about = plot._repr_mimebundle_()
    assert set(bundle) == {VIEW, "image/png", "text/plain"}
    assert bundle["text/plain"] == f"InteractivePlot({len(ax.conversations.marks)} marks)" == repr(plot)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    width, height = ax.figure.get_size_inches() * 100
    assert about["image/png"] == {"width": round(width), "height": round(height)}
    plot.close()
    bundle, _ = plot._repr_mimebundle_()
    assert set(bundle) == {"image/png", "text/plain"}


def test_marks_lie_on_the_points_of_the_picture():
    """The pixel of each mark has the colour of its point."""
    ax = plots.sentiment_distribution(DATA)
    plot = InteractivePlot(ax)
    picture = plt.imread(io.BytesIO(base64.b64decode(plot._png)), format="png")
    height, width = picture.shape[:2]
    for mark, line in zip(
        TreeFrontEnd(plot).root.all(".plw-mark"),
        [one for one in ax.lines if one.get_marker() == "o"],
        strict=True,
    ):
        x, y = map(float, re.findall(r"[\d.]+(?=%)", mark["style"]))
        pixel = picture[round(y * height / 100), round(x * width / 100), :3]
        assert tuple(pixel) == pytest.approx(mpl.colors.to_rgb(line.get_color()), abs=0.02)


@pytest.mark.slow
def test_labels_stay_when_another_mark_is_opened(tmp_path):
    path = tmp_path / "labels.csv"
    for options in ({}, {"labels": path}, {"labels": str(path)}):
        path.unlink(missing_ok=True)
        plot = InteractivePlot(plots.issues(DATA), label_sets={"reason": ["bug", "other"]}, **options)
        click(plot, 0)
        name = plot.browser._catalogue.ids[0]
        TreeFrontEnd(plot.browser).press("label", field="task_completed", value="false")
        click(plot, 1)
        assert plot.labels["conversation_id"].tolist() == [name]
        assert "reason" in plot.labels


@pytest.mark.slow
def test_what_cannot_be_opened_says_why():
    plot = InteractivePlot(plots.sentiment_distribution(DATA.drop(columns="conversation_id")))
    click(plot, 0)
    assert "conversation_id" in TreeFrontEnd(plot).notice
    with pytest.raises(ValueError, match="Draw it from the conversations"):
        InteractivePlot(plots.issues(analysis.issues(DATA)))
    with pytest.raises(ValueError, match=r"such as plots\.issues"):
        InteractivePlot(plt.figure())
    with pytest.raises(ValueError, match=r"such as plots\.issues\(df\), not DataFrame"):
        InteractivePlot(DATA)
    dense = plots.completion_trend(table(20_000), freq="h", by=["llm_model", "prompt_id"])
    with pytest.raises(ValueError, match="more than 5,000"):
        InteractivePlot(dense)


def test_a_mark_without_conversations_opens_an_empty_browser():
    data = DATA.assign(sentiment="positive")
    plot = InteractivePlot(plots.sentiment_distribution(data))
    assert click(plot, 0).one("b").text.startswith("0 conversations · negative: 0%")


def test_rows_of_another_engine_are_opened_too():
    native = pl.from_pandas(DATA.head(40))
    plot = InteractivePlot(plots.issues(native))
    assert click(plot, 0).one("b").text.startswith(f"{len(plot.browser._catalogue.ids)} conversations · ")


@pytest.mark.slow
def test_the_front_end_gets_the_picture_and_the_words_but_no_conversations():
    plot = InteractivePlot(plots.issues(DATA))
    sent = TreeFrontEnd(plot).everything()
    assert "Long wait" in sent
    assert '"c1"' not in sent
