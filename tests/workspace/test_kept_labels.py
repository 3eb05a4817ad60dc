"""Labels of people as a table of the workspace, kept by our service."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import promptlift
from promptlift.errors import ConfigError, FrameError, NotFound, ValidationError
from support.foreign_service import KEY, ForeignService

COLUMNS = [
    "conversation_id", "prompt_id", "question", "value", "labeller", "labelled_at", "chance", "draw_id", "optimization_id",
    "label_id",
]  # fmt: skip


@pytest.fixture
def kept(lift, tmp_path):
    """A workspace, the ids of forty conversations of a prompt there, and the prompt."""
    prompt = lift.client.prompts.create(name=f"P {tmp_path.name}", content="c", llm_model="gpt-4o-mini").id
    lift.log([{"content": f"User: hi {n}\nAssistant: ok"} for n in range(40)], prompt_id=prompt)
    return lift, sorted(lift.conversations(prompt)["conversation_id"]), prompt


def long(ids, **values):
    return pd.DataFrame({"conversation_id": ids, "question": "task_completed", "value": "yes", **values})


def test_labels_come_back_as_a_table(kept):
    lift, ids, prompt = kept
    said = lift.labels.add(long(ids[:3], value=[True, "no", None], chance=0.25, draw_id="d1"), labeller="ann")
    assert list(said["value"]) == ["yes", "no"]
    lift.labels.add(long(ids[:1], labelled_at=pd.Timestamp("2026-11-01", tz="UTC")), labeller="ben")
    table = lift.labels(prompt_id=prompt)
    assert list(table) == COLUMNS
    newest = table.iloc[0]
    assert (newest["labeller"], newest["labelled_at"].isoformat()) == ("ben", "2026-11-01T00:00:00+00:00")
    assert np.isnan(newest["chance"])
    assert list(table["chance"].dropna()) == [0.25, 0.25]
    assert set(table["prompt_id"]) == {prompt}
    assert len(lift.labels(prompt_id=prompt, labeller="ann")) == 2
    assert len(lift.labels(draw_id="d1", question="task_completed")) >= 2
    assert lift.labels(prompt_id=prompt, question="other").dtypes.equals(table.dtypes)


def test_a_table_with_a_column_for_each_question_is_taken_too(kept):
    lift, ids, prompt = kept
    wide = pd.DataFrame(
        {
            "conversation_id": ids[:2],
            "task_completed": pd.array([True, None], "boolean"),
            "sentiment": ["negative", "neutral"],
            "polite?": ["yes", ""],
        }
    )
    lift.labels.add(wide)
    table = lift.labels(prompt_id=prompt)
    found = {(row.conversation_id, row.question): row.value for row in table.itertuples()}
    assert found == {
        (ids[0], "task_completed"): "yes", (ids[0], "sentiment"): "negative", (ids[0], "polite?"): "yes",
        (ids[1], "sentiment"): "neutral",
    }  # fmt: skip
    assert len(set(table["labeller"])) == 1
    assert table["chance"].isna().all()


@pytest.mark.parametrize(
    ("labels", "error", "words"),
    [
        (pd.DataFrame({"question": ["q"], "value": ["yes"]}), FrameError, "conversation_id"),
        (pd.DataFrame({"conversation_id": ["c"], "question": ["q"]}), FrameError, "value"),
        (pd.DataFrame({"conversation_id": ["c"]}), FrameError, "question, value"),
        (long(["c"], value="perhaps"), ConfigError, "Labels are true and false"),
        (long(["c"], chance=2.0), ConfigError, "chance must be above 0"),
        (long(["c"], question=" "), ConfigError, "A question must be a text"),
    ],
)
def test_labels_that_cannot_be_right_are_refused_in_words(lift, labels, error, words):
    with pytest.raises(error, match=words):
        lift.labels.add(labels)


def test_labels_of_no_conversation_are_refused(kept):
    lift, ids, prompt = kept
    with pytest.raises(ValidationError):
        lift.labels.add(long([ids[0], "none"]))
    assert lift.labels(prompt_id=prompt).empty
    with ForeignService() as service, promptlift.connect(service.base_url, KEY, progress=False) as abroad:
        for ask in (abroad.labels, lambda: abroad.labels.add(long(["c1"]))):
            with pytest.raises(NotFound, match="beyond the specification"):
                ask()
