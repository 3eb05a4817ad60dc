"""What an experiment measures: by unit, on one basis, corrected by labels, and by whose weights."""

from __future__ import annotations

import numpy as np
import pytest

from promptlift.schema.experiments import (
    ASSIGNMENT,
    Assignment,
    ExperimentApply,
    ExperimentCreate,
    LiveDifference,
)
from promptlift.service import clock
from promptlift.service.actions import experiments as actions
from promptlift.service.deployments import experiment_results
from promptlift.service.errors import ApiException
from promptlift.service.identifiers import new_id
from promptlift.service.store.rows import Rows, wanted
from promptlift.service.store.tables.conversations import ConversationRow
from promptlift.service.store.tables.prompts import LabelRow
from promptlift.stats.live import Difference, Units, difference
from support.deployed import TEXTS, Logged

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
AT = clock.now() - clock.DAY


@pytest.fixture
def start(world):
    """Start an experiment between the original and the first variant of an optimization."""

    def begin(weight=0.5):
        variant = world.variant(world.optimization(), 1)
        body = ExperimentCreate(weights={variant: weight})
        return world.ask(actions.start, world.prompt_id, body)["id"]

    return begin


def log(world, experiment, arm, completed, **fields):
    """Log conversations of an arm: one list of outcomes per unit."""
    world.log_each(
        [
            Logged(
                completed=one, metadata={ASSIGNMENT: Assignment(experiment, arm, f"{unit:016x}").id}, **fields
            )
            for unit, some in enumerate(completed)
            for one in some
        ],
        at=AT,
    )


def results(world, experiment):
    return world.ask(actions.get, experiment)


@pytest.mark.slow
def test_everybody_keeps_the_version_by_the_weights(world, start):
    experiment = start(0.3)
    given = {unit: world.resolve(unit) for unit in map(str, range(10_000))}
    shares = [sum(one.content == text for one in given.values()) for text in TEXTS[:2]]
    assert sum(shares) == 10_000
    assert abs(shares[1] - 3_000) < 4 * np.sqrt(10_000 * 0.3 * 0.7)
    for unit in map(str, range(50)):
        assert world.resolve(unit) == given[unit]
        # A client needs only another unit's answer.
        assert given["0"].of(unit) == given[unit]
        assert given[unit].assignment_id.startswith(experiment)
    assert len({one.assignment_id for one in given.values()}) == 10_000


@both
def test_a_unit_counts_once(world, start):
    experiment = start()
    rng = np.random.default_rng(3)
    arms = [[rng.random(rng.integers(1, 6)) < rate for _ in range(200)] for rate in (0.5, 0.75)]
    for number, units in enumerate(arms):
        log(world, experiment, number, units)
    log(world, experiment, 7, [[True]])  # of an arm that there is not
    log(world, experiment, 1, [[], [False]], status="in_progress", messages=900)
    found = results(world, experiment)
    control, variant = found["arms"]
    assert [arm["units"] for arm in found["arms"]] == [200, 200]
    assert [arm["conversations"] for arm in found["arms"]] == [
        sum(map(len, arms[0])),
        sum(map(len, arms[1])) + 1,
    ]
    means = [[float(np.mean(some)) for some in units] for units in arms]
    assert [arm["rates"][0]["rate"] for arm in found["arms"]] == pytest.approx(
        [100 * np.mean(one) for one in means]
    )
    expected = difference(Units.of(means[1]), Units.of(means[0]))
    shown = variant["difference"]
    assert [shown[name] for name in ("estimate", "low", "high")] == pytest.approx(
        [100 * expected.estimate, 100 * expected.low, 100 * expected.high]
    )
    assert variant["overTime"][-1] == {**shown, "until": variant["overTime"][-1]["until"]}
    assert len(variant["overTime"]) == 40
    assert (found["basis"], variant["verdict"], "difference" in control) == ("model", "better", False)
    assert found["sentence"].startswith("Variant 1 completes ")
    assert found["sentence"].endswith(", as the model sees it; 400 units")
    assert {one["metric"]: one["harmed"] for one in variant["guardrails"]} == dict.fromkeys(
        ("task_completion", "sentiment", "quality", "abandonment", "response_time", "length"), False
    )
    world.ask(actions.apply, experiment, ExperimentApply())
    assert world.text == TEXTS[1]
    assert world.ask(actions.get, experiment)["status"] == "applied"


