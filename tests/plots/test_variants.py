"""The lift of variants and their confidence by the artists."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color
from matplotlib.text import Text

from promptlift import analysis, plots
from promptlift.frames.variants import NO_SAMPLE_SIZE
from support import drawn, hostile
from support.sentences import PLOTS

SENT = "service"


def table(rows, **about):
    frame = pd.DataFrame(
        [
            {
                "optimization_id": "o1",
                "variant_id": f"v{number}",
                "name": f"variant {number}",
                "is_original": number == 0,
                "is_winner": False,
                "stage": None,
                "lift": np.nan,
                "lift_low": np.nan,
                "lift_high": np.nan,
                "interval_level": np.nan,
                "lift_expected": np.nan,
                "uncertainty_source": "none",
                "confidence": np.nan,
                "n_pairs": None,
                "n_variants_tested": len(rows) - 1,
                "lift_basis": "relative_completion",
                "warnings": "",
                **row,
            }
            for number, row in enumerate(rows)
        ]
    )
    frame.attrs["promptlift"] = {"table": "variants", "optimization_id": "o1", **about}
    return frame


def sent(lift, low, high, expected, pairs, **more):
    return {
        "lift": lift,
        "lift_low": low,
        "lift_high": high,
        "lift_expected": expected,
        "interval_level": 0.9,
        "uncertainty_source": SENT,
        "n_pairs": pairs,
        **more,
    }


WINNER = sent(17.3, 5.8, 30.3, 14.6, 150, stage="confirm", is_winner=True, confidence=0.92)
SCREEN = {"stage": "screen"}
FULL = table(
    [
        {"stage": "confirm"},
        WINNER,
        sent(4.0, -14.0, 26.0, 2.0, 30, **SCREEN),
        sent(-27.0, -52.0, 8.0, -9.0, 15, **SCREEN),
        sent(30.0, np.nan, np.nan, 20.0, 15, **SCREEN),
    ],
    status="completed",
    winner_selected=True,
    confidence=0.9198,
    threshold=0.9,
    trace=[0.5, 0.71, 0.66, 0.9198],
    confidence_method="sequential-likelihood-ratio",
    rehearsal=False,
)
FOREIGN = table(
    [{}, {"lift": 12.5, "is_winner": True}, {"lift": 4.2}, {"lift": -2.8}],
    status="completed",
    winner_selected=True,
    confidence=0.92,
)


def panels(ax):
    return list(ax.child_axes) or [ax]


def dots(ax, marker="o"):
    """Dots that were drawn: x, hollow, by panel from the top."""
    return [
        (float(line.get_xdata()[0]), same_color(line.get_markerfacecolor(), ax.get_facecolor()))
        for panel in panels(ax)
        for line in panel.lines
        if line.get_marker() == marker
    ]


def whiskers(ax):
    return [
        tuple(segment[:, 0])
        for panel in panels(ax)
        for collection in panel.collections
        if isinstance(collection, LineCollection)
        for segment in collection.get_segments()
    ]


def words(ax):
    return " | ".join(drawn.words(ax))


VERIFIED = {"lift_verified": 11.8, "lift_verified_low": -2.0, "lift_verified_high": 26.5}


@pytest.mark.slow
def test_the_lift_on_pairs_after_the_decision_has_a_line_of_its_own():
    full = table([{"stage": "confirm"}, {**WINNER, **VERIFIED}, sent(4.0, -14.0, 26.0, 2.0, 30, **SCREEN)])
    answer = analysis.variant_lift(full)
    assert answer[list(VERIFIED)].iloc[0].tolist() == [11.8, -2.0, 26.5]
    assert answer[list(VERIFIED)].iloc[1].isna().all()
    ax = plots.variant_lift(full)
    assert (-2.0, 26.5) in whiskers(ax)
    assert [x for x, _ in dots(ax, "|")] == [11.8]
    assert PLOTS["verified"] in words(ax)
    without = plots.variant_lift(FULL)
    assert dots(without, "|") == []
    assert PLOTS["verified"] not in words(without)


def test_the_missing_sample_size_is_said_once():
    without = words(plots.variant_lift(table([{}, {"lift": 12.5, "warnings": NO_SAMPLE_SIZE}])))
    assert "Some variants have warnings" not in without
    more = {"lift": 12.5, "n_pairs": 40, "warnings": f"Few pairs. {NO_SAMPLE_SIZE}"}
    text = words(plots.variant_lift(table([{}, more])))
    assert "Some variants have warnings" in text
    # A size without an interval is told.
    assert "40 pairs" in text
    assert PLOTS["no interval reported"] in text


def test_the_method_of_the_confidence_is_said_only_where_it_is_not_ours():
    said = {
        method: words(
            plots.variant_confidence(table([{}, WINNER], confidence=0.92, confidence_method=method))
        )
        for method in ("sequential-likelihood-ratio", "of others", None)
    }
    assert "Method" not in said["sequential-likelihood-ratio"]
    assert "Method: of others." in said["of others"]
    assert "does not say how it defines confidence" in said[None]


def test_dots_and_whiskers_are_the_numbers_of_the_analysis():
    answer = analysis.variant_lift(FULL)
    ax = plots.variant_lift(FULL)
    assert [x for x, _ in dots(ax)] == answer["lift"].tolist()
    known = answer.dropna(subset=["lift_low"])
    assert [ends for ends in whiskers(ax) if ends != ax.get_xlim()] == [
        tuple(row) for row in known[["lift_low", "lift_high"]].to_numpy()
    ]
    assert [x for x, _ in dots(ax, "D")] == answer["lift_expected"].tolist()
    assert not any(hollow for _, hollow in dots(ax))
    assert ax.get_title(loc="left") == "confidence 0.92"
    assert not ax.patches
    text = words(ax)
    assert "variant 1 · winner" in text
    assert text.count("winner") == 1


def test_without_an_interval_dots_are_hollow_and_have_no_whiskers_and_the_band_of_equivalence_is_drawn():
    ax = plots.variant_lift(FOREIGN, equivalence=5)
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == (-5, 5)
    assert "within ±5 %" in words(ax)
    assert dots(ax) == [(12.5, True), (4.2, True), (-2.8, True)]
    assert whiskers(ax) == []
    text = words(ax)
    assert text.count("sample size not reported") == 3
    assert PLOTS["no sample size"] in text.replace("\n", " ")
    assert "best of 3 variants" in text.replace("\n", " ")


@pytest.mark.slow
def test_confirmed_and_screened_stand_in_panels_of_their_own_on_one_scale():
    ax = plots.variant_lift(FULL)
    confirm, screen = ax.child_axes
    assert [
        len([line for line in panel.lines if line.get_marker() == "o"]) for panel in (confirm, screen)
    ] == [1, 3]
    assert confirm.get_xlim() == screen.get_xlim() == ax.get_xlim()
    ax.figure.draw_without_rendering()
    assert confirm.get_window_extent().y0 > screen.get_window_extent().y1
    assert "not comparable" in words(ax)
    assert plots.variant_lift(FOREIGN).child_axes == []


@pytest.mark.slow
def test_an_end_that_is_not_bounded_is_an_arrow_at_the_edge():
    ax = plots.variant_lift(FULL)
    low, high = ax.get_xlim()
    assert (dots(ax, "<")[0][0], dots(ax, ">")[0][0]) == (low, high)
    text = words(ax).replace("\n", " ")
    assert "(no bounds)" in text
    assert "Arrow: the interval has no bound on that side." in text


def test_an_end_far_out_does_not_squeeze_the_rest():
    ax = plots.variant_lift(table([{}, sent(10.0, -5.0, 9000.0, 4.0, 15), sent(5.0, 0.0, 10.0, 4.0, 15)]))
    assert ax.get_xlim()[1] < 100
    assert len(dots(ax, ">")) == 1
    assert "+9000.0" in words(ax)


def test_the_title_gives_the_confidence_as_reported():
    lost = table(
        [{}, sent(3.0, -4.0, 9.0, 2.0, 150)], status="completed", winner_selected=False, confidence=0.61
    )
    assert plots.variant_lift(lost).get_title(loc="left") == "no winner · confidence 0.61"
    open_ = table([{}, sent(3.0, -4.0, 9.0, 2.0, 150)], status="running")
    assert plots.variant_lift(open_).get_title(loc="left") == "running · confidence not reported"


@pytest.mark.slow
def test_labels_say_lift_interval_expectation_and_pairs():
    text = words(plots.variant_lift(FULL))
    assert "+17.3 % (+5.8 to +30.3) · expected +14.6 · 150 pairs" in text
    assert "Lift in percent of the original's task completion (90 % interval)" in text


def test_a_lift_in_points_is_labelled_as_such():
    points = table([{}, {"lift": 9.0, "lift_basis": "points_completion", "warnings": "Given in points."}])
    ax = plots.variant_lift(points)
    assert ax.get_xlabel().startswith("Lift in percentage points")
    assert "+9.0 points" in words(ax)


def test_variants_without_a_lift_are_named_not_drawn_and_a_lift_that_the_rates_contradict_is_flagged():
    odd = {"lift": 5.0, "lift_basis": "unknown", "warnings": "The rates do not reproduce the lift."}
    ax = plots.variant_lift(table([{}, odd, {"name": "unlucky"}]))
    assert PLOTS["lift contradicts rates"] in words(ax)
    assert len(dots(ax)) == 1
    assert PLOTS["nothing measured"] in words(ax)
    assert "unlucky" in words(ax)


def test_nothing_to_draw_says_so():
    assert PLOTS["no variants"] in words(plots.variant_lift(FULL.iloc[:0]))
    assert PLOTS["nothing measured"] not in words(plots.variant_lift(table([{}, {}])))


@pytest.mark.slow
def test_a_rehearsal_is_marked_on_both_pictures():
    frame = FULL.copy()
    frame.attrs = {"promptlift": {**FULL.attrs["promptlift"], "rehearsal": True}}
    for ax in (plots.variant_lift(frame), plots.variant_confidence(frame)):
        assert "REHEARSAL" in words(ax)
    assert "REHEARSAL" not in words(plots.variant_lift(FULL))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(hostile.ENCODABLE), 10))
def test_hostile_names_are_only_text(start):
    names = hostile.ENCODABLE[start : start + 10]
    frame = table([{}, *({"lift": 5.0, "name": name, "optimization_id": name} for name in names)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (frame, frame.assign(optimization_id="o")):
            figure = plots.variant_lift(rows).figure
            figure.canvas.draw()
            shown = [text.get_text() for text in figure.findobj(Text) if text.get_text()]
            assert not [text for text in shown if is_math_text(text)]
            assert len(shown) > len(names)


def test_many_optimizations_are_told_apart_and_cut_with_a_word():
    parts = [FULL.assign(optimization_id=f"o{n}") for n in range(5)]
    frame = pd.concat(parts, ignore_index=True)
    frame.attrs = {"promptlift": {"table": "variants", "optimizations": {f"o{n}": {} for n in range(5)}}}
    ax = plots.variant_lift(frame)
    assert len(ax.child_axes) == 6
    text = words(ax).replace("\n", " ")
    assert "6 of 10 groups are shown" in text
    assert "o0 · Confirmation" in text


def test_confidence_by_pass_with_the_line_that_a_winner_must_reach():
    ax = plots.variant_confidence(FULL)
    run, threshold = ax.lines
    assert run.get_xdata().tolist() == [1, 2, 3, 4]
    assert run.get_ydata().tolist() == [0.5, 0.71, 0.66, 0.9198]
    assert set(threshold.get_ydata()) == {0.9}
    assert "a winner needs 0.90" in words(ax)
    assert ax.get_ylim()[0] == 0


def test_without_a_trace_the_reported_confidence_is_one_dot():
    ax = plots.variant_confidence(FOREIGN)
    (run,) = ax.lines
    assert run.get_ydata().tolist() == [0.92]
    text = words(ax).replace("\n", " ")
    assert PLOTS["final confidence only"] in text
    assert "does not say how it defines confidence" in text


def test_traces_of_several_optimizations_have_a_legend():
    frame = pd.concat([FULL, FULL.assign(optimization_id="o2")], ignore_index=True)
    frame.attrs = {
        "promptlift": {
            "optimizations": {
                "o1": {"optimization_id": "o1", "trace": [0.6, 0.7], "threshold": 0.9},
                "o2": {"optimization_id": "o2", "trace": [0.5, 0.4, 0.3], "threshold": 0.9},
            }
        }
    }
    ax = plots.variant_confidence(frame)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["o1 (passes = 2)", "o2 (passes = 3)"]
    assert ax.get_xlim()[1] >= 3
