"""From what an experiment says to what the API says: real experiments, every ending, and numbers worked by hand."""

from __future__ import annotations

import json
import math

import pytest

from promptlift.schema.optimizations import Variant
from promptlift.schema.results import OptimizationResults
from promptlift.service.optimizations.results import results_of, variants_of
from promptlift.stats import Experiment
from promptlift.stats.passes import Outcome
from support.shapes import differences
from support.shapes.optimizations import RESULTS, RESULTS_MEASURED

IDS = ["var_0", "var_1", "var_2", "var_3"]


def play(run, answer, *, passes=1_000, sentiment=(None,) * 4, quality=(None,) * 4):
    """Run some passes: ``answer(cell, arm)`` says who completes, ``None`` that the conversation was lost."""
    while passes and (step := run.next_pass()) is not None:
        run.record(
            Outcome(cell.number, arm, answer(cell.number, arm), sentiment[arm], quality[arm])
            for cell in step.cells
            for arm in step.arms
        )
        passes -= 1
    return run.verdict()


def only_variants(_cell, arm):
    return arm > 0


def stopped(passes):
    run = Experiment(2, seed=1)
    play(run, only_variants, passes=passes)
    run.stop()
    return run.verdict()


def as_sent(verdict, *, ended, **more):
    """Results as they are after the wire, which has no infinity and no NaN."""
    found = results_of(verdict, IDS, rehearsal=False, ended=ended, **more)
    return json.loads(json.dumps(found.to_wire(), allow_nan=False))


def figures(verdict):
    """The figures of the variants by number, as they are after the wire."""
    found = json.loads(json.dumps([one.to_wire() for one in variants_of(verdict, IDS)], allow_nan=False))
    assert [one["id"] for one in found] == [IDS[one["number"]] for one in found]
    return {one["number"]: one for one in found}


ENDINGS = {
    "threshold": lambda: play(Experiment(1, seed=1), only_variants),
    "futility": lambda: play(Experiment(1, seed=1), lambda _cell, arm: arm == 0),
    "guardrail": lambda: play(
        Experiment(1, seed=1), only_variants, quality=(90.0, 20.0), sentiment=(0.5,) * 2
    ),
    "stopped": lambda: stopped(1),
    "stopped at once": lambda: stopped(0),
    "budget": lambda: play(Experiment(1, max_iterations=2, seed=1), lambda _cell, _arm: None),
}


@pytest.mark.parametrize("end", ENDINGS)
def test_every_ending_has_exactly_the_fields_of_the_agreement(end):
    verdict = ENDINGS[end]()
    sent = as_sent(verdict, ended=True)
    assert differences(sent, RESULTS) == []
    assert sent["reason"] == end.removesuffix(" at once")
    assert (sent["progress"]["stage"], sent["progress"]["fraction"]) == ("done", 1.0)
    won = end == "threshold"
    assert (
        sent["winnerSelected"]
        == (sent["winningVariantId"] == "var_1")
        == (sent["explanation"] is None)
        == won
    )
    typed = OptimizationResults.from_wire(sent)
    assert not typed.model_extra
    assert typed.to_wire() == sent
    for one in figures(verdict).values():
        assert not Variant.from_wire(one).model_extra
    if end == "budget":  # all conversations were lost
        assert (sent["pairs"]["n"], sent["lift"], sent["variantsTested"]) == (0, None, 1)


def test_only_the_winner_has_a_verified_lift():
    verdict = play(Experiment(2, seed=3), lambda cell, arm: arm == 2 or cell % 3 == 0)
    told, sent = figures(verdict), as_sent(verdict, ended=True)
    assert (told[2]["isFinalist"], told[2]["verifiedPairs"]["n"]) == (True, 60)
    for name in ("liftVerified", "liftVerifiedLow", "liftPointsVerified", "verifiedPairs", "liftExpected"):
        assert told[2][name] == sent[name]
    assert {told[1][name] for name in ("liftVerified", "verifiedPairs", "verifiedBy")} == {None}


def forty_pairs(cell, arm):
    """Of 40 cells: 20 both, 12 only the variant, 4 only the original, 4 neither; not by persona."""
    place = cell * 7 % 40
    if place < 20:
        return True
    return arm == 1 if place < 32 else arm == 0 if place < 36 else False


