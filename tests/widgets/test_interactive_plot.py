"""A plot whose marks open conversations: what the front end is told, what it may ask for, and the picture that stays."""

from __future__ import annotations

import base64
import io
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from promptlift import analysis, plots
from promptlift.widgets import InteractivePlot
from support.every_plot import table
from support.front_end import TreeFrontEnd
from support.topical import topical

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


def test_the_output_is_the_picture_and_the_view_with_marks_on_its_points():
    shown = plt.get_fignums()
    ax = plots.sentiment_distribution(DATA.assign(sentiment="positive"))
    plot = InteractivePlot(ax)
    # The cell does not show the figure a second time.
    assert plt.get_fignums() == shown
    bundle, about = plot._repr_mimebundle_()
    assert set(bundle) == {VIEW, "image/png", "text/plain"}
    assert bundle["text/plain"] == f"InteractivePlot({len(ax.conversations.marks)} marks)" == repr(plot)
    width, height = ax.figure.get_size_inches() * 100
    assert about["image/png"] == {"width": round(width), "height": round(height)}
    # The pixel of each mark has the colour of its point.
    picture = plt.imread(io.BytesIO(base64.b64decode(bundle["image/png"])), format="png")
    height, width = picture.shape[:2]
    points = [one for one in ax.lines if one.get_marker() == "o"]
    for mark, line in zip(TreeFrontEnd(plot).root.all(".plw-mark"), points, strict=True):
        x, y = map(float, re.findall(r"[\d.]+(?=%)", mark["style"]))
        pixel = picture[round(y * height / 100), round(x * width / 100), :3]
        assert tuple(pixel) == pytest.approx(mpl.colors.to_rgb(line.get_color()), abs=0.02)
    assert click(plot, 0).one("b").text.startswith("0 conversations · negative: 0%")
    plot.close()
    assert set(plot._repr_mimebundle_()[0]) == {"image/png", "text/plain"}


def test_a_topic_opens_its_conversations():
    found = analysis.atlas(topical("English", 60))
    plot = InteractivePlot(plots.atlas(found))
    first = found.table.iloc[0]
    assert click(plot, 0).one("b").text.startswith(f"{first['n']} conversations · {first['name']}: ")


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
