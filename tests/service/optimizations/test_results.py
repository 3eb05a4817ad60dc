"""From what an experiment says to what the API says: real experiments, every ending, and numbers worked by hand."""

from __future__ import annotations

import json
import math

import pytest

from promptlift.schema.optimizations import Variant
from promptlift.schema.results import OptimizationResults
from promptlift.service.optimizations.results import results_of, unmeasured, variants_of
from promptlift.stats import Experiment
from promptlift.stats.passes import Outcome
from promptlift.stats.verdict import Progress
from support.shapes import differences
from support.shapes.optimizations import RESULTS, RESULTS_MEASURED, RESULTS_PREPARING

IDS = ["var_0", "var_1", "var_2", "var_3"]


def play(run, answer, *, passes=1_000, sentiment=None, quality=None):
    """Run some passes: ``answer(cell, arm)`` says who completes, ``None`` that the conversation was lost."""
    while passes and (step := run.next_pass()) is not None:
        run.record(
            Outcome(
                cell.number,
                arm,
                answer(cell.number, arm),
                None if sentiment is None else sentiment[arm],
                None if quality is None else quality[arm],
            )
            for cell in step.cells
            for arm in step.arms
        )
        passes -= 1
    return run.verdict()


def only_variants(_cell, arm):
    return arm > 0


def as_sent(verdict, *, ended, **more):
    """Results as they are after the wire, which has no infinity and no NaN."""
    found = results_of(verdict, IDS, rehearsal=False, ended=ended, **more)
    return json.loads(json.dumps(found.to_wire(), allow_nan=False))


def figures(verdict):
    """The figures of the variants by number, as they are after the wire."""
    found = {str(one.number): one.to_wire() for one in variants_of(verdict, IDS)}
    for number, one in found.items():
        assert one.pop("id") == IDS[one.pop("number")] == IDS[int(number)]
    return json.loads(json.dumps(found, allow_nan=False))


# Every way to end


def winner():
    return play(Experiment(1, seed=1), only_variants)


def futility():
    return play(Experiment(1, seed=1), lambda _cell, arm: arm == 0)


def budget():
    return play(Experiment(1, max_iterations=3, seed=1), lambda cell, _arm: cell % 3 > 0)


def guardrail():
    return play(Experiment(1, seed=1), only_variants, sentiment=(0.5, 0.5), quality=(90.0, 20.0))


def stopped():
    run = Experiment(2, seed=1)
    play(run, only_variants, passes=1)
    run.stop()
    return run.verdict()


def stopped_at_once():
    run = Experiment(3, seed=1)
    run.stop()
    return run.verdict()


def all_lost():
    return play(Experiment(1, max_iterations=2, seed=1), lambda _cell, _arm: None)


ENDINGS = (winner, futility, budget, guardrail, stopped, stopped_at_once, all_lost)


@pytest.mark.parametrize("end", ENDINGS)
def test_every_ending_has_exactly_the_fields_of_the_agreement(end):
    verdict = end()
    sent = as_sent(verdict, ended=True)
    assert differences(sent, RESULTS) == []
    assert sent["reason"] in ("threshold", "futility", "budget", "guardrail", "stopped", "failed")
    assert sent["reason"] == verdict.reason
    assert (sent["progress"]["stage"], sent["progress"]["fraction"]) == ("done", 1.0)
    assert sent["winnerSelected"] == (sent["winningVariantId"] == "var_1") == (end is winner)
    assert (sent["explanation"] is None) == (end is winner)
    typed = OptimizationResults.from_wire(sent)
    assert not typed.model_extra
    assert typed.to_wire() == sent
    for number, one in figures(verdict).items():
        assert not Variant.from_wire({"id": IDS[int(number)], **one}).model_extra


# The lift on pairs after the decision


def test_a_winner_is_named_while_its_lift_is_still_verified():
    run = Experiment(1, seed=1)
    play(run, only_variants, passes=1)
    sent = as_sent(play(run, lambda cell, arm: arm == 1 or cell % 2 > 0, passes=2), ended=False)
    assert differences(sent, RESULTS_MEASURED) == []
    assert (sent["winningVariantId"], sent["reason"], sent["progress"]["stage"]) == (
        "var_1",
        "threshold",
        "verify",
    )
    # Cells 15 to 44: the original completes those with an odd number.
    assert sent["verifiedPairs"] == {"n": 30, "n11": 15, "n10": 15, "n01": 0, "n00": 0, "dropped": 0}
    assert (sent["liftVerified"], sent["liftPointsVerified"]) == (pytest.approx(100.0), pytest.approx(50.0))
    assert sent["liftPointsVerifiedLow"] < 50 < sent["liftPointsVerifiedHigh"]
    assert sent["verifiedBy"] == "verification"
    assert sent["pairs"]["n"] == 15


