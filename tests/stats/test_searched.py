"""The experiment after a search: it confirms the finalist on cells of its own, and knows what the search has used."""

from __future__ import annotations

import json

import pytest

from promptlift.stats import Experiment
from promptlift.stats.passes import Measured, Outcome, PairTally, Searched


def searched(finalist=7, *, confirm_passes=5):
    return Searched(finalist, 12, 61, 170, confirm_passes, 345)


def experiment(finalist=7, *, confirm_passes=5, **settings):
    tally = PairTally()
    for cell in range(16):
        tally.add(cell, Measured(completed=True), Measured(completed=cell % 2 == 0))
    return Experiment(
        9,
        seed=3,
        searched=searched(finalist, confirm_passes=confirm_passes),
        screened={7: tally},
        **settings,
    )


def end(run, *, better):
    while (step := run.next_pass()) is not None:
        run.record(
            Outcome(cell.number, arm, completed=better if arm else cell.number % 3 == 0)
            for cell in step.cells
            for arm in step.arms
        )
    return run.verdict()


def test_the_confirmation_begins_behind_the_cells_of_the_search():
    step = experiment().next_pass()
    assert (step.number, step.stage, step.arms) == (13, "confirm", (0, 7))
    assert [cell.number for cell in step.cells] == list(range(61, 76))


def test_pairs_of_the_search_are_reported_and_decide_nothing():
    run = experiment()
    before = run.verdict()
    assert before.finalist == 7
    assert before.analysis is None
    verdict = end(run, better=True)
    assert (verdict.winner, verdict.reason) == (7, "threshold")
    # Fifteen pairs of one pass, none of the sixteen of the search.
    assert verdict.analysis.n == 15
    assert verdict.progress.conversations_done == 170 + 2 * 15 * (1 + 4)


def test_no_conversation_is_planned_beyond_the_budget():
    progress = experiment().verdict().progress
    assert progress.conversations_max == 170 + 2 * 15 * (5 + 4)
    progress = experiment(None).verdict().progress
    assert progress.conversations_max == 345 + 2 * 15 * 4


def test_while_the_search_is_under_way_nothing_is_confirmed_and_a_stop_keeps_it():
    run = experiment(None)
    with pytest.raises(ValueError, match="under way"):
        run.next_pass()
    assert run.verdict().progress.stage == "screen"
    run.stop()
    verdict = run.verdict()
    assert (verdict.reason, verdict.finalist, verdict.winner) == ("stopped", None, None)
    assert verdict.variants[6].n_pairs == 16


def test_from_plain_json_it_continues_as_it_would_have():
    calm, taken_up = experiment(), experiment()
    while (step := calm.next_pass()) is not None:
        outcomes = [
            Outcome(cell.number, arm, completed=(cell.number + arm) % 4 > 0)
            for cell in step.cells
            for arm in step.arms
        ]
        calm.record(outcomes)
        taken_up = Experiment.from_state(json.loads(json.dumps(taken_up.to_state())))
        assert taken_up.next_pass() == step
        taken_up.record(outcomes)
    assert taken_up.to_state() == calm.to_state()
    assert taken_up.verdict() == calm.verdict()


def test_a_finalist_that_is_no_better_is_not_named_within_the_budget():
    verdict = end(experiment(verification_passes=0), better=False)
    assert verdict.winner is None
    assert verdict.progress.conversations_done <= 345
