"""Labels of people come with a snapshot."""

from __future__ import annotations

import pandas as pd
import pytest

import promptlift
from promptlift.client.reads.optimizations import read_offered
from promptlift.errors import ConfigError, UnexpectedResponse
from promptlift.workspace.snapshots import offered


def test_a_pull_brings_the_labels_that_the_service_keeps(lift, tmp_path):
    prompt = lift.client.prompts.create(name=f"P {tmp_path.name}", content="c", llm_model="gpt-4o-mini").id
    lift.log([{"content": f"User: hi {n}\nAssistant: ok"} for n in range(4)], prompt_id=prompt)
    ids = sorted(lift.conversations(prompt)["conversation_id"])
    said = pd.DataFrame(
        {"conversation_id": ids[:3], "question": "task_completed", "value": ["yes", "no", "yes"]}
    )
    lift.labels.add(said.assign(chance=0.75, draw_id="d1"), labeller="ann")
    lift.pull(tmp_path / "s", prompt_id=prompt)
    opened = promptlift.open_snapshot(tmp_path / "s")
    pd.testing.assert_frame_equal(opened.labels(prompt_id=prompt), lift.labels(prompt_id=prompt))
    assert len(opened.labels(labeller="ann", draw_id="d1")) == 3
    assert opened.labels(question="sentiment").empty
    with pytest.raises(ConfigError, match=r"a snapshot is only read"):
        opened.labels.add(said, labeller="ann")
    # What was taken back at the service is gone with the next pull.
    lift.labels.remove(ids[0], "task_completed", labeller="ann")
    lift.pull(tmp_path / "s", prompt_id=prompt)
    assert len(promptlift.open_snapshot(tmp_path / "s").labels()) == 2


@pytest.fixture
def labelled(lift, tmp_path):
    """A prompt's id, its six conversations, and the folder of its snapshot; ann has labelled the first three."""
    prompt = lift.client.prompts.create(name=f"P {tmp_path.name}", content="c", llm_model="gpt-4o-mini").id
    lift.log([{"content": f"User: hi {n}\nAssistant: ok"} for n in range(6)], prompt_id=prompt)
    ids = sorted(lift.conversations(prompt)["conversation_id"])
    said = pd.DataFrame({"conversation_id": ids[:3], "question": "task_completed", "value": "yes"})
    lift.labels.add(said.assign(chance=0.5, draw_id="d1"), labeller="ann")
    lift.pull(tmp_path / "s", prompt_id=prompt)
    return prompt, ids, tmp_path / "s"


@pytest.mark.parametrize("kept", ["labels", "judges"])
def test_an_odd_answer_of_a_service_that_has_some_is_an_error_and_no_end_of_pulling_them(
    lift, labelled, monkeypatch, kept
):
    prompt, ids, folder = labelled

    def odd(_transport, endpoint, *args, **options):
        if endpoint.path.startswith(f"/{kept}"):
            raise UnexpectedResponse("The answer is a page of a proxy.")
        return read_offered(_transport, endpoint, *args, **options)

    lift.labels.add(pd.DataFrame({"conversation_id": ids[3:4], "task_completed": [True]}), labeller="ann")
    with monkeypatch.context() as patch:
        patch.setattr(offered, "read_offered", odd)
        with pytest.raises(UnexpectedResponse, match="proxy"):
            lift.pull(folder, prompt_id=prompt)
    assert len(promptlift.open_snapshot(folder).labels()) == 3
    lift.pull(folder, prompt_id=prompt)
    assert len(promptlift.open_snapshot(folder).labels()) == 4
