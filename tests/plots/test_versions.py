"""The history of a prompt, and promises beside production, by their artists."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color
from matplotlib.dates import date2num

from promptlift import analysis, plots
from promptlift.plots.simulated_vs_production import NO_INTERVAL
from support.drawn import words
from support.sentences import PLOTS
from support.synthetic_tables import conversations, small
from support.synthetic_versions import variants, versions

TABLE = conversations(600, prompts=("a",))
TEXTS = versions(["2026-01-20", "2026-02-01", "2026-02-12", "2026-03-01"])
PROMISED = {
    "optimization_id": "o1", "variant_id": "v1", "name": "Concise", "n_pairs": 150,
    "n11": 84, "n10": 31, "n01": 14, "n00": 21, "look": 3, "max_looks": 6, "interval_level": 0.9,
}  # fmt: skip


def marked(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def upright(ax):
    return [line for line in ax.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2]


def level(ax):
    return [line for line in ax.lines if len(line.get_xdata()) == 2 and len(set(line.get_ydata())) == 1]


def test_every_change_of_the_text_is_marked_where_it_happened():
    ax = plots.prompt_timeline(TABLE, versions=TEXTS)
    times = pd.to_datetime(["2026-02-01", "2026-02-12", "2026-03-01"], utc=True)
    assert [line.get_xdata()[0] for line in upright(ax)] == pytest.approx(date2num(times).tolist())
    assert [line.get_linestyle() for line in upright(ax)] == ["-", "--", "-"]


def test_the_rate_of_each_text_is_a_line_with_its_interval():
    ax = plots.prompt_timeline(TABLE, versions=TEXTS)
    expected = analysis.prompt_timeline(TABLE, versions=TEXTS)
    assert [line.get_ydata()[0] for line in level(ax)] == pytest.approx(expected["rate"].tolist())
    texts = words(ax)
    assert f"3: variant applied (n = {expected['n'][2]:,})" in texts
    assert f"4: edited, current (n = {expected['n'][3]:,})" in texts
    assert any(PLOTS["observational"] in text for text in texts)


@pytest.mark.parametrize(
    ("tz", "now", "freq"),
    [("Pacific/Kiritimati", "23:59:59.999", "MS"), ("America/Los_Angeles", "00:00", "h"), ("America/Los_Angeles", "00:00", "W")],
)  # fmt: skip
def test_a_text_that_went_live_at_the_last_minute_is_marked_at_any_hour_and_in_any_zone(now, freq, tz):
    applied = pd.Timestamp(f"2026-01-31 {now}", tz="UTC")
    edited = applied - pd.Timedelta(days=40)
    table = small(started_at=[edited, applied], status=["completed"] * 2, task_completed=[False, True])
    ax = plots.prompt_timeline(table, versions=versions([edited, applied], origins=["updated", "applied"]),
                               freq=freq, tz=tz)  # fmt: skip
    assert "2: variant applied, current (n = 1)" in words(ax)
    dashed = [line for line in upright(ax) if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == pytest.approx([date2num(applied)])
    assert ax.get_xlim()[0] < date2num(applied) < ax.get_xlim()[1]


def test_a_text_that_went_live_after_the_last_period_is_counted_in_words():
    later = versions(["2026-01-20", "2026-02-01", "2026-09-01"])
    table = small(
        started_at=["2026-01-20", "2026-02-01"], status=["completed"] * 2, task_completed=[True] * 2
    )
    texts = words(plots.prompt_timeline(table, versions=later))
    assert any(PLOTS["version not shown"] in text for text in texts)


@pytest.mark.parametrize(("n", "texts"), [(0, 4), (5, 4), (50, 0)])
def test_few_or_no_conversations_or_texts_give_a_picture_too(n, texts):
    ax = plots.prompt_timeline(conversations(n, prompts=("a",)), versions=TEXTS.iloc[len(TEXTS) - texts :])
    assert ("No conversations" in words(ax)) == (n == 0)


def test_promise_and_production_stand_side_by_side():
    table = analysis.simulated_vs_production(variants([PROMISED]), TABLE, versions=TEXTS)
    ax = plots.simulated_vs_production(variants([PROMISED]), TABLE, versions=TEXTS)
    row = table.iloc[0]
    assert marked(ax, "o")[0].get_xdata().tolist() == pytest.approx([row["predicted"]])
    assert marked(ax, "s")[0].get_xdata().tolist() == pytest.approx([row["difference"]])
    assert marked(ax, "D")[0].get_xdata().tolist() == pytest.approx([row["predicted_expected"]])
    ends = np.concatenate([c.get_segments() for c in ax.collections if isinstance(c, LineCollection)])[
        :, :, 0
    ]
    np.testing.assert_allclose(
        ends,
        [
            row[["predicted_low", "predicted_high"]].tolist(),
            row[["difference_low", "difference_high"]].tolist(),
        ],
    )
    texts = words(ax)
    assert "in production (observational)" in texts
    assert "+11.3 measured · +9.5 expected · 150 pairs" in texts
    assert any(text.endswith("after · until version 4") for text in texts)


def test_without_sample_size_the_picture_says_why_there_is_no_interval():
    bare = {"optimization_id": "o1", "variant_id": "v1", "name": "Concise", "lift": 12.0}
    ax = plots.simulated_vs_production(variants([bare]), TABLE, versions=TEXTS)
    (promise,) = marked(ax, "o")
    assert same_color(promise.get_markerfacecolor(), ax.get_facecolor())
    segments = [c.get_segments() for c in ax.collections if isinstance(c, LineCollection)]
    drawn = [s for part in segments for s in part if len(s) and np.isfinite(s).all()]
    assert len(drawn) == 1  # production's alone
    assert any(NO_INTERVAL in text for text in words(ax))


def test_nothing_applied_is_said():
    ax = plots.simulated_vs_production(variants([PROMISED]), TABLE, versions=TEXTS.iloc[-1:])
    assert "No variant was applied yet" in words(ax)


def test_rehearsals_are_marked_on_the_picture():
    texts = words(plots.simulated_vs_production(variants([PROMISED], rehearsal=True), TABLE, versions=TEXTS))
    assert "REHEARSAL" in texts
    assert any(PLOTS["rehearsal"] in text for text in texts)
