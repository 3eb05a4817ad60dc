"""How the state machine decides, every way it can end, and what it refuses."""

from __future__ import annotations

import pytest

from promptlift.stats import Experiment, analyse_pairs, smallest_findable_points
from support.experiments import chance, play, same

# How it ends


@pytest.mark.parametrize(("mode", "needed"), [("low", 0.80), ("moderate", 0.90), ("high", 0.95)])
def test_a_winner_is_named_at_the_first_pass_that_reaches_the_threshold(mode, needed):
    verdict = play(Experiment(1, "validation", mode), chance([0.6, 0.8], 3))
    assert verdict.status == "winner"
    assert verdict.trace[-1] >= needed
    assert max(verdict.trace[:-1]) < needed
    assert verdict.confidence_needed == pytest.approx(needed)


def too_good_to_give_up(cell, arm):
    """Each pass of 15: 5 wins and 3 losses, in the last 4 and 4: never hopeless, and too little for a winner."""
    at, won = cell.number % 15, 5 if cell.number < 75 else 4
    return arm == 1 if at < won else arm == 0 if at < 8 else True


def test_a_stop_keeps_what_was_measured():
    run = Experiment(1)
    play(run, chance([0.7, 0.7], 5), most=1)
    before = run.verdict()
    run.stop()
    after = run.verdict()
    assert (after.status, after.reason) == ("no_winner", "stopped")
    assert after.analysis == before.analysis
    assert run.next_pass() is None
    assert "Stopped by request" in after.why_no_winner.text
    with pytest.raises(ValueError, match="has ended"):
        run.record([])


# What it says


def test_the_analysis_is_that_of_the_confirmation_pairs_alone():
    run = Experiment(3, "exploratory", seed=2, verification_passes=0)
    verdict = play(run, chance([0.7, 0.6, 0.7, 0.75], 7))
    analysis, looks = verdict.analysis, len(verdict.trace)
    assert analysis.n == 15 * looks
    if not analysis.clustered:
        table = (analysis.n11, analysis.n10, analysis.n01, analysis.n00)
        assert analysis == analyse_pairs(*table, look=looks, max_looks=8, theta=0.67)
    assert verdict.trace[-1] == analysis.confidence
    finalist = verdict.variants[verdict.finalist - 1]
    assert finalist.analysis == analysis
    assert finalist.confidence == analysis.confidence
    others = [stats for stats in verdict.variants if stats.arm != verdict.finalist]
    assert {(stats.stage, stats.confidence) for stats in others} == {("screen", None)}
    # Two passes choose: the second has the better half.
    assert {(stats.screened_out_after, stats.n_pairs) for stats in others} == {(1, 15), (2, 30)}


def test_progress_counts_conversations_and_ends_within_its_maximum():
    decision = Experiment(3, "validation", verification_passes=0)
    assert decision.verdict().progress.conversations_max == 15 * (4 + 4 + 3 + 3 + 2 * 16) == 690
    exploring = Experiment(3, verification_passes=0)
    assert exploring.verdict().progress.conversations_max == 15 * (4 + 3 + 2 * 8) == 345
    run = Experiment(3, "validation", "moderate")
    assert run.verdict().progress.conversations_max == 690 + 15 * 2 * 4
    assert run.verdict().progress.conversations_done == 0
    assert run.verdict().status == "running"
    play(run, same, most=2)
    assert run.verdict().progress.conversations_done == 15 * 8
    progress = play(run, chance([0.7] * 4, 3)).progress
    assert 0 < progress.conversations_done <= progress.conversations_max
    assert progress.passes_done <= progress.passes_max == 20 + 4
    assert progress.passes_left == 0


def test_why_no_winner_says_what_could_have_been_found():
    verdict = play(Experiment(1, confidence_mode="low", max_iterations=7), too_good_to_give_up)
    why = verdict.why_no_winner
    assert why is verdict.why_no_winner
    assert f"Measured over 90 pairs: {100 * 10 / 90:+.1f} points." in why.text
    e_needed = verdict.confidence_needed / (1 - verdict.confidence_needed)
    assert why.smallest_findable_points == smallest_findable_points(
        90, discordance=(48 + 1) / 93, e_threshold=e_needed, theta=0.62
    )
    assert why.smallest_findable_points > verdict.analysis.lift_points
    assert why.pairs_needed > 90
    assert f"{why.pairs_needed} pairs" in why.text
    assert f"{why.smallest_findable_points:.1f} points" in why.text


# Infrastructure errors


def test_a_pair_is_dropped_on_both_sides_and_counted():
    run = Experiment(1)
    play(run, lambda cell, arm: None if cell.number in {0, 1} and arm == cell.number else True, most=1)
    verdict = run.verdict()
    assert verdict.analysis.n == 13
    assert verdict.n_dropped == verdict.variants[0].n_dropped == 2
    assert "more than 10%" in verdict.warnings[0]
    assert verdict.progress.conversations_done == 30


def test_errors_that_hit_one_arm_more_are_a_warning():
    run = Experiment(1, persona_count=20, scenarios_per_simulation=10)
    play(run, lambda cell, arm: None if arm == 1 and cell.number < 6 else True, most=1)
    assert run.verdict().n_dropped == 6
    assert [w for w in run.verdict().warnings if "uneven: 6 pairs" in w]
    even = Experiment(1, persona_count=20, scenarios_per_simulation=10)
    play(even, lambda cell, arm: None if arm == cell.number % 2 and cell.number < 6 else True, most=1)
    assert even.verdict().n_dropped == 6
    assert not even.verdict().warnings


# Bad input


@pytest.mark.parametrize(
    "settings",
    [
        {"variant_count": 0},
        {"variant_count": 6},
        {"mode": "quick"},
        {"confidence_mode": "certain"},
        {"persona_count": 0},
        {"scenarios_per_simulation": 0},
        {"max_iterations": 0},
        {"seed": -1},
        {"estimand": "sample"},
        {"seed": 1.5},
        {"prior_sd_points": -1.0},
        {"verification_passes": 13},
        {"verification_passes": 1.5},
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Experiment(**settings)
