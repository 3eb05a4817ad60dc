"""Every picture of an optimization from the tables that a real workspace gives, from a rehearsal to the apply."""

from __future__ import annotations

import pytest

from promptlift import analysis, plots
from support.drawn import words

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prompt_id(service):
    """A prompt with a finished rehearsal, of which a variant was applied between two conversations."""
    import promptlift

    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.client.prompts.create(name="Pictures", content="Help the customer.", llm_model="gpt-4o")

        def log(count, word):
            talk = "User: Where is my parcel {}?\nAssistant: It comes {}."
            lift.log([{"content": talk.format(i, word)} for i in range(count)], prompt_id=prompt.id)

        log(6, "today")
        done = lift.optimize(prompt.id, mode="exploratory", variants=2, seed=3, wait=False).wait(timeout=200)
        variants = lift.variants(done.id)
        tested = variants.loc[~variants["is_original"], "variant_id"]
        done.apply(variant_id=tested.iloc[0], rehearsal=True)
        log(6, "tomorrow")
    return prompt.id


def test_promise_and_production_of_a_rehearsal_are_drawn_and_marked(lift, prompt_id):
    tables = lift.variants(prompt_id=prompt_id), lift.conversations(prompt_id, insights=True)
    versions = lift.versions(prompt_id)
    (row,) = analysis.simulated_vs_production(*tables, versions=versions).to_dict("records")
    assert row["predicted_basis"] in ("points", "pairs")
    assert row["n_before"] + row["n_missing_before"] == 6
    texts = words(plots.simulated_vs_production(*tables, versions=versions))
    assert "REHEARSAL" in texts
    optimizations = lift.optimizations(prompt_id)
    assert "REHEARSAL" in words(plots.simulated_vs_production(optimizations, tables[1], versions=versions))


def test_the_timeline_marks_the_apply(lift, prompt_id):
    versions = lift.versions(prompt_id)
    found = analysis.prompt_timeline(lift.conversations(insights=True), versions=versions)
    assert found["origin"].tolist() == ["created", "applied"]
    assert (found["n"] + found["n_missing"]).tolist() == [6, 6]
    assert any("variant applied, current" in text for text in words(plots.prompt_timeline(lift.conversations(prompt_id, insights=True), versions=versions)))  # fmt: skip


def test_personas_and_scenarios_are_those_of_the_simulations(lift, prompt_id):
    simulations = lift.optimizations[lift.optimizations(prompt_id)["optimization_id"].iloc[0]].simulations()
    found = analysis.persona_scenario_heatmap(simulations)
    chosen = simulations["variant_id"].eq(found.attrs["promptlift"]["variant_id"])
    chosen &= simulations["stage"].eq("confirm")
    assert found["n"].iloc[0] + found.attrs["promptlift"]["n_dropped"] == int(chosen.sum())
    assert "REHEARSAL" in words(plots.persona_scenario_heatmap(simulations))
