"""A few whole optimizations over HTTP against a known truth, and whether the checks would notice a false one.

Run `service_truth.py` beside this file for the full table.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from benchmarks.truth.experiment_truth import FALSE_WINNERS, at_most
from benchmarks.truth.model_stub import TruthModel
from benchmarks.truth.optimization_runs import OptimizationRuns, Wanted, problems_of
from benchmarks.truth.service_truth import CALLS_AT_A_TIME, Finished
from support.optimizing_caller import calling

if TYPE_CHECKING:
    from collections.abc import Iterator

ALIKE = [Wanted(100 + at, 0.0, 2 + at % 4, "exploratory", "moderate") for at in range(6)]
# So strong that missing it would be a defect, and with the better variant in different places.
STRONG = [Wanted(200 + at, 0.22, 2 + at % 4, "validation", "moderate") for at in range(4)]


@dataclass
class Seen:
    """What was run.

    Attributes
    ----------
    again
        The first strong one once more.
    whole, variants, simulations
        Of one optimization, as the API gives them.
    """

    records: list[dict]
    again: dict
    wanted: Wanted
    whole: dict
    variants: list[dict]
    simulations: list[dict]
    model: TruthModel

    def of(self, wanted: list[Wanted]) -> list[dict]:
        return [record for one in wanted for record in self.records if record["run"] == one.run]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    model, folder = TruthModel(), tmp_path_factory.mktemp("truth")
    with calling(model, folder, PROMPTLIFT_LLM_CONCURRENCY=CALLS_AT_A_TIME) as caller:
        runs = OptimizationRuns(caller)
        records = list(runs.results([*ALIKE, *STRONG]))
        (again,) = runs.results([STRONG[0]])
        newest = caller.ask("GET", "/optimizations", limit=1)["data"][0]["id"]
        yield Seen(
            records=records,
            again=again,
            wanted=STRONG[0],
            whole=caller.get(newest),
            variants=caller.variants(newest),
            simulations=caller.simulations(newest),
            model=model,
        )


@pytest.mark.slow
def test_every_outcome_is_true_and_every_decision_follows_from_them(seen):
    assert len(seen.records) == len(ALIKE) + len(STRONG)
    assert {record["run"]: record["problems"] for record in seen.records if record["problems"]} == {}


def test_nobody_but_the_assistant_knows_the_arm(seen):
    assert seen.model.leaks == seen.model.not_understood == 0
    conversations = sum(record["conversations"] for record in [*seen.records, seen.again])
    asked = seen.model.purposes
    assert asked["agent"] == asked["judge"] == conversations
    calls = sum(record["model_calls"] for record in [*seen.records, seen.again])
    assert calls == asked.total()


def test_identical_prompts_have_no_more_winners_than_confidence_allows(seen):
    named = [Finished(record).named for record in seen.of(ALIKE)]
    false = sum(one["service"] is not None for one in named)
    assert at_most(false, len(named), FALSE_WINNERS["moderate"])
    assert sum(one["highest mean"] is not None for one in named) > false


def test_a_strong_difference_is_found_whatever_its_position(seen):
    finished = [Finished(record) for record in seen.of(STRONG)]
    assert len({one.wanted.case.better_arm for one in finished}) > 1
    winners = [one.record["winner"] for one in finished]
    assert sum(one.is_better(arm) for one, arm in zip(finished, winners, strict=True)) >= 3
    assert not any(one.is_false(arm) for one, arm in zip(finished, winners, strict=True))
    for one in finished:
        assert one.record["conversations"] < one.record["conversations_max"]
        assert 0.90 <= one.record["results"]["confidence"] < 1.0


def test_the_same_seed_gives_the_same_answer(seen):
    (first,) = seen.of([seen.wanted])
    # The record of earlier results may change what is expected, never what was measured.
    for record in (first, seen.again):
        record["results"].pop("liftPointsExpected", None)
    assert first == seen.again


def flip(document, simulations):
    simulations[0]["taskCompleted"] = not simulations[0]["taskCompleted"]


def forget(document, simulations):
    simulations.pop()


def boast(document, simulations):
    document["results"]["lift"] += 1.0


def move_a_pair(document, simulations):
    document["results"]["pairs"]["n10"] += 1
    document["results"]["pairs"]["n00"] -= 1


@pytest.mark.parametrize(
    "spoil",
    [flip, forget, boast, move_a_pair],
    ids=lambda one: one.__name__,
)
def test_what_is_not_true_is_noticed(seen, spoil):
    whole, simulations = copy.deepcopy((seen.whole, seen.simulations))
    assert problems_of(seen.wanted, whole, seen.variants, simulations) == []
    spoil(whole, simulations)
    assert problems_of(seen.wanted, whole, seen.variants, simulations) != []
