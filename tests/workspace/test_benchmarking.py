"""Benchmarks from a notebook, against the real service with its rehearsal model."""

from __future__ import annotations

import pytest

import promptlift
from promptlift import analysis
from promptlift.errors import ConfigError, NotFound
from promptlift.frames.layouts import TABLES

pytestmark = pytest.mark.slow

PRICES = {"gpt-4o": {"input": 2.0, "output": 8.0}, "gpt-4o-mini": {"input": 0.2, "output": 0.8}}


@pytest.fixture(scope="module")
def begun(service):
    """A workspace, two prompts, and a benchmark of them that has ended."""
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        names = ("Benchmarked one", "Benchmarked two")
        for name in names:
            lift.client.prompts.create(name=name, content=f"You are {name}.", llm_model="gpt-4o")
        found = lift.benchmark(names, scenarios=12, max_turns=3, seed=4, name="Two prompts", prices=PRICES)
        yield lift, found


def test_tables_have_the_columns_that_are_described(begun):
    lift, found = begun
    assert (found.status, found.name) == ("completed", "Two prompts")
    assert found.wait().results == lift.benchmarks[found.id].results
    tables = {
        "benchmarks": lift.benchmarks(),
        "benchmark_arms": found.arms(),
        "benchmark_conversations": found.conversations(content=True),
        "scenario_sets": lift.scenarios(),
        "scenarios": lift.scenarios(found.scenario_set.id),
    }
    for name, table in tables.items():
        assert list(table.columns) == [column.name for column in TABLES[name]], name
        assert table.attrs["promptlift"]["table"] == name
        assert len(table)
    row = tables["benchmarks"].set_index("benchmark_id").loc[found.id]
    assert (row["status"], row["arm_count"], row["conversations_done"]) == ("completed", 2, 24)
    assert (row["scenario_set_id"], row["scenario_count"]) == (found.scenario_set.id, 12)
    assert len(found.conversations(arm=1)) == 12
    arms, held = tables["benchmark_arms"], found.conversations()
    rates = held.groupby("arm")["task_completed"].mean()
    assert arms["task_completion"].tolist() == pytest.approx(rates.tolist())
    assert arms["difference"].iloc[1] == pytest.approx(100 * (rates[1] - rates[0]))
    assert arms["tokens_estimated"].all()
    assert arms.attrs["promptlift"]["rehearsal"]
    mirrored = found.arms(reference=1)
    assert mirrored["difference"].iloc[0] == pytest.approx(-arms["difference"].iloc[1])
    assert mirrored["is_reference"].tolist() == [False, True]


def test_the_cheapest_that_is_not_worse_is_one_call(begun):
    lift, found = begun
    choice = found.cheapest(within=5)
    assert choice.arm == 0
    assert "rehearsal" in str(choice)
    # Nothing is worse by more than the most there can be.
    wide = lift.benchmarks[found.id].cheapest(within=99)
    costs = wide.table["cost_per_conversation"]
    assert wide.table["acceptable"].all()
    assert wide.arm == int(costs.idxmin())
    assert wide.cost_per_conversation == pytest.approx(costs.min())
    assert wide.cost_basis == "price"
    dear = {"gpt-4o": {"input": 20.0, "output": 80.0}}
    assert found.cheapest(within=99, prices=dear).cost_per_conversation == pytest.approx(10 * costs.min())
    unknown = found.cheapest(within=99, prices={})
    assert (unknown.cost_basis, unknown.cost_per_conversation) == ("tokens", None)
    assert "by its tokens" in unknown.sentence
    best = found.cheapest(within=1, reference="best")
    assert best.arm is None
    assert "More scenarios can prove it" in str(best)


def test_the_analysis_reads_a_benchmark_and_a_table_alike(begun):
    found = begun[1]
    one, other = analysis.benchmark(found.state), analysis.benchmark(found.arms())
    # Only the workspace knows the prompts' names.
    assert list(one["prompt"]) == [arm.prompt_id for arm in found.state.arms]
    assert one.drop(columns="prompt").equals(other.drop(columns="prompt"))
    with pytest.raises(promptlift.errors.FrameError, match=r"lift\.benchmarks\[benchmark_id\]\.arms"):
        analysis.benchmark(one[["name"]])


def test_the_same_set_models_and_versions(begun):
    lift, found = begun
    again = lift.benchmark(
        "Benchmarked one",
        models=["gpt-4o", "gpt-4o-mini"],
        scenario_set=found.scenario_set,
        max_turns=3,
        seed=4,
    )
    assert again.scenario_set.to_wire() == found.scenario_set.to_wire()
    assert [arm.llm_model for arm in again.state.arms] == ["gpt-4o", "gpt-4o-mini"]
    # The same seed, set and text.
    assert again.results.arms[0].task_completion == found.results.arms[0].task_completion
    grown = lift.benchmark("Benchmarked one", scenario_set=found.scenario_set.id, scenarios=14, max_turns=1)
    assert (grown.scenario_set.version, grown.scenario_set.count) == (2, 14)
    before, after = (lift.scenarios(found.scenario_set.id, version=version) for version in (1, 2))
    assert after.head(12).equals(before)
    version = lift.versions("Benchmarked one")["version_id"].iloc[0]
    both = lift.benchmark("Benchmarked one", versions=[version], scenarios=2, max_turns=1)
    assert len({arm.content for arm in both.state.arms}) == 1


def test_what_cannot_be_compared_is_said(begun):
    lift, _ = begun
    with pytest.raises(ConfigError, match="Name prompts to compare"):
        lift.benchmark()
    with pytest.raises(ConfigError, match="one prompt"):
        lift.benchmark(["Benchmarked one", "Benchmarked two"], versions=["ver_1"])
    with pytest.raises(NotFound, match="Did you mean"):
        lift.benchmark("Benchmarked on")
