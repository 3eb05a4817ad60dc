"""Scenarios from logs over real sockets: failed conversations are tested more often, and the lift is given on both mixes."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import promptlift
from promptlift import plots
from promptlift.schema.optimizations import Optimization
from promptlift.stats.reweighted import DrawnPair, reweighted_lift
from promptlift.widgets.review.reading import read_review
from promptlift.widgets.review.variants import make_cards
from support.answering_model import AnsweringModel, share
from support.optimizing_caller import calling
from support.service_process import wait_until

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


def log(caller, prompt_id):
    """Log conversations of which 15 % failed, and wait until they are judged."""
    for number in range(FAILED + OTHERS):
        failed = number < FAILED
        said = "I cannot say." if failed else "It is solved: tomorrow."
        opening = f"My parcel {number} is {'lost' if failed else 'late'}"
        content = {"messages": [{"role": "user", "content": opening}, {"role": "assistant", "content": said}]}
        caller.ask(
            "POST", "/conversations", {"promptId": prompt_id, "content": json.dumps(content)}, expect=201
        )

    def waiting():
        page = caller.ask("GET", "/conversations", promptId=prompt_id, hasInsights="false", limit=1)
        return page["pagination"]["total"]

    wait_until(lambda: waiting() == 0, what="all of them are judged", seconds=120)


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
        log(caller, prompt_id)
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
        (expected.lift, expected.low, expected.high)
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


def test_tables_plots_the_review_and_the_report_show_both(won, tmp_path):
    caller, found = won
    mix, results = found["results"]["loggedMix"], found["results"]
    logged, tested = (f"{value:+.1f}" for value in (mix["lift"], results["lift"]))
    with promptlift.connect(base_url=caller.service.base_url, api_key=caller.service.key) as lift:
        table = lift.variants(found["id"])
        row = table[~table["is_original"]].iloc[0]
        assert (row["lift"], row["lift_logged"]) == pytest.approx((results["lift"], mix["lift"]))
        rates = row["task_completion"], row["original_task_completion"]
        assert 100 * (rates[0] / rates[1] - 1) == pytest.approx(row["lift"])
        rates = row["task_completion_logged"], row["original_task_completion_logged"]
        assert 100 * (rates[0] / rates[1] - 1) == pytest.approx(row["lift_logged"])
        assert bool(row["logged_is_headline"])
        optimizations = lift.optimizations(prompt_id=found["promptId"])
        assert optimizations["lift_logged"].iloc[0] == pytest.approx(mix["lift"])
        weights = lift.optimizations[found["id"]].simulations()["scenario_weight"]
        assert set(weights) == {1.0, 3.0}

        ax = plots.variant_lift(table, title="auto")
        said = " ".join(text.get_text() for text in ax.figure.findobj(lambda one: hasattr(one, "get_text")))
        assert f"logged mix {logged} %" in said
        assert f"tested mix {tested}" in said
        assert "on the logged mix" in said
        assert "Cross: on the tested mix" in said
        places = [line.get_xdata()[0] for line in ax.lines if line.get_marker() in ("o", "x")]
        assert places == pytest.approx([mix["lift"], results["lift"]])

        _, card = make_cards(read_review(lift, found["id"]))
        assert card.row["lift"] == mix["lift"]
        assert f"lift {logged} % on the mix of the logged conversations" in card.effect
        assert f"{tested} % on the tested mix" in card.effect
        assert ("failed conversations, logged mix", "15.0 %") in card.facts
        promptlift.report.write(lift, found["promptId"], tmp_path / "report.md")
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Lift, logged mix" in report
    assert "Lift, tested mix" in report
    sentence = Optimization.model_validate(found).sentence
    assert "on the mix of the logged conversations (on the tested mix" in sentence
