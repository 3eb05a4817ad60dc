"""Optimizations from the trigger to the restored text, against a real service process and its rehearsal model."""

from __future__ import annotations

import pandas as pd
import pytest

import promptlift
from promptlift import stats
from promptlift.errors import InvalidState, NotFound

pytestmark = pytest.mark.slow

PROMPT = {
    "name": "Support",
    "content": "You are a support agent. Be kind.\nAnswer in {language}.",
    "llm_model": "gpt-4o",
}


@pytest.fixture(scope="module")
def walk(service):
    """One optimization of a new prompt, from begin to end."""
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.client.prompts.create(**PROMPT)
        optimization = lift.optimize(prompt.id, mode="validation", variants=3, seed=7, wait=False).wait(
            timeout=240
        )
        yield lift, prompt, optimization


def test_the_list_is_paged_and_whole(walk):
    lift, prompt, optimization = walk
    frame = lift.optimizations(prompt.id)
    assert frame["optimization_id"].tolist() == [optimization.id]
    row = frame.iloc[0]
    assert row["confidence"] == optimization.results.confidence
    assert row["n_pairs"] == optimization.results.pairs.n
    assert row["reason"] == optimization.results.reason
    told = frame.attrs["promptlift"]
    assert (told["complete"], told["total"], told["requests"], told["rehearsal"]) == (True, 1, 1, True)


def test_the_variants_are_what_their_pairs_say(walk):
    lift, _, optimization = walk
    frame = lift.variants(optimization.id)
    assert frame["is_original"].sum() == 1
    assert not frame.attrs["promptlift"]["warnings"]
    for _, row in frame[~frame["is_original"]].iterrows():
        counts = [int(row[name]) for name in ("n11", "n10", "n01", "n00")]
        said = stats.analyse_pairs(*counts)
        assert row["lift"] == pytest.approx(said.lift)
        assert row["task_completion"] == pytest.approx(said.p1)
        assert row["original_task_completion"] == pytest.approx(said.p0)
        assert row["lift_basis"] == "relative_completion"
        assert row["uncertainty_source"] == "service"
    confirmed = frame[frame["stage"].eq("confirm") & ~frame["is_original"]]
    assert confirmed["confidence"].tolist() == [optimization.results.confidence]


def test_the_simulated_conversations_add_up_to_the_pairs(walk):
    _lift, _, optimization = walk
    frame = optimization.simulations()
    told = frame.attrs["promptlift"]
    assert (told["complete"], told["rehearsal"], told["total"]) == (True, True, len(frame))
    assert len(frame) == optimization.usage.conversations
    held = frame[frame["stage"].eq("confirm")]
    by_arm = held.pivot_table(index="cell", columns="is_original", values="task_completed", aggfunc="first")
    assert len(by_arm) == optimization.results.pairs.n
    both = (by_arm[False].astype(bool) & by_arm[True].astype(bool)).sum()
    assert both == optimization.results.pairs.n11


def test_personas_are_the_library_and_ones_own(walk):
    lift, _, _ = walk
    mine = lift.client.personas.create(name="Ada", description="Asks one short question at a time.")
    try:
        frame = lift.personas()
        assert frame["persona_id"].iloc[0] == mine.id
        assert frame["built_in"].sum() >= 40
        changed = lift.client.personas.update(mine.id, name="Grace")
        assert (changed.name, changed.description) == ("Grace", mine.description)
    finally:
        assert lift.client.personas.delete(mine.id).success
    assert mine.id not in set(lift.personas()["persona_id"])


def test_apply_makes_a_version_and_restore_brings_the_text_back(walk):
    lift, prompt, optimization = walk
    variants = lift.variants(optimization.id)
    variant = variants[~variants["is_original"]].iloc[0]
    first = lift.versions(prompt.id)
    assert first["content"].tolist() == [PROMPT["content"]]
    with pytest.raises(InvalidState, match=r"was a rehearsal: .* all the same: rehearsal=True"):
        optimization.apply(variant["variant_id"])
    applied = optimization.apply(variant["variant_id"], rehearsal=True)
    assert (applied.applied_variant_id, applied.changed) == (variant["variant_id"], True)
    assert lift.client.prompts.get(prompt.id).content == variant["content"]
    versions = lift.versions(prompt.id)
    assert versions["origin"].tolist() == ["applied", "created"]
    assert versions["is_live"].tolist() == [True, False]
    assert versions["optimization_id"].iloc[0] == optimization.id
    assert pd.isna(versions["variant_id"].iloc[1])
    with pytest.raises(InvalidState, match="changed by someone else"):
        lift.restore(prompt.id, first["version_id"].iloc[0], if_version_id=first["version_id"].iloc[0])
    lift.restore(prompt.id, first["version_id"].iloc[0], if_version_id=applied.version_id)
    assert lift.client.prompts.get(prompt.id).content == PROMPT["content"]
    with pytest.raises(NotFound):
        lift.restore(prompt.id, "ver_999999999")
    # A rehearsal promises nothing of a real prompt.
    pairs = lift.calibration()
    assert pairs.empty
    assert "there are 0" in pairs.attrs["promptlift"]["sentence"]
    assert "kept" not in pairs.attrs["promptlift"]
