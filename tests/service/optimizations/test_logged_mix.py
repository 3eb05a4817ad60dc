"""Scenarios from logs over real sockets: failed conversations are tested more often, and the lift is given on both mixes."""

from __future__ import annotations

from collections import Counter

import pytest

from promptlift.stats.reweighted import DrawnPair, reweighted_lift
from support.answering_model import AnsweringModel, share
from support.optimizing_caller import calling

pytestmark = pytest.mark.slow

FAILED, OTHERS = 30, 170


class HelpsWithFailures(AnsweringModel):
    """An assistant whose first variant is better at what failed, and no better at the rest."""

    def _agent(self, messages):
        text, opening = messages[0]["content"], messages[1]["content"]
        failed = "lost" in opening
        rate = (0.95 if "Manner 1:" in text else 0.2) if failed else 0.8
        # The same draw for both texts, so that a pair differs only where the rate does.
        return "It is solved: tomorrow." if share(opening) < rate else "I cannot say."


def content(number):
    """A conversation of a log of which 15% failed."""
    failed = number < FAILED
    said = "I cannot say." if failed else "It is solved: tomorrow."
    return f"User: My parcel {number} is {'lost' if failed else 'late'}\nAssistant: {said}"


def by_hand(simulations, stage, arm, **looks):
    """The re-weighted lift, counted from the conversations as the API gives them."""
    cells = {}
    for one in simulations:
        if one["stage"] == stage:
            cells.setdefault(one["cell"], {})[one["variantNumber"]] = one
    drawn = [
        DrawnPair(
            pair[arm]["scenario"]["weight"],
            pair[arm]["taskCompleted"],
            pair[0]["taskCompleted"],
            pair[arm]["persona"]["id"],
        )
        for pair in cells.values()
        if arm in pair
    ]
    return reweighted_lift(drawn, {3.0: FAILED, 1.0: OTHERS}, **looks)


@pytest.fixture(scope="module")
def won(tmp_path_factory):
    """Who asks, and an optimization on scenarios from the log that found its winner."""
    with calling(HelpsWithFailures(), tmp_path_factory.mktemp("logged")) as caller:
        caller.settings(maxTurns=1, confidenceMode="low")
        prompt_id = caller.prompt()
        caller.log(prompt_id, map(content, range(FAILED + OTHERS)))
        made = caller.start(prompt_id, mode="exploratory", variantCount=1, search="off")
        yield caller, caller.ended(made["id"])


def test_both_lifts_are_reported_and_the_one_on_the_logged_mix_comes_first(won):
    caller, found = won
    results = found["results"]
    assert results["winnerSelected"] is True
    held = caller.simulations(found["id"])
    assert Counter(one["scenario"]["source"] for one in held) == {"conversation": len(held)}
    weights = {("lost" in one["scenario"]["opening"], one["scenario"]["weight"]) for one in held}
    assert weights == {(True, 3.0), (False, 1.0)}
    mix = results["loggedMix"]
    expected = by_hand(held, "confirm", 1, look=results["look"], max_looks=results["maxLooks"])
    assert (mix["isHeadline"], mix["n"]) == (True, results["pairs"]["n"])
    assert (mix["lift"], mix["liftLow"], mix["liftHigh"]) == pytest.approx(
        (expected.lift, expected.lift_low, expected.lift_high)
    )
    assert mix["nEffective"] == pytest.approx(expected.n_effective)
    assert mix["liftVerified"] == pytest.approx(by_hand(held, "verify", 1).lift)
    assert mix["failedShareLogged"] == 0.15 < mix["failedShareTested"]
    # The variant helps with failures only, so it gains less where they are rarer.
    assert 0 < mix["liftPoints"] < results["liftPoints"] - 5
    assert mix["lift"] == pytest.approx(100 * (mix["taskCompletion"] / mix["originalTaskCompletion"] - 1))
    assert 0 < mix["liftExpected"] < results["liftExpected"]
    (variant,) = [one for one in caller.variants(found["id"]) if not one["isOriginal"]]
    assert variant["loggedMix"] == mix
