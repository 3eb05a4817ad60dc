"""Labels of people stay in a snapshot, whatever the service has anew."""

from __future__ import annotations

import pandas as pd
import pytest

import promptlift
from promptlift import analysis, widgets
from promptlift.errors import ConfigError, FrameError
from support.foreign_service import ForeignService
from support.pulled import LISTED, workspace


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
    with pytest.raises(ConfigError, match="a snapshot is only read"):
        opened.add_labels(said, labeller="ann")
    # What was taken back at the service is gone with the next pull.
    lift.remove_label(ids[0], "task_completed", labeller="ann")
    lift.pull(tmp_path / "s", prompt_id=prompt)
    assert len(promptlift.open_snapshot(tmp_path / "s").labels()) == 2