def test_only_the_winner_has_a_verified_lift():
    run = Experiment(2, seed=3)
    told = figures(play(run, lambda cell, arm: arm == 2 or cell % 3 == 0))
    assert (told["2"]["isFinalist"], told["2"]["verifiedPairs"]["n"]) == (True, 60)
    sent = as_sent(run.verdict(), ended=True)
    for name in ("liftVerified", "liftVerifiedLow", "liftPointsVerified", "verifiedPairs", "liftExpected"):
        assert told["2"][name] == sent[name]
    assert (told["1"]["liftVerified"], told["1"]["verifiedPairs"], told["1"]["verifiedBy"]) == (
        None,
        None,
        None,
    )
    assert as_sent(futility(), ended=True)["liftVerified"] is None


# Numbers worked by hand


def forty_pairs(cell, arm):
    """Of 40 cells: 20 both, 12 only the variant, 4 only the original, 4 neither; not by persona."""
    place = cell * 7 % 40
    if place < 20:
        return True
    return arm == 1 if place < 32 else arm == 0 if place < 36 else False


@pytest.fixture
def worked():
    run = Experiment(1, persona_count=8, scenarios_per_simulation=5, seed=1)
    return play(run, forty_pairs, passes=1, sentiment=(-0.25, 0.5), quality=(60.0, 70.0))


def test_the_numbers_are_those_of_the_pairs(worked):
    sent = as_sent(worked, ended=False)
    assert sent["pairs"] == {"n": 40, "n11": 20, "n10": 12, "n01": 4, "n00": 4, "dropped": 0}
    # 32 of 40 against 24 of 40: 20 points, a third more.
    assert sent["liftPoints"] == pytest.approx(20.0)
    assert sent["lift"] == pytest.approx(100 / 3)
    # The variance of a paired difference: (n10 + n01 - (n10 - n01)^2 / n) / n^2.
    assert sent["standardErrorPoints"] == pytest.approx(100 * math.sqrt((16 - 64 / 40) / 40**2), rel=0.05)
    assert sent["liftPointsLow"] < sent["liftPoints"] < sent["liftPointsHigh"]
    assert sent["liftLow"] < sent["lift"] < sent["liftHigh"]
    assert 0 < sent["liftPointsExpected"] < sent["liftPoints"]
    assert sent["eValue"] == pytest.approx(math.exp(sent["logEValue"]))
    assert (sent["look"], sent["estimand"]) == (1, "population")
    rails = {one["name"]: one for one in sent["guardrails"]}
    assert rails["sentiment"]["difference"] == pytest.approx(0.75)
    assert rails["quality"]["difference"] == pytest.approx(10.0)
    assert {one["verdict"] for one in rails.values()} == {"ok"}


def test_the_numbers_of_the_variants_are_percent_and_on_the_same_pairs(worked):
    told = figures(worked)
    assert set(told) == {"0", "1"}
    assert told["0"] == {
        "metrics": {"taskCompletion": pytest.approx(60.0), "sentiment": -0.25, "quality": 60.0},
        "stage": "confirm",
        "n": 40,
    }
    assert told["1"]["metrics"] == {
        "taskCompletion": pytest.approx(80.0),
        "sentiment": 0.5,
        "quality": 70.0,
    }
    assert told["1"]["originalTaskCompletion"] == pytest.approx(60.0)
    assert (told["1"]["originalSentiment"], told["1"]["originalQuality"]) == (-0.25, 60.0)
    sent = as_sent(worked, ended=False)
    for name in ("lift", "liftLow", "liftHigh", "liftPoints", "pairs", "confidence", "logEValue", "look"):
        assert told["1"][name] == sent[name]


# While it runs


def test_nothing_is_said_of_a_winner_while_it_runs(worked):
    sent = as_sent(worked, ended=False)
    assert differences(sent, RESULTS_MEASURED) == []
    assert "winnerSelected" not in sent
    assert (sent["reason"], sent["explanation"]) == (None, None)
    assert sent["progress"] == {
        "stage": "confirm",
        "passesDone": 1,
        "passesMax": worked.progress.passes_max,
        "conversationsDone": 80,
        "conversationsMax": worked.progress.conversations_max,
        "fraction": pytest.approx(80 / worked.progress.conversations_max),
    }