def test_the_numbers_are_those_of_the_pairs_and_nothing_is_said_of_a_winner_while_it_runs():
    run = Experiment(1, persona_count=8, scenarios_per_simulation=5, seed=1)
    worked = play(run, forty_pairs, passes=1, sentiment=(-0.25, 0.5), quality=(60.0, 70.0))
    sent = as_sent(worked, ended=False)
    assert differences(sent, RESULTS_MEASURED) == []
    assert "winnerSelected" not in sent
    assert (sent["reason"], sent["explanation"]) == (None, None)
    most = worked.progress.conversations_max
    assert sent["progress"] == {
        "stage": "confirm",
        "passesDone": 1,
        "passesMax": worked.progress.passes_max,
        "conversationsDone": 80,
        "conversationsMax": most,
        "fraction": pytest.approx(80 / most),
    }
    assert sent["pairs"] == {"n": 40, "n11": 20, "n10": 12, "n01": 4, "n00": 4, "dropped": 0}
    # 32 of 40 against 24 of 40: 20 points, a third more.
    assert (sent["liftPoints"], sent["lift"]) == (pytest.approx(20.0), pytest.approx(100 / 3))
    # The variance of a paired difference: (n10 + n01 - (n10 - n01)^2 / n) / n^2.
    assert sent["standardErrorPoints"] == pytest.approx(100 * math.sqrt((16 - 64 / 40) / 40**2), rel=0.05)
    assert sent["liftPointsLow"] < sent["liftPoints"] < sent["liftPointsHigh"]
    assert sent["liftLow"] < sent["lift"] < sent["liftHigh"]
    assert 0 < sent["liftPointsExpected"] < sent["liftPoints"]
    assert sent["eValue"] == pytest.approx(math.exp(sent["logEValue"]))
    assert (sent["look"], sent["estimand"]) == (1, "population")
    rails = {one["name"]: (one["difference"], one["verdict"]) for one in sent["guardrails"]}
    assert rails["sentiment"] == (pytest.approx(0.75), "ok")
    assert rails["quality"] == (pytest.approx(10.0), "ok")

    # The variants have percent, on the same pairs.
    told = figures(worked)
    assert told[0] == {
        "id": "var_0",
        "number": 0,
        "metrics": {"taskCompletion": pytest.approx(60.0), "sentiment": -0.25, "quality": 60.0},
        "stage": "confirm",
        "n": 40,
    }
    assert told[1]["metrics"] == {"taskCompletion": pytest.approx(80.0), "sentiment": 0.5, "quality": 70.0}
    original = [told[1][f"original{name}"] for name in ("TaskCompletion", "Sentiment", "Quality")]
    assert original == [pytest.approx(60.0), -0.25, 60.0]
    for name in ("lift", "liftLow", "liftHigh", "liftPoints", "pairs", "confidence", "logEValue", "look"):
        assert told[1][name] == sent[name]


def test_before_the_first_pass_every_number_is_missing():
    verdict = Experiment(3, seed=1).verdict()
    sent = as_sent(verdict, ended=False)
    assert differences(sent, RESULTS_MEASURED) == []
    assert set(sent["pairs"].values()) == {0}
    for name in ("lift", "liftPoints", "liftLow", "confidence", "eValue", "logEValue", "finalistVariantId"):
        assert sent[name] is None
    told = figures(verdict)
    assert set(told) == {1, 2, 3}
    for one in told.values():
        assert set(one["metrics"].values()) == {None}
        assert (one["lift"], one["stage"], one["n"], one["confidence"]) == (None, None, 0, None)


def test_screening_judges_nobody():
    verdict = play(Experiment(3, seed=1), lambda cell, arm: arm == 2 or cell % 2 == 0, passes=2)
    sent = as_sent(verdict, ended=False)
    # The finalist is chosen, and nothing is known of it on cells of its own.
    assert (sent["variantsTested"], sent["confidence"], sent["lift"]) == (3, 0.5, None)
    variants = [one for number, one in figures(verdict).items() if number]
    (finalist,) = [one for one in variants if one["isFinalist"]]
    assert (finalist["stage"], finalist["n"], finalist["lift"]) == (None, 0, None)
    for one in variants:
        if one is not finalist:
            assert (one["stage"], one["confidence"], one["logEValue"]) == ("screen", None, None)
            assert one["lift"] is not None


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


def test_lost_pairs_are_counted_and_not_used_and_notes_come_before_the_warnings():
    run = Experiment(1, persona_count=5, scenarios_per_simulation=4, estimand="panel", seed=1)
    verdict = play(run, lambda cell, arm: None if cell < 5 and arm == 1 else True, passes=1)
    sent = as_sent(verdict, ended=False, notes=["Two of three were usable."], calibrated=0.7)
    assert sent["pairs"] == {"n": 15, "n11": 15, "n10": 0, "n01": 0, "n00": 0, "dropped": 5}
    assert figures(verdict)[1]["pairs"] == sent["pairs"]
    assert sent["warnings"][0] == "Two of three were usable."
    assert len(sent["warnings"]) > 1
    assert (sent["confidenceCalibrated"], sent["estimand"]) == (0.7, "panel")
