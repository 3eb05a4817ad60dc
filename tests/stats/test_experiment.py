"""How the state machine decides, every way it can end, and what it refuses."""

from __future__ import annotations

import math

import pytest

from promptlift.stats import Experiment, analyse_pairs, smallest_findable_points
from promptlift.stats.passes import Outcome
from support.experiments import chance, outcomes, play, same

# How it ends


@pytest.mark.parametrize(("mode", "needed"), [("low", 0.80), ("moderate", 0.90), ("high", 0.95)])
def test_a_winner_is_named_at_the_first_pass_that_reaches_the_threshold(mode, needed):
    verdict = play(Experiment(1, "validation", mode), chance([0.6, 0.8], 3))
    assert verdict.status == "winner"
    assert verdict.trace[-1] >= needed
    assert max(verdict.trace[:-1]) < needed
    assert verdict.confidence_needed == pytest.approx(needed)


@pytest.mark.parametrize(("iterations", "looks"), [(10, 2), (4, 1)])
def test_a_hopeless_variant_is_given_up_as_soon_as_the_budget_cannot_save_it(iterations, looks):
    verdict = play(Experiment(1, max_iterations=iterations), lambda _cell, arm: arm == 0)
    assert (verdict.status, verdict.reason, verdict.winner) == ("no_winner", "futility", None)
    assert len(verdict.trace) == looks
    assert verdict.finalist == 1
    assert not verdict.winner_selected
    assert verdict.confidence < 0.2


def too_good_to_give_up(cell, arm):
    """Each pass of 15: 5 wins and 3 losses, in the last 4 and 4: never hopeless, and too little for a winner."""
    at, won = cell.number % 15, 5 if cell.number < 75 else 4
    return arm == 1 if at < won else arm == 0 if at < 8 else True


def test_a_budget_that_is_used_up_gives_no_winner():
    verdict = play(Experiment(1, confidence_mode="low", max_iterations=7), too_good_to_give_up)
    assert (verdict.status, verdict.reason) == ("no_winner", "budget")
    assert len(verdict.trace) == 6
    assert verdict.analysis.n == 90
    assert (verdict.analysis.look, verdict.analysis.max_looks) == (6, 6)


def test_a_winner_that_harms_quality_is_withheld():
    run = Experiment(1)
    while (step := run.next_pass()) is not None:
        run.record(
            Outcome(cell.number, arm, arm == 1, sentiment=0.2, quality=80 - 10 * arm + cell.number % 3 * arm)
            for cell in step.cells
            for arm in step.arms
        )
    verdict = run.verdict()
    assert (verdict.status, verdict.reason, verdict.winner) == ("no_winner", "guardrail", None)
    assert {rail.name: rail.verdict for rail in verdict.guardrails} == {
        "sentiment": "ok",
        "quality": "harmed",
    }
    assert verdict.confidence >= 0.90
    assert "lowers quality" in verdict.why_no_winner.text
    assert verdict.variants[0].quality == pytest.approx(71, abs=0.1)
    assert verdict.variants[0].original_quality == pytest.approx(80)


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


def test_a_stop_before_anything_says_that_nothing_is_known():
    run = Experiment(3)
    run.stop()
    verdict = run.verdict()
    assert (verdict.finalist, verdict.analysis, verdict.confidence) == (None, None, 0.5)
    assert "nothing is known" in verdict.why_no_winner.text
    assert verdict.why_no_winner.smallest_findable_points is None


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
    assert "more than 10 %" in verdict.warnings[0]
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


def test_a_pass_without_any_pair_is_no_evidence():
    verdict = play(Experiment(2, "validation", max_iterations=2), lambda _cell, _arm: None)
    # The first pass leaves 15 pairs, too few to reach the threshold from nothing.
    assert (verdict.status, verdict.reason) == ("no_winner", "futility")
    assert verdict.analysis.n == 0
    assert verdict.confidence == 0.5
    assert "Confidence reached 0.50" in verdict.why_no_winner.text


# Bad input


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda all_: all_[:-1], "1 outcomes of pass 1 are missing, the first of cell 14, arm 1"),
        (lambda all_: [*all_, all_[0]], "given twice"),
        (lambda all_: [all_[0]._replace(cell=99), *all_[1:]], "cell 99, arm 0 is not in pass 1"),
        (lambda all_: [all_[0]._replace(arm=7), *all_[1:]], "arm 7"),
        (
            lambda all_: [all_[0]._replace(completed="yes"), *all_[1:]],
            "completed must be True, False or None",
        ),
        (lambda all_: [all_[0]._replace(quality=math.nan), *all_[1:]], "quality must be a finite number"),
    ],
)
def test_outcomes_that_do_not_fit_are_refused_and_nothing_is_recorded(broken, message):
    run = Experiment(1)
    before = run.to_state()
    with pytest.raises(ValueError, match=message):
        run.record(broken(outcomes(run.next_pass())))
    assert run.to_state() == before
    run.record(outcomes(run.next_pass()))
    assert run.verdict().analysis.n == 15


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
