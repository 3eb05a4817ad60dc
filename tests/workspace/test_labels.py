"""Labels of other tools, matched with imported conversations and compared with the judge."""

from __future__ import annotations

import json

import pytest

from promptlift import analysis, transcripts
from promptlift.errors import TranscriptError
from promptlift.local import wait_for_insights

pytestmark = pytest.mark.slow


def call(session, trace, asked):
    return {
        "type": "GENERATION",
        "id": f"o-{trace[-1]}",
        "session_id": session,
        "trace_id": trace,
        "start_time": f"2026-01-05 10:00:0{trace[-1]}.000000",
        "input": [{"role": "user", "content": asked}],
        "output": "Here it is.",
    }


@pytest.fixture
def prompt(lift, tmp_path):
    records = [
        call("s-1", "t-1", "Where?"),
        call("s-1", "t-2", "Thanks!"),
        call("s-2", "t-3", "It is broken"),
    ]
    file = tmp_path / "calls.jsonl"
    file.write_text(lines(*records), encoding="utf-8")
    made = lift.client.prompts.create(name=f"Labelled {tmp_path.name}", content="c", llm_model="gpt-4o-mini")
    lift.log(transcripts.read(file), prompt_id=made.id)
    return made.id


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


PHOENIX = {"annotation_name": "done", "annotator_kind": "HUMAN"}
# Ratings of sessions, traces and single steps, as the tools' exports, APIs and data frames give them.
FILES = {
    "langfuse.jsonl": lines(
        {"session_id": "s-1", "name": "done", "value": 1, "source": "API", "data_type": "BOOLEAN"},
        {"trace_id": "t-3", "name": "done", "value": 0, "source": "API", "string_value": "False"},
        {"trace_id": "gone", "name": "done", "value": 1, "source": "API", "data_type": "BOOLEAN"},
    ),
    "langfuse-page.json": lines(
        {
            "data": [
                {"id": "a", "traceId": "t-1", "observationId": "o-1", "name": "done", "value": 1},
                {"id": "b", "observationId": "o-3", "name": "done", "value": 0, "stringValue": "False"},
            ],
            "meta": {"page": 1, "totalItems": 2},
        }
    ),
    "phoenix.jsonl": lines(
        {"trace_id": "t-2", **PHOENIX, "result": {"label": "correct"}},
        {"trace_id": "t-3", **PHOENIX, "result": {"score": 0.0}},
    ),
    "phoenix-page.json": lines(
        {
            "data": [
                {"id": "a", "span_id": "o-2", "name": "done", "annotator_kind": "LLM", "result": {"label": "correct", "score": 1.0}},
                {"id": "b", "span_id": "o-3", "name": "done", "annotator_kind": "HUMAN", "result": {"score": 0}},
            ],
            "next_cursor": None,
        }
    ),
    "phoenix-frame.csv": "span_id,annotation_name,annotator_kind,result.label,result.score,result.explanation\n"
    "o-1,done,HUMAN,thumbs-up,,\no-3,done,HUMAN,thumbs-down,,\n",
    "langsmith.jsonl": lines(
        {"run_id": "x", "trace_id": "t-1", "key": "done", "score": True},
        {"run_id": "o-3", "trace_id": None, "session_id": "project", "key": "done", "score": 0.0},
    ),
}  # fmt: skip


def test_labels_are_matched_and_compared_with_the_judge(lift, prompt, tmp_path):
    ids = lift.conversations(prompt).set_index("source_id")["conversation_id"]
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        labels = lift.labels.read(tmp_path / name, prompt)
        found = labels.set_index("conversation_id")["task_completed"]
        assert {**found} == {ids["s-1"]: True, ids["s-2"]: False}, name
    wait_for_insights(lift, [prompt], progress=False)
    judged = lift.conversations(prompt, insights=True)
    assert not [column for column in judged.columns if "spanIds" in column]
    (row,) = analysis.judge_agreement(labels, judged).to_dict("records")
    assert row["n"] + row["n_unjudged"] == 2
    # Both conversations have a label, so the labels are the rate.
    rate = analysis.completion(judged, labels=labels)
    assert rate[["n", "completed", "rate"]].to_dict("records") == [{"n": 2, "completed": 1, "rate": 0.5}]
    assert rate.attrs["promptlift"]["basis"] == "label"


def test_labels_of_nothing_say_what_to_do(lift, prompt, tmp_path):
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps({"trace_id": "gone", "name": "done", "value": 1}), encoding="utf-8")
    with pytest.raises(TranscriptError, match="Import the traces that they rate first"):
        lift.labels.read(file, prompt)
    with pytest.raises(TranscriptError, match=r"contains done.*Pass one of these names"):
        lift.labels.read(file, prompt, name="mood")
    file.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(TranscriptError, match="contains no labels"):
        lift.labels.read(file, prompt)