def test_before_the_first_variant_there_are_only_progress_and_nothing_measured():
    sent = unmeasured(Progress("screen", 0, 7, 7, 0, 225), rehearsal=True).to_wire()
    assert differences(sent, RESULTS_PREPARING) == []
    assert sent["progress"] == {
        "stage": "preparing",
        "passesDone": 0,
        "passesMax": 7,
        "conversationsDone": 0,
        "conversationsMax": 225,
        "fraction": 0,
    }
    assert (sent["confidence"], sent["rehearsal"]) == (None, True)
    nothing = unmeasured(Progress("screen", 0, 0, 0, 0, 0), rehearsal=False).to_wire()
    assert nothing["progress"]["fraction"] == 0


def test_before_the_first_pass_every_number_is_missing():
    verdict = Experiment(3, seed=1).verdict()
    sent = as_sent(verdict, ended=False)
    assert differences(sent, RESULTS_MEASURED) == []
    assert sent["pairs"] == dict.fromkeys(("n", "n11", "n10", "n01", "n00", "dropped"), 0)
    for name in ("lift", "liftPoints", "liftLow", "confidence", "eValue", "logEValue", "finalistVariantId"):
        assert sent[name] is None
    told = figures(verdict)
    assert set(told) == {"1", "2", "3"}
    for one in told.values():
        assert one["metrics"] == {"taskCompletion": None, "sentiment": None, "quality": None}
        assert (one["lift"], one["stage"], one["n"], one["confidence"]) == (None, None, 0, None)


def test_screening_judges_nobody():
    verdict = play(Experiment(3, seed=1), lambda cell, arm: arm == 2 or cell % 2 == 0, passes=2)
    sent = as_sent(verdict, ended=False)
    # The finalist is chosen, and nothing is known of it on cells of its own.
    assert (sent["variantsTested"], sent["confidence"], sent["lift"]) == (3, 0.5, None)
    told = figures(verdict)
    (finalist,) = [one for number, one in told.items() if number != "0" and one["isFinalist"]]
    assert (finalist["stage"], finalist["n"], finalist["lift"]) == (None, 0, None)
    assert {one["stage"] for number, one in told.items() if number != "0" and not one["isFinalist"]} == {
        "screen"
    }
    for number, one in told.items():
        if number != "0" and not one["isFinalist"]:
            assert (one["confidence"], one["logEValue"]) == (None, None)
            assert one["lift"] is not None


# What JSON cannot say, and what is counted beside


@pytest.mark.slow
def test_an_e_value_that_no_number_holds_is_told_by_its_logarithm():
    run = Experiment(1, "validation", "high", persona_count=50, scenarios_per_simulation=50, seed=1)
    verdict = play(run, only_variants)
    assert math.isinf(verdict.analysis.e_value)
    sent = as_sent(verdict, ended=True)
    assert sent["eValue"] is None
    assert sent["logEValue"] > math.log(1e308)
    # The original completed nothing, so there is no relative lift; there are points.
    assert (sent["lift"], sent["liftPoints"]) == (None, pytest.approx(100.0))
    assert sent["winnerSelected"] is True


def test_lost_pairs_are_counted_and_not_used():
    run = Experiment(1, persona_count=5, scenarios_per_simulation=4, seed=1)
    verdict = play(run, lambda cell, arm: None if cell < 5 and arm == 1 else True, passes=1)
    sent = as_sent(verdict, ended=False)
    assert sent["pairs"] == {"n": 15, "n11": 15, "n10": 0, "n01": 0, "n00": 0, "dropped": 5}
    assert sent["warnings"]
    assert figures(verdict)["1"]["pairs"] == sent["pairs"]
    lost = as_sent(all_lost(), ended=True)
    assert (lost["pairs"]["n"], lost["lift"], lost["variantsTested"]) == (0, None, 1)


def test_notes_come_before_the_warnings_of_the_experiment():
    panel = Experiment(1, persona_count=2, estimand="panel", seed=1)
    sent = as_sent(
        play(panel, only_variants, passes=1), ended=False, notes=["Two of three were usable."], calibrated=0.7
    )
    assert sent["warnings"][0] == "Two of three were usable."
    assert sent["confidenceCalibrated"] == 0.7
    assert len(sent["warnings"]) > 1
    assert sent["estimand"] == "panel"
