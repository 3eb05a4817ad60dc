"""Labels of people stay in a snapshot, whatever the service has anew."""

from __future__ import annotations

import pandas as pd
import pytest

import promptlift
from promptlift import analysis, widgets
from promptlift.analysis.reading import collect, names_of
from promptlift.errors import ConfigError, FrameError, UnexpectedResponse
from promptlift.workspace.snapshots import offered, verdicts
from promptlift.workspace.snapshots.verdicts import read_apart
from support.foreign_service import ForeignService
from support.pulled import LISTED, workspace


@pytest.mark.slow
def test_labels_are_kept_over_pulls_and_go_with_their_conversation(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(120)
        lift = workspace(service)
        lift.pull(tmp_path)
        opened = promptlift.open_snapshot(tmp_path)
        assert len(opened.kept_labels()) == 0
        table = opened.conversations(insights=True, content=True)
        labels = pd.DataFrame({"conversation_id": table["conversation_id"][:40], "task_completed": True})
        labels["sentiment"], labels["mood"] = "positive", "calm"
        browser = widgets.ConversationBrowser(
            table, labels=labels[["conversation_id", "task_completed", "sentiment"]]
        )
        opened.keep_labels(browser.labels)
        pd.testing.assert_frame_equal(
            opened.kept_labels(), browser.labels.sort_values("conversation_id", ignore_index=True)
        )
        assert len(analysis.judge_agreement(opened.kept_labels(), opened.insights()))
        opened.keep_labels(labels[:1].assign(task_completed=False))
        assert opened.kept_labels()["task_completed"].sum() == 39
        assert opened.kept_labels()["mood"].count() == 1
        # One is judged anew, one is deleted.
        service.rows[5]["status"] = "abandoned"
        gone = service.rows.pop(7)["id"]
        lift.pull(tmp_path)
        again = promptlift.open_snapshot(tmp_path)
        assert len(again.kept_labels()) == 39
        assert gone not in set(again.kept_labels()["conversation_id"])
        assert service.rows[5]["id"] in set(again.kept_labels()["conversation_id"])
        assert again.snapshot.verify() == {}


def test_labels_of_unknown_conversations_are_refused(tmp_path):
    with ForeignService(honours=LISTED) as service:
        service.fill(3)
        workspace(service).pull(tmp_path)
    opened = promptlift.open_snapshot(tmp_path)
    with pytest.raises(ConfigError, match="not in the snapshot, 'c9'"):
        opened.keep_labels(pd.DataFrame({"conversation_id": ["c9"], "task_completed": [True]}))
    with pytest.raises(FrameError):
        opened.keep_labels(pd.DataFrame({"task_completed": [True]}))


def test_a_pull_brings_the_labels_that_the_service_keeps(lift, tmp_path):
    prompt = lift.client.prompts.create(name=f"P {tmp_path.name}", content="c", llm_model="gpt-4o-mini").id
    lift.log([{"content": f"User: hi {n}\nAssistant: ok"} for n in range(4)], prompt_id=prompt)
    ids = sorted(lift.conversations(prompt)["conversation_id"])
    said = pd.DataFrame(
        {"conversation_id": ids[:3], "question": "task_completed", "value": ["yes", "no", "yes"]}
    )
    lift.add_labels(said.assign(chance=0.75, draw_id="d1"), labeller="ann")
    lift.pull(tmp_path / "s", prompt_id=prompt)
    opened = promptlift.open_snapshot(tmp_path / "s")
    pd.testing.assert_frame_equal(opened.labels(prompt_id=prompt), lift.labels(prompt_id=prompt))
    assert len(opened.labels(labeller="ann", draw_id="d1")) == 3
    assert opened.labels(question="sentiment").empty
    with pytest.raises(ConfigError, match=r"a snapshot is only read\. keep_labels"):
        opened.add_labels(said, labeller="ann")
    # What was taken back at the service is gone with the next pull.
    lift.remove_label(ids[0], "task_completed", labeller="ann")
    lift.pull(tmp_path / "s", prompt_id=prompt)
    assert len(promptlift.open_snapshot(tmp_path / "s").labels()) == 2


@pytest.fixture
def labelled(lift, tmp_path):
    """A prompt's id, its six conversations, and the folder of its snapshot; ann has labelled the first three."""
    prompt = lift.client.prompts.create(name=f"P {tmp_path.name}", content="c", llm_model="gpt-4o-mini").id
    lift.log([{"content": f"User: hi {n}\nAssistant: ok"} for n in range(6)], prompt_id=prompt)
    ids = sorted(lift.conversations(prompt)["conversation_id"])
    said = pd.DataFrame({"conversation_id": ids[:3], "question": "task_completed", "value": "yes"})
    lift.add_labels(said.assign(chance=0.5, draw_id="d1"), labeller="ann")
    lift.pull(tmp_path / "s", prompt_id=prompt)
    return prompt, ids, tmp_path / "s"


def answers(labels):
    """Answers by conversation, question and labeller."""
    return {
        (row.conversation_id, row.question, row.labeller): row.value for row in labels.itertuples(index=False)
    }


def test_one_table_has_what_the_service_keeps_and_what_was_kept_by_hand(lift, labelled):
    prompt, ids, folder = labelled
    opened = promptlift.open_snapshot(folder)
    said = pd.DataFrame({"conversation_id": ids[2:5], "question": "polite?", "value": ["yes", "no", "yes"]})
    opened.keep_labels(said.assign(draw_id="d2"), labeller="ben", chance=0.25)
    opened.keep_labels(pd.DataFrame({"conversation_id": ids[:1], "task_completed": [False]}), labeller="ann")
    by_hand = {
        (ids[2], "polite?", "ben"): "yes", (ids[3], "polite?", "ben"): "no", (ids[4], "polite?", "ben"): "yes",
        (ids[0], "task_completed", "ann"): "no",
    }  # fmt: skip
    everything = {(one, "task_completed", "ann"): "yes" for one in ids[1:3]} | by_hand
    table = opened.labels()
    assert answers(table) == everything
    assert table.dtypes.equals(lift.labels(prompt_id=prompt).dtypes)
    ben = opened.labels(labeller="ben", draw_id="d2")
    assert (list(ben["chance"]), set(ben["prompt_id"])) == ([0.25] * 3, {prompt})
    assert list(opened.kept_labels()["conversation_id"]) == [ids[0], *ids[2:5]]
    # The chance and the draw that the service knows stay where the table says nothing of them.
    of_ann = table[(table["labeller"] == "ann") & (table["value"] == "no")]
    assert (list(of_ann["chance"]), list(of_ann["draw_id"])) == ([0.5], ["d1"])
    # The service goes on: one is taken back there, one is new; what was kept by hand stays, also against the service.
    lift.remove_label(ids[1], "task_completed", labeller="ann")
    lift.add_labels(said.assign(question="task_completed").tail(1), labeller="ann")
    lift.pull(folder, prompt_id=prompt)
    del everything[(ids[1], "task_completed", "ann")]
    everything[(ids[4], "task_completed", "ann")] = "yes"
    again = promptlift.open_snapshot(folder)
    assert answers(again.labels()) == everything
    assert again.snapshot.verify() == {}
    # An empty answer takes back what was said; the next pull has the service's again.
    again.keep_labels(pd.DataFrame({"conversation_id": ids[:1], "task_completed": [None]}), labeller="ann")
    assert (ids[0], "task_completed", "ann") not in answers(again.labels())
    lift.pull(folder, prompt_id=prompt)
    assert answers(promptlift.open_snapshot(folder).labels())[(ids[0], "task_completed", "ann")] == "yes"


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_an_engine_reads_the_table_of_labels(labelled, engine):
    pytest.importorskip(engine, reason=f"the extra {engine} is not installed")
    _, ids, folder = labelled
    opened = promptlift.open_snapshot(folder)
    said = pd.DataFrame({"conversation_id": ids[:2], "task_completed": [True, False]})
    opened.keep_labels(said, labeller="ben")
    scanned = opened.snapshot.scan("labels", engine=engine)
    scanned = collect(scanned, names_of(scanned))
    assert answers(scanned) == answers(opened.labels())
    assert scanned["kept"].value_counts().to_dict() == {"service": 3, "snapshot": 2}


def test_labels_kept_by_hand_correct_rates(labelled):
    _, _, folder = labelled
    opened = promptlift.open_snapshot(folder)
    table = opened.conversations().assign(task_completed=pd.array([True, False] * 3, dtype="boolean"))
    plan = analysis.label_plan(table, n=5)
    opened.keep_labels(plan.assign(value="yes"), labeller="ben")
    row = analysis.completion(table, labels=opened.labels(labeller="ben")).iloc[0]
    assert row["n_labels"] == 5


@pytest.mark.parametrize("kept", ["labels", "judges"])
def test_an_odd_answer_of_a_service_that_has_some_is_an_error_and_no_end_of_pulling_them(
    lift, labelled, monkeypatch, kept
):
    prompt, ids, folder = labelled

    def odd(_transport, endpoint, *args, **options):
        if endpoint.path.startswith(f"/{kept}"):
            raise UnexpectedResponse("The answer is a page of a proxy.")
        return read_apart(_transport, endpoint, *args, **options)

    lift.add_labels(pd.DataFrame({"conversation_id": ids[3:4], "task_completed": [True]}), labeller="ann")
    with monkeypatch.context() as patch:
        for module in (offered, verdicts):
            patch.setattr(module, "read_apart", odd)
        with pytest.raises(UnexpectedResponse, match="proxy"):
            lift.pull(folder, prompt_id=prompt)
    assert len(promptlift.open_snapshot(folder).labels()) == 3
    lift.pull(folder, prompt_id=prompt)
    assert len(promptlift.open_snapshot(folder).labels()) == 4
