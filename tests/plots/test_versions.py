"""The history of a prompt, and predictions beside production, by their artists."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.dates import date2num

from promptlift import analysis, plots
from promptlift.errors import FrameError
from promptlift.frames import calibration_table
from support.drawn import points, said, whiskers, words
from support.sentences import PLOTS
from support.synthetic_tables import conversations, small
from support.synthetic_versions import versions

TABLE = conversations(600, prompts=("a",))
TEXTS = versions(["2026-01-20", "2026-02-01", "2026-02-12", "2026-03-01"])


def upright(ax):
    return [line for line in ax.lines if len(line.get_xdata()) == 2 and len(set(line.get_xdata())) == 1]


def test_every_version_has_a_line_where_it_began_and_its_rate():
    ax = plots.completion_trend(TABLE, versions=TEXTS)
    times = pd.to_datetime(["2026-02-01", "2026-02-12", "2026-03-01"], utc=True)
    assert [line.get_xdata()[0] for line in upright(ax)] == pytest.approx(date2num(times).tolist())
    assert [line.get_linestyle() for line in upright(ax)] == ["-", "--", "-"]
    expected = analysis.prompt_timeline(TABLE, versions=TEXTS)
    level = [line for line in ax.lines if len(line.get_xdata()) == 2 and len(set(line.get_ydata())) == 1]
    assert [line.get_ydata()[0] for line in level] == pytest.approx(expected["rate"].tolist())
    applied, last = (f"(n = {expected['n'][place]:,})" for place in (2, 3))
    assert {f"3: variant applied {applied}", f"4: edited, current {last}"} <= set(words(ax))
    assert PLOTS["observational"] in said(ax)


@pytest.mark.parametrize(
    ("tz", "now", "freq"),
    [("Pacific/Kiritimati", "23:59:59.999", "MS"), ("America/Los_Angeles", "00:00", "h"), ("America/Los_Angeles", "00:00", "W")],
)  # fmt: skip
def test_a_version_of_the_last_minute_is_marked_at_any_hour_and_in_any_zone(now, freq, tz):
    applied = pd.Timestamp(f"2026-01-31 {now}", tz="UTC")
    edited = applied - pd.Timedelta(days=40)
    table = small(started_at=[edited, applied], status=["completed"] * 2, task_completed=[False, True])
    texts = versions([edited, applied], origins=["updated", "applied"])
    ax = plots.completion_trend(table, versions=texts, freq=freq, tz=tz)
    assert "2: variant applied, current (n = 1)" in words(ax)
    dashed = [line for line in upright(ax) if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == pytest.approx([date2num(applied)])
    assert ax.get_xlim()[0] < date2num(applied) < ax.get_xlim()[1]


def test_a_version_after_the_last_period_is_counted_in_words():
    later = versions(["2026-01-20", "2026-02-01", "2026-09-01"])
    table = small(started_at=["2026-01-20", "2026-02-01"], task_completed=[True] * 2)
    assert PLOTS["version not shown"] in said(plots.completion_trend(table, versions=later))


def test_what_simulations_let_expect_is_drawn_beside_what_users_showed():
    known = {"optimizationId": "o1", "predicted": 11.3, "predictedLow": 4.0, "predictedHigh": 18.0, "predictedLevel": 0.9,
             "predictedExpected": 9.0, "predictedN": 150, "nBefore": 400, "rateBefore": 0.5, "nAfter": 380,
             "difference": 6.0, "differenceLow": 1.0, "differenceHigh": 11.0}  # fmt: skip
    pairs = [
        {**known, "variantId": "v2", "name": "Short", "source": "side by side", "appliedAt": "2026-02-01T00:00:00Z"},
        {**known, "variantId": "v1", "name": "Concise", "source": "before and after", "appliedAt": "2026-01-01T00:00:00Z"},
    ]  # fmt: skip
    table, _ = calibration_table(pairs)
    table.attrs["promptlift"] = {"table": "calibration", "level": 0.95, "sentence": "Two variants"}
    ax = plots.simulated_vs_production(table, title="auto")
    for marker, value in (("o", 11.3), ("s", 6.0), ("D", 9.0)):
        assert [x for x, _ in points(ax, marker)] == [value, value]
    assert sorted(map(tuple, whiskers(ax))) == [(1.0, 11.0)] * 2 + [(4.0, 18.0)] * 2
    rows = ["+11.3 measured · +9.0 expected · 150 pairs", "side by side on real users",
            "50.0% (n = 400) original, – (n = 380) variant", "in production (observational)",
            "50.0% (n = 400) before, – (n = 380) after"]  # fmt: skip
    assert set(rows) <= set(words(ax))
    assert "Two variants" in said(ax)
    empty = table.iloc[:0]
    empty.attrs = table.attrs
    assert "No simulated variant has met users yet" in words(plots.simulated_vs_production(empty))
    with pytest.raises(FrameError, match=r"lift\.calibration\(\)"):
        plots.simulated_vs_production(table.drop(columns="source"))


@pytest.mark.slow
def test_the_tables_of_a_real_rehearsal_are_drawn_and_marked_from_its_start_to_its_apply(lift):
    prompt_id = lift.client.prompts.create(name="Plots", content="Help the customer.", llm_model="gpt-4o").id

    def log(word):
        talks = [f"User: Where is my parcel {i}?\nAssistant: It comes {word}." for i in range(6)]
        lift.log([{"content": talk} for talk in talks], prompt_id=prompt_id)

    log("today")
    done = lift.optimize(prompt_id, mode="exploratory", variants=2, seed=3, wait=False).wait(timeout=200)
    variants = lift.variants(done.id)
    done.apply(variant_id=variants.loc[~variants["is_original"], "variant_id"].iloc[0], rehearsal=True)
    log("tomorrow")
    versions, talks = lift.versions(prompt_id), lift.conversations(prompt_id, insights=True)
    assert "variant applied, current" in said(plots.completion_trend(talks, versions=versions))
    assert "REHEARSAL" in words(plots.where_it_differs(done.simulations()))
