"""``lift.judges`` and ``lift.judges.verdicts`` on a service whose model judges by a hidden rubric."""

from __future__ import annotations

import pandas as pd
import pytest

import promptlift
from promptlift import analysis
from promptlift.errors import InvalidState
from support.answering_model import serving
from support.judging_model import QUESTION, JudgingModel, world
from support.service_process import ServiceProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
PRICE = {"input": 1.0, "output": 2.0}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A workspace with 60 conversations, and the owner's labels of them."""
    with serving(JudgingModel()) as env:
        service = ServiceProcess(tmp_path_factory.mktemp("judged"), env=env).start()
        try:
            with promptlift.connect(service.base_url, service.key, progress=False) as workspace:
                made = world(60)
                prompt = workspace.client.prompts.create(
                    name="Support", content="You help.", llm_model="gpt-4o"
                )
                create = workspace.client.conversations.create
                ids = {
                    key: create(prompt_id=prompt.id, content=text, idempotency_key=key).id
                    for key, text in made.texts.items()
                }
                labels = pd.DataFrame(
                    {"conversation_id": ids.values(), "value": [made.truth[key] for key in ids]}
                )
                yield workspace, labels
        finally:
            service.stop()


def kappa(labels, verdicts):
    """Cohen's kappa of people and the judge."""
    pairs = labels.merge(verdicts, on="conversation_id")
    owner, judge = pairs["value"].astype(float), pairs["verdict"].astype(float)
    by_chance = owner.mean() * judge.mean() + (1 - owner.mean()) * (1 - judge.mean())
    return ((owner == judge).mean() - by_chance) / (1 - by_chance)


def test_the_walk_from_a_question_to_a_better_judge(judged):
    workspace, labels = judged
    first = workspace.judges.create("refund", QUESTION)
    assert (first.version, workspace.judges.create("refund", QUESTION).version) == (1, 1)
    plan = workspace.judges.plan("refund", prompt="Support", price=PRICE)
    assert str(plan).startswith("refund (version 1): 60 conversations to judge, 60 calls of stub, about ")
    assert "at a cost of about 0.0" in str(plan)
    assert plan.run().progress.done == 60
    verdicts = workspace.judges.verdicts("refund")
    assert set(verdicts["prompt"]) == {"Support"}
    assert verdicts.attrs["promptlift"]["complete"]

    run = workspace.judges.align("refund", labels)
    assert run.alignment.improved
    assert run.alignment.kappa_after - run.alignment.kappa_before >= 0.15
    assert "agrees with you more often" in run.alignment.sentence
    assert len(workspace.judges.verdicts("refund")) == 0  # the new version has answered for none
    assert workspace.judges.plan("refund", max_conversations=20).run().progress.done == 20
    both = workspace.judges.verdicts("refund", all_versions=True)
    assert both["judge_version"].value_counts().to_dict() == {1: 40, 2: 20}
    assert both["conversation_id"].is_unique
    assert len(workspace.judges.verdicts("refund", version=1)) == 60
    found = analysis.judge_agreement(labels, both)
    # Ids are drawn at random and decide which half is learnt from, so now and then a rule is not found.
    first, second = found["kappa"]
    assert second == pytest.approx(kappa(labels, both[both["judge_version"] == 2]))
    assert second > first

    listed = workspace.judges()
    assert (listed["judge_version"].iloc[0], listed["origin"].iloc[0]) == (2, "aligned")
    assert list(workspace.judges.versions("refund")["judge_version"]) == [2, 1]
    runs = workspace.judges.runs("refund")
    assert list(runs["kind"]) == ["backfill", "alignment", "backfill"]
    edited = workspace.judges.edit("refund", question="Was a refund promised?")
    assert (edited.version, edited.rubric) == (3, workspace.judges.get("refund", version=2).rubric)


def test_labels_name_the_question_of_the_judge(judged):
    workspace, labels = judged
    workspace.judges.create("named", QUESTION)
    words = labels.assign(question="named", value=labels["value"].map({True: "yes", False: "no"}))
    other = labels.assign(question="task_completed")
    assert workspace.judges.align("named", pd.concat([words, other])).alignment.labels == 60
    with pytest.raises(ValueError, match="answer task_completed, not named"):
        workspace.judges.align("named", other)


def test_without_a_model_the_plan_and_the_error_say_what_to_set(lift):
    lift.judges.create("nobody", QUESTION)
    assert "set PROMPTLIFT_LLM_BASE_URL and PROMPTLIFT_LLM_MODEL" in str(lift.judges.plan("nobody"))
    with pytest.raises(InvalidState, match="PROMPTLIFT_LLM_BASE_URL"):
        lift.judges.plan("nobody").run()