def test_variants_of_rehearsals_and_of_other_prompts_are_no_versions(world):
    rehearsed, elsewhere = (
        world.variant(world.optimization(rehearsal=rehearsal), 1) for rehearsal in (True, False)
    )
    world.prompt_id, first = world.add_prompt(), world.prompt_id
    for prompt_id, variant in ((first, rehearsed), (world.prompt_id, elsewhere)):
        with pytest.raises(ApiException, match="not possible") as refused:
            world.ask(actions.start, prompt_id, ExperimentCreate(weights={variant: 0.5}))
        assert list(refused.value.details) == [f"weights.{variant}"]


def test_a_difference_of_shares_ends_at_100_points():
    few = Difference(0.9, 0.4, 1.4, 0.2, Units.of(np.ones(20)), Units.of(np.zeros(20)))
    shown = experiment_results.shown(LiveDifference, few)
    assert (shown.estimate, shown.low, shown.high) == (90.0, 40.0, 100.0)
    assert experiment_results.shown(LiveDifference, few, share=False).high == 1.4


def test_a_word_list_says_no_direction(world, start):
    experiment = start()
    for number, done in enumerate((False, True)):
        log(world, experiment, number, [[done]] * 100, basis="words")
    found = results(world, experiment)
    variant = found["arms"][1]
    assert variant["rates"][0]["rate"] == 100.0
    assert not {"difference", "verdict"} & variant.keys()
    assert "cannot be told without outcomes, labels or a model" in found["sentence"]
    # One verdict of the list does not silence a model.
    for number, done in enumerate((False, True)):
        log(world, experiment, number, [[done]] * 100 + [[not done]])
    assert results(world, experiment)["arms"][1]["verdict"] == "better"


def test_units_that_do_not_fall_by_their_weights_make_no_verdict(world, start):
    experiment = start()
    log(world, experiment, 0, [[False]] * 300)
    log(world, experiment, 1, [[True]] * 150)
    found = results(world, experiment)
    assert found["sampleRatio"]["isOff"]
    assert [arm["units"] for arm in found["arms"]] == [300, 150]
    assert found["arms"][1].get("verdict") is None
    assert found["sentence"].startswith("v1 got 300 units where its weight lets expect 225: ")
    assert found["sentence"].endswith("no difference can be trusted")


@both
def test_labels_correct_a_judge_that_prefers_a_version(world, start):
    """The judge sees every conversation of the variant as completed, people see half of both."""
    experiment = start()
    truth = [[n % 2 == 0] for n in range(400)]
    log(world, experiment, 0, truth)
    log(world, experiment, 1, [[True]] * 400)
    assert results(world, experiment)["arms"][1]["verdict"] == "better"
    with world.database.write() as connection, Rows(connection) as rows:
        found = rows.all(wanted(ConversationRow, experiment_id=experiment).order_by(ConversationRow.seq))
        for n, row in enumerate(found):
            if n % 4 < 2:  # half of them, as many that people see completed as not
                rows.add(
                    LabelRow(
                        id=new_id("lbl"),
                        account_id=world.account,
                        prompt_id=world.prompt_id,
                        conversation_id=row.id,
                        question="task_completed",
                        value="yes" if n % 2 == 0 else "no",
                        labeller="a",
                        chance=0.5,
                        labelled_at=clock.to_datetime(clock.now()),
                    )
                )
        rows.flush()
    corrected = results(world, experiment)
    variant = corrected["arms"][1]
    assert (corrected["basis"], variant["verdict"], variant["labels"]) == ("label", "unclear", 200)
    assert variant["difference"]["estimate"] == pytest.approx(0.0, abs=1.0)
    assert variant["difference"]["high"] < 30.0
