"""The lift of variants and their confidence by the artists."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from promptlift import analysis, plots
from support import drawn
from support.sentences import PLOTS


def table(rows, **about):
    missing = dict.fromkeys(
        ("lift", "lift_low", "lift_high", "interval_level", "lift_expected", "confidence"), np.nan
    )
    frame = pd.DataFrame(
        [
            {
                "optimization_id": "o1", "variant_id": f"v{number}", "name": f"variant {number}", "is_original": number == 0,
                "is_winner": False, "stage": None, **missing, "uncertainty_source": "none", "n_pairs": None,
                "n_variants_tested": len(rows) - 1, "lift_basis": "relative_completion", "warnings": "", **row,
            }
            for number, row in enumerate(rows)
        ]
    )  # fmt: skip
    frame.attrs["promptlift"] = {"table": "variants", "optimization_id": "o1", **about}
    return frame


def sent(lift, low, high, expected, pairs, **more):
    return {
        "lift": lift, "lift_low": low, "lift_high": high, "lift_expected": expected, "interval_level": 0.9,
        "uncertainty_source": "service", "n_pairs": pairs, **more,
    }  # fmt: skip


WINNER = sent(17.3, 5.8, 30.3, 14.6, 150, stage="confirm", is_winner=True, confidence=0.92)
VERIFIED = {"lift_verified": 11.8, "lift_verified_low": -2.0, "lift_verified_high": 26.5}
FULL = table(
    [
        {"stage": "confirm"},
        WINNER,
        sent(4.0, -14.0, 26.0, 2.0, 30, stage="screen"),
        sent(-27.0, -52.0, 8.0, -9.0, 15, stage="screen"),
        sent(30.0, np.nan, np.nan, 20.0, 15, stage="screen"),
    ],
    status="completed", winner_selected=True, confidence=0.9198, threshold=0.9, trace=[0.5, 0.71, 0.66, 0.9198],
    confidence_method="sequential-likelihood-ratio", rehearsal=False,
)  # fmt: skip
FOREIGN = table(
    [{}, {"lift": 12.5, "is_winner": True}, {"lift": 4.2}, {"lift": -2.8}],
    status="completed", winner_selected=True, confidence=0.92,
)  # fmt: skip


def panels(ax):
    return list(ax.child_axes) or [ax]


def dots(ax, marker="o"):
    return [x for panel in panels(ax) for x, _ in drawn.points(panel, marker)]


def whiskers(ax):
    return [tuple(ends) for panel in panels(ax) for ends in drawn.whiskers(panel)]


def test_dots_and_whiskers_are_the_numbers_of_the_analysis_in_panels_on_one_scale():
    answer, ax = analysis.variant_lift(FULL), plots.variant_lift(FULL)
    low, high = ax.get_xlim()
    assert dots(ax) == answer["lift"].tolist()
    known = answer.dropna(subset=["lift_low"])[["lift_low", "lift_high"]]
    assert [ends for ends in whiskers(ax) if ends != (low, high)] == [tuple(row) for row in known.to_numpy()]
    assert dots(ax, "D") == answer["lift_expected"].tolist()
    # An end that is not bounded is an arrow at the edge.
    assert (dots(ax, "<"), dots(ax, ">")) == ([low], [high])
    confirm, screen = ax.child_axes
    assert (len(drawn.points(confirm, "o")), len(drawn.points(screen, "o"))) == (1, 3)
    assert confirm.get_xlim() == screen.get_xlim() == (low, high)
    ax.figure.draw_without_rendering()
    assert confirm.get_window_extent().y0 > screen.get_window_extent().y1
    assert ax.get_title(loc="left") == "confidence 0.92"
    assert not ax.patches
    text = drawn.said(ax)
    assert text.count("winner") == 1
    for said in (
        "variant 1 · winner",
        "+17.3% (+5.8 to +30.3) · expected +14.6 · 150 pairs",
        "Lift in percent of the original's task completion (90% interval)",
        "not comparable",
        "(no bounds)",
        "Arrow: the interval has no bound on that side.",
    ):
        assert said in text


def test_the_shares_of_failed_conversations_are_those_of_either_mix():
    logged = {
        "logged_is_headline": True,
        "lift_logged": 15.0,
        "lift_logged_low": 4.0,
        "lift_logged_high": 28.0,
    }
    mixes = logged | {"failed_share_tested": 0.36, "failed_share_logged": 0.4}
    ax = plots.variant_lift(table([{"stage": "confirm"}, WINNER | mixes]))
    assert "on the mix of the logged conversations" in drawn.said(ax)
    assert "40% of those had failed, 36% of the tested ones." in drawn.said(ax)


@pytest.mark.parametrize("width", [8.5, 4.4])
def test_names_keep_what_tells_them_apart_and_numbers_do_not_reach_into_them(width):
    names = [{"name": "Candidate 2.1"}, {"name": "Candidate 2.2"}]
    rows = [WINNER | VERIFIED | names[0], sent(79.3, -32.3, 638.2, 19.3, 16, stage="confirm") | names[1]]
    ax = plots.variant_lift(table([{"stage": "confirm"}, *rows]), ax=Figure((width, 4)).subplots())
    ax.figure.draw_without_rendering()
    texts = {text.get_text(): text.get_window_extent() for text in ax.texts}
    for name, numbers in (("Candidate 2.1 · winner", "+17.3%"), ("Candidate 2.2", "+79.3%")):
        (beside,) = (box for said, box in texts.items() if said.startswith(numbers))
        assert texts[name].x1 < beside.x0
        assert beside.x1 < ax.figure.bbox.x1


def test_without_an_interval_dots_are_hollow_and_the_band_of_equivalence_is_drawn():
    ax = plots.variant_lift(FOREIGN, equivalence=5)
    (band,) = ax.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == (-5, 5)
    assert dots(ax) == [12.5, 4.2, -2.8]
    hollow = [line.get_markerfacecolor() for line in ax.lines if line.get_marker() == "o"]
    assert all(same_color(color, ax.get_facecolor()) for color in hollow)
    assert whiskers(ax) == []
    text = drawn.said(ax)
    assert text.count("sample size not reported") == 3
    for said in ("within ±5%", PLOTS["no sample size"], "best of 3 variants"):
        assert said in text


def test_variants_without_a_lift_are_named_and_a_lift_that_the_rates_contradict_is_flagged():
    odd = {"lift": 5.0, "lift_basis": "unknown", "warnings": "The rates do not reproduce the lift."}
    ax = plots.variant_lift(table([{}, odd, {"name": "unlucky"}]))
    assert len(dots(ax)) == 1
    for said in (PLOTS["lift contradicts rates"], PLOTS["nothing measured"], "unlucky"):
        assert said in drawn.said(ax)
    assert PLOTS["no variants"] in drawn.said(plots.variant_lift(FULL.iloc[:0]))
    assert PLOTS["nothing measured"] not in drawn.said(plots.variant_lift(table([{}, {}])))


def test_a_rehearsal_is_marked_on_both_plots():
    frame = FULL.copy()
    frame.attrs = {"promptlift": {**FULL.attrs["promptlift"], "rehearsal": True}}
    for draw in (plots.variant_lift, plots.variant_confidence):
        assert "REHEARSAL" in drawn.said(draw(frame))
        assert "REHEARSAL" not in drawn.said(draw(FULL))


def test_many_optimizations_have_panels_and_lines_of_their_own():
    frame = pd.concat([FULL.assign(optimization_id=f"o{n}") for n in range(5)], ignore_index=True)
    about = {
        f"o{n}": {"optimization_id": f"o{n}", "trace": [0.5] * (n + 2), "threshold": 0.9} for n in range(5)
    }
    frame.attrs = {"promptlift": {"table": "variants", "optimizations": about}}
    ax = plots.variant_lift(frame)
    assert len(ax.child_axes) == 6
    assert "6 of 10 groups are shown" in drawn.said(ax)
    assert "o0 · Confirmation" in drawn.said(ax)
    ax = plots.variant_confidence(frame)
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == [f"o{n} (passes = {n + 2})" for n in range(5)]
    assert ax.get_xlim()[1] >= 6


def test_confidence_by_pass_has_the_line_that_a_winner_must_reach():
    ax = plots.variant_confidence(FULL)
    run, threshold = ax.lines
    assert run.get_xdata().tolist() == [1, 2, 3, 4]
    assert run.get_ydata().tolist() == [0.5, 0.71, 0.66, 0.9198]
    assert set(threshold.get_ydata()) == {0.9}
    assert "a winner needs 0.90" in drawn.said(ax)
    assert "Method" not in drawn.said(ax)
    assert ax.get_ylim()[0] == 0


def test_a_final_confidence_is_one_dot_and_a_foreign_method_is_named():
    ax = plots.variant_confidence(FOREIGN)
    (run,) = ax.lines
    assert run.get_ydata().tolist() == [0.92]
    assert PLOTS["final confidence only"] in drawn.said(ax)
    assert "does not say how it defines confidence" in drawn.said(ax)
    other = table([{}, WINNER], confidence=0.92, confidence_method="of others")
    assert "Method: of others." in drawn.said(plots.variant_confidence(other))
