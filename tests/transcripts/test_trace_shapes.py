"""What the tools' own libraries write is read as whole conversations with all that is known."""

from __future__ import annotations

import json

import pytest

from promptlift import transcripts
from promptlift.schema.metadata import flat_metadata
from support.trace_shapes import (
    HELICONE,
    HELLO,
    LANGFUSE,
    LANGFUSE_TRACE,
    LANGSMITH,
    MLFLOW_2,
    MLFLOW_3,
    PHOENIX,
    SAID,
    SPANS,
    SYSTEM,
    WEAVE,
    data_frame,
    mlflow_span,
    observation,
    run,
    weave_call,
)

FILES = {
    "mlflow-3": ("mlflow", "a.json", MLFLOW_3),
    "mlflow-page": ("mlflow", "a.json", {"traces": [MLFLOW_3], "next_page_token": ""}),
    "mlflow-2": ("mlflow", "a.jsonl", [MLFLOW_2]),
    "mlflow-csv": ("mlflow", "a.csv", data_frame(MLFLOW_3)),
    "weave": ("weave", "a.jsonl", WEAVE),
    "langsmith": ("langsmith", "a.jsonl", LANGSMITH),
    "langsmith-page": ("langsmith", "a.json", {"runs": LANGSMITH, "cursors": {"next": None}}),
    "phoenix": ("phoenix", "a.json", PHOENIX),
    "langfuse": ("langfuse", "a.json", LANGFUSE),
    "helicone": ("helicone", "a.jsonl", HELICONE),
    "helicone-page": ("helicone", "a.json", {"data": HELICONE, "error": None}),
}
LEFT_OUT = {
    "mlflow": {"inputs.temperature", "attributes.mlflow.spanFunctionName"},
    "weave": {"inputs.temperature", "inputs.tools"},
    "langsmith": {"inputs.temperature", "extra.runtime"},
    "phoenix": {"attributes.llm.invocation_parameters", "attributes.llm.tools[].tool.json_schema"},
    "langfuse": {"modelParameters"},
    "helicone": {"request_body.temperature", "signed_body_url", "cost"},
}


@pytest.mark.parametrize("name", FILES)
def test_what_a_library_writes_is_one_conversation_with_all_that_is_known(written, said, name):
    tool, file, data = FILES[name]
    reading = transcripts.read(written(file, data))
    assert (reading.format, reading.problems, reading.model_calls) == (tool, [], 2)
    (found,) = reading.conversations
    assert said(found) == SAID
    assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]
    assert (found.source_id, found.title, reading.prompt_names) == ("s-1", "support", ["support"])
    assert (found.input_tokens, found.output_tokens, found.cost) == (18, 4, 1.0)
    assert found.latency_ms == 1000
    assert (found.metadata["userId"], found.metadata["shop"]) == ("u-1", "north")
    assert found.tool_calls == 1
    if tool != "helicone":
        assert found.tool_errors == 1
    answers = [one for one in json.loads(found.content)["messages"] if one["role"] == "assistant"]
    assert [one["tokens"] for one in answers] == [2, 2]
    assert '"tokens": 2.0' not in found.content
    assert {one["model"] for one in answers} == {found.llm_model}
    assert reading.dropped.keys() >= LEFT_OUT[tool]
    shown = json.dumps(dict(found.metadata))
    assert not any(word in shown for word in ("LANGSMITH_", "ls_method", "client_version", "integration"))


def test_the_artifact_of_a_trace_of_mlflow_is_read_alone(written, said):
    reading = transcripts.read(written("traces.json", {"spans": SPANS}))
    (found,) = reading.conversations
    assert (reading.format, found.source_id, found.title, said(found)) == ("mlflow", "tr-1", "support", SAID)


def test_a_trace_of_mlflow_without_a_model_call_is_a_conversation(written, said):
    run_alone = {**MLFLOW_3, "data": {"spans": SPANS[:1]}}
    without_spans = {**MLFLOW_2, "data": {**MLFLOW_2["data"], "spans": []}}
    for trace in (run_alone, without_spans):
        reading = transcripts.read(written("a.jsonl", [trace]))
        (found,) = reading.conversations
        assert said(found) == [("user", "Hi"), ("assistant", HELLO)]
        assert (reading.format, reading.model_calls, found.source_id) == ("mlflow", 0, "s-1")
    inner = {**MLFLOW_3, "data": {"spans": [mlflow_span(1, "CHAIN", spanInputs="Hi", spanOutputs="Hello")]}}
    assert transcripts.read(written("a.jsonl", [inner])).conversations == []


