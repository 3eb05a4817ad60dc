"""A judge that learns from labels: it judges where it can, says so where it cannot, and is taken away again."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest
import typer.testing

from promptlift import analysis
from promptlift.cli.commands import app
from promptlift.errors import NotFound, ValidationError
from promptlift.local import wait_for_insights
from promptlift.stats.learned import CANNOT
from promptlift.widgets.browser.widget import ConversationBrowser
from support.front_end import BrowserFrontEnd

N = 240
LABELLED = 80


def conversation(done, rng):
    """A conversation that ends with thanks; where the task was not done a tool fails, more often than not."""
    failing = rng.random() < (0.05 if done else 0.95)
    turns = [
        {"role": "user", "content": f"Please change order {rng.randrange(1000)}."},
        {"role": "assistant", "content": '[tool call] change_order({"id": 1})'},
        {"role": "system", "content": f"[tool result] {'Error: not allowed' if failing else 'ok'}"},
    ]
    if failing:
        turns += turns[1:] * rng.randrange(1, 3)
    turns += [
        {"role": "assistant", "content": "It is done."},
        {"role": "user", "content": "Thank you, that solved it!"},
    ]
    return turns


@pytest.fixture
def prompt(lift):
    made = lift.create_prompt("Learned", "You help customers.", llm_model="gpt-4o")
    yield made
    lift.client.prompts.delete(made.id)


def log(lift, prompt, n, *, first=0):
    """Log conversations and return whether each was truly completed, by id."""
    rng = random.Random(first)
    truth = {f"l{first + at}": rng.random() < 0.6 for at in range(n)}
    records = [
        {"messages": conversation(done, rng), "source_id": one, "metadata": {"taskId": f"t{at // 2}"}}
        for at, (one, done) in enumerate(truth.items())
    ]
    lift.log(records, prompt_id=prompt.id)
    wait_for_insights(lift, [prompt.id], progress=False)
    table = lift.conversations(prompt.id)
    return table.set_index("conversation_id")["source_id"].map(truth).dropna().astype(bool)


def right(table, truth):
    verdict = table.set_index("conversation_id")["task_completed"].reindex(truth.index)
    return float((verdict == truth).mean())


def test_a_learned_judge_judges_what_is_there_and_what_comes_and_is_taken_away(lift, prompt):
    truth = log(lift, prompt, N)
    before = lift.conversations(prompt.id, insights=True)
    plan = analysis.label_plan(before, n=LABELLED)
    labels = plan.assign(value=plan["conversation_id"].map(truth))
    found = lift.judges.learn("completion", prompt="Learned", labels=labels, group="metadata.taskId")
    assert found.judges
    assert repr(found).startswith(f"Learned from {LABELLED} labels of ")
    assert "All conversations are judged by it, as version 1. 20 more labels: interval ±" in str(found)
    assert found.auc_low > 0.5
    assert found.accuracy > found.analyser_accuracy + 0.1

    table = lift.conversations(prompt.id, insights=True)
    assert table.attrs["promptlift"]["basis"] == "learned"
    # Labels that are kept prove the judge wherever it is asked.
    named = [lift.compare(0, 2, by="tool_errors", prompt="Learned").sentence]
    assert analysis.segments(table, by="tool_errors")["verdict"].eq("unclear").all()
    lift.labels.add(labels)
    table = lift.conversations(prompt.id, insights=True)
    named.append(lift.compare(0, 2, by="tool_errors", prompt="Learned").sentence)
    assert ["clearly lower, as the learned judge sees it" in one for one in named] == [False, True]
    assert "lower" in set(analysis.segments(table, by="tool_errors")["verdict"])
    unseen = truth.drop(labels["conversation_id"])
    assert right(table, unseen) > right(before, unseen) + 0.15
    chance = table["completion_chance"].to_numpy(float)
    assert (table["task_completed"] == (chance >= 0.5)).all()
    kept = lift.client.conversations.get(table["conversation_id"].iloc[0]).insights
    assert (kept.completed_by, kept.judged_completed) == (f"learned:{prompt.id}@1", True)
    completion = lift.client.prompts.insights(prompt.id, days="all").metrics.task_completion
    assert completion.rate == pytest.approx(100 * table["task_completed"].mean(), abs=0.1)

    # The chance corrects better than yes and no do.
    yes_and_no = table.drop(columns="completion_chance")
    one, other = (analysis.completion(some, labels=labels).iloc[0] for some in (table, yes_and_no))
    assert one["n_effective"] > LABELLED
    assert one["rate_corrected_low"] < truth.mean() < one["rate_corrected_high"]
    assert one["rate_corrected"] == pytest.approx(other["rate_corrected"], abs=0.05)

    later = log(lift, prompt, 60, first=1000)
    table = lift.conversations(prompt.id, insights=True)
    assert set(table["basis"].astype("str")) == {"learned"}
    assert right(table, later) > 0.75
    assert not lift.judges.learned("Learned").drift.drifted

    # Others come than were labelled, fewer than came before them.
    strange = [
        {"messages": [{"role": "user", "content": "Hallo, wo ist mein Paket?"}] * 9, "source_id": f"s{at}"}
        for at in range(100)
    ]
    lift.log(strange, prompt_id=prompt.id)
    wait_for_insights(lift, [prompt.id], progress=False)
    found = lift.judges.learned("Learned")
    assert found.drift.drifted
    assert "The newest conversations look unlike the labelled ones (AUC " in str(found)
    assert "label some of them, drift.conversation_ids has 20." in str(found)
    sources = lift.conversations(prompt.id).set_index("conversation_id")["source_id"]
    assert set(sources[found.drift.conversation_ids].str[0]) == {"s"}

    lift.judges.forget("Learned")
    after = lift.conversations(prompt.id, insights=True).set_index("conversation_id")
    assert (
        after["task_completed"].reindex(before["conversation_id"]).tolist()
        == before["task_completed"].tolist()
    )
    assert after["completion_chance"].isna().all()
    assert set(after["basis"].astype("str")) == {"words"}
    with pytest.raises(NotFound):
        lift.judges.learned("Learned")


def test_where_labels_teach_nothing_nothing_is_judged_and_an_outcome_stays_stronger(lift, prompt):
    truth = log(lift, prompt, 120)
    ids = truth.index[:60]
    mixed = pd.DataFrame(
        {"conversation_id": ids, "task_completed": np.random.default_rng(3).permutation(truth[:60])}
    )
    found = lift.judges.learn(prompt=prompt.id, labels=mixed)
    assert not found.judges
    assert f"The task {CANNOT}: nothing is judged by it." in str(found)
    assert set(lift.conversations(prompt.id, insights=True)["basis"].astype("str")) == {"words"}

    lift.update_prompt(prompt.id, outcome="resolved")
    lift.labels.add(
        pd.DataFrame({"conversation_id": ids, "question": "task_completed", "value": truth[:60].to_numpy()})
    )
    found = lift.judges.learn(prompt=prompt.id)
    assert (found.version, found.labels) == (2, 60)
    assert "the outcome of the logs (resolved) stays the verdict" in str(found)
    table = lift.conversations(prompt.id, insights=True)
    assert table["task_completed"].isna().all()
    lift.update_prompt(prompt.id, outcome="")
    assert set(lift.conversations(prompt.id, insights=True)["basis"].astype("str")) == {"learned"}


def test_too_few_labels_and_other_questions_say_what_to_do(lift, prompt):
    truth = log(lift, prompt, 30)
    few = pd.DataFrame({"conversation_id": truth.index[:10], "task_completed": truth[:10].to_numpy()})
    with pytest.raises(ValueError, match=r"There are no labels of task_completed for 'Learned' .*label_plan"):
        lift.judges.learn(prompt="Learned")
    with pytest.raises(ValidationError, match="at least 20 of ended conversations"):
        lift.judges.learn(prompt=prompt.id, labels=few)
    with pytest.raises(ValueError, match=r"lift\.judges\.create"):
        lift.judges.learn("politeness", prompt=prompt.id, labels=few)
    with pytest.raises(ValueError, match="have a column 'task' to group by"):
        lift.judges.learn(prompt=prompt.id, labels=few, group="task")


def test_one_click_after_labelling_and_one_line_of_the_command_learn_too(lift, prompt, monkeypatch):
    truth = log(lift, prompt, 90)
    plan = analysis.label_plan(lift.conversations(prompt.id, insights=True, content=True), n=60)
    there = BrowserFrontEnd(ConversationBrowser(plan, labels=lift, labeller="ann"))
    for place, one in enumerate(plan["conversation_id"]):
        assert bool(there.root.all(action="learn")) == (place >= 20)
        there.label(place, "task_completed", "yes" if truth[one] else "no")
    there.press("learn")
    said = there.root.one(".plw-learned").text
    assert said.startswith("Learned from 60 labels: ")
    assert set(lift.conversations(prompt.id, insights=True)["basis"].astype("str")) == {"learned"}
    assert lift.judges.learned(prompt.id).version == 1

    monkeypatch.setenv("PROMPTLIFT_BASE_URL", lift.client.config.base_url)
    monkeypatch.setenv("PROMPTLIFT_API_KEY", lift.client.config.key.reveal())
    run = typer.testing.CliRunner().invoke
    done = run(app, ["learn", "Learned", "--group", "metadata.taskId"])
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    assert done.stdout.startswith("Learned from 60 labels of ")
    assert "as version 2" in done.stdout
    assert (
        run(app, ["learn", "Learned", "--forget"]).stdout
        == "The judge that learned from labels was removed\n"
    )