def test_a_score_a_reward_or_feedback_anywhere_in_a_record_becomes_a_score(written):
    said = [{"role": "user", "content": "Hi"}]
    for data, key, value in (
        (FILES["mlflow-3"][2], "score.correct", True),
        (HELICONE, "score.useful", 1),
        (HELICONE, "score.feedback", True),
        ([{**HELICONE[0], "reward": 0.5}], "score.reward", 0.5),
        (LANGFUSE_TRACE, "score.useful", True),
        ([{**LANGSMITH[1], "feedback_stats": {"reward": {"n": 1, "avg": 1.0}}}], "score.reward", 1.0),
        ([{"messages": said, "reward": 1.0}], "score.reward", 1.0),
        ([{"conversations": [{"from": "human", "value": "Hi"}], "rating": "4"}], "score.rating", 4),
        ([{"instruction": "Hi", "output": "Hello", "resolved": False}], "score.resolved", False),
    ):
        reading = transcripts.read(written("a.json", data))
        assert flat_metadata(reading.conversations[0].metadata)[key] == value
        assert reading.dropped.keys().isdisjoint(("reward", "rating", "resolved", "feedback_stats"))


def test_a_session_that_only_the_run_around_the_calls_names_holds_them(written, said):
    inner = [
        {**one, "extra": {"metadata": {"ls_model_name": "gpt-4o"}}, "tags": None} for one in LANGSMITH[1:3]
    ]
    for records in ([LANGSMITH[0], *inner], [*inner, LANGSMITH[0]]):
        (found,) = transcripts.read(written("a.jsonl", records)).conversations
        assert (found.source_id, said(found), found.metadata["shop"]) == ("s-1", SAID, "north")


def test_a_call_of_the_responses_api_keeps_its_instructions_at_the_beginning(written, said):
    """Its answer repeats the instructions of the request."""
    text = {"type": "output_text", "text": HELLO, "annotations": []}
    answer = {
        "id": "resp_1", "object": "response", "model": "gpt-4o-2024-08-06", "instructions": SYSTEM,
        "output": [{"id": "msg_1", "type": "message", "role": "assistant", "content": [text]}],
    }  # fmt: skip
    asked = {
        "model": "gpt-4o",
        "instructions": SYSTEM,
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "function_call", "name": "find", "arguments": '{"q": 1}', "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "it"},
        ],
    }
    span = mlflow_span(1, "LLM", spanInputs=asked, spanOutputs=answer)
    with_instructions = [{"role": "system", "content": SYSTEM}, *asked["input"]]
    calls = {
        "weave": [weave_call(1, "openai.responses.create", inputs=asked, output=answer)],
        "mlflow": [{**MLFLOW_3, "data": {"spans": [span]}}],
        "langsmith": [run(1, "llm", "ChatOpenAI", inputs=asked, outputs=answer)],
        "helicone": [{**HELICONE[0], "request_body": asked, "response_body": answer}],
        # The wrapper of Langfuse puts the instructions first.
        "langfuse": [observation(1, input=with_instructions, output=answer["output"])],
    }
    for name, records in calls.items():
        reading = transcripts.read(written("a.jsonl", records))
        assert reading.format == name
        assert [said(found) for found in reading.conversations] == [SAID]
        assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]


def test_a_call_of_gemini_is_read_in_a_trace(written, said):
    contents = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": "model", "parts": [{"function_call": {"name": "find", "args": {"q": 1}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "find", "response": "it"}}]},
    ]
    config = {"system_instruction": SYSTEM, "temperature": 0.1}
    asked = {"model": "gemini-2.5-flash", "contents": contents, "config": config}
    parts = [{"text": "hm", "thought": True}, {"text": HELLO, "thought_signature": "x"}]
    answer = {"candidates": [{"content": {"role": "model", "parts": parts}, "finish_reason": "STOP"}]}
    call = weave_call(1, "google.genai.models.Models.generate_content", inputs=asked, output=answer)
    reading = transcripts.read(written("a.jsonl", [call]))
    assert [said(found) for found in reading.conversations] == [SAID]
    assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]


def test_examples_of_langsmith_are_conversations_in_every_shape_of_its_pages(written, said):
    chat = {
        "inputs": {"input": [{"type": "human", "data": {"content": "Hi"}}]},
        "outputs": {"output": {"type": "ai", "data": {"content": "Hello"}}},
    }
    plain = {"inputs": {"question": "Hi"}, "outputs": {"answer": "Hello"}}
    for record in (chat, plain, {**plain, "dataset_id": "d", "source_run_id": None, "id": "e"}):
        reading = transcripts.read(written("a.jsonl", [record]))
        assert (reading.format, [said(one) for one in reading.conversations]) == (
            "langsmith",
            [[("user", "Hi"), ("assistant", "Hello")]],
        )


def test_the_table_of_helicone_which_has_no_answers_is_refused_with_the_way_out(written):
    header = (
        "response_id,response_created_at,response_status,request_created_at,request_body,request_properties"
    )
    (problem,) = transcripts.read(written("a.csv", f"{header}\n1,2,200,4,5,6\n")).problems
    assert "--format jsonl --include-body" in problem.message
