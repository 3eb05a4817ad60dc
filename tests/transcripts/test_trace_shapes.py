"""Traces in the shapes that the tools' own libraries write: each small file here was cut down from a real one.

The versions: mlflow-skinny 3.17.2, weave 0.54, langsmith 0.15, arize-phoenix-client 3.5, langfuse 5.0, Helicone's export tool.
"""

from __future__ import annotations

import csv
import io
import json

import pytest

from promptlift import transcripts

SYSTEM = 'You are "kind".\n\tAlways.  '
HELLO = 'Hello\nthere "you"'
SAID = [
    ("user", "Hi"),
    ("assistant", '[tool call] find({"q": 1})'),
    ("system", "[tool result] it"),
    ("assistant", HELLO),
]
TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
ASKED = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Hi"}]
CALLED = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
AGAIN = [*ASKED, CALLED, {"role": "tool", "tool_call_id": "c1", "content": "it"}]
ANSWER = {"role": "assistant", "content": HELLO, "refusal": None}
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
STEPS = [(ASKED, CALLED, 0), (AGAIN, ANSWER, 2)]


def completion(message):
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-4o-2024-08-06",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "stop"},
            {"index": 1, "message": {"role": "assistant", "content": "Another answer"}},
        ],
        "usage": USAGE,
    }


def request(messages):
    return {"model": "gpt-4o", "messages": messages, "temperature": 0.1, "tools": [{"type": "function"}]}


def moment(second):
    return f"2026-01-05T10:00:0{second}.000000+00:00"


def nanoseconds(second):
    return 1_767_607_200_000_000_000 + second * 10**9


# MLflow


def mlflow_span(number, kind, *, failed=False, parent="AAAA", **attributes):
    """A span of version 3; every attribute is JSON, texts too."""
    return {
        "trace_id": "aOD+39wVzhJNwSN7eeZrDQ==",
        "span_id": f"span{number}=",
        "parent_span_id": parent,
        "name": "support" if parent is None else "step",
        "start_time_unix_nano": nanoseconds(number),
        "end_time_unix_nano": nanoseconds(number + 1),
        "events": [],
        "status": {"code": "STATUS_CODE_ERROR" if failed else "STATUS_CODE_OK", "message": "no ERROR at all"},
        "attributes": {
            "mlflow.traceRequestId": '"tr-1"',
            "mlflow.spanType": json.dumps(kind),
            "mlflow.spanLogLevel": "20",
            **{f"mlflow.{name}": json.dumps(value) for name, value in attributes.items()},
        },
        "links": [],
    }


SPANS = [
    mlflow_span(0, "CHAIN", parent=None, spanInputs={"question": "Hi"}, spanOutputs=HELLO),
    *(
        mlflow_span(
            at,
            "CHAT_MODEL",
            spanInputs=request(history),
            spanOutputs=completion(answer),
            **{
                "chat.tokenUsage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
                "llm.model": "gpt-4o",
                "llm.cost": {"input_cost": 0.25, "output_cost": 0.25, "total_cost": 0.5},
                "spanFunctionName": "create",
            },
        )
        for history, answer, at in STEPS
    ),
    mlflow_span(1, "TOOL", spanInputs={"q": 1}, spanOutputs="it"),
    mlflow_span(1, "TOOL", failed=True, spanInputs={"q": 1}),
]
MLFLOW_3 = {
    "info": {
        "trace_id": "tr-1",
        "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "1"}},
        "request_time": moment(0),
        "state": "OK",
        "trace_metadata": {
            "mlflow.user": "root",
            "mlflow.trace.session": "s-1",
            "mlflow.trace.user": "u-1",
            "mlflow.trace_schema.version": "3",
        },
        "tags": {"mlflow.traceName": "support", "shop": "north"},
        "assessments": [
            {"assessment_name": "correct", "feedback": {"value": True}, "source": {"source_type": "CODE"}}
        ],
        "execution_duration_ms": 23,
    },
    "data": {"spans": SPANS},
}
MLFLOW_2 = {
    "info": {
        "request_id": "tr-1",
        "experiment_id": "1",
        "timestamp_ms": 1_767_607_200_000,
        "execution_time_ms": 23,
        "status": "OK",
        "request_metadata": MLFLOW_3["info"]["trace_metadata"],
        "tags": MLFLOW_3["info"]["tags"],
    },
    "data": {
        "spans": [
            {
                "name": span["name"],
                "context": {"span_id": f"0x{number}", "trace_id": "0xab"},
                "parent_id": None if span["parent_span_id"] is None else "0x0",
                "start_time": span["start_time_unix_nano"],
                "end_time": span["end_time_unix_nano"],
                "status_code": span["status"]["code"].removeprefix("STATUS_CODE_"),
                "status_message": "",
                "attributes": span["attributes"],
                "events": [],
            }
            for number, span in enumerate(SPANS)
        ],
        "request": '{"question": "Hi"}',
        "response": json.dumps(HELLO),
    },
}


def data_frame(trace):
    """The trace as a row of the CSV of ``search_traces``; lists of objects are written as Python does."""
    row = {
        "trace_id": "tr-1",
        "trace": json.dumps(trace),
        "state": "OK",
        "request_time": "1767607200000",
        "execution_duration": "23",
        "trace_metadata": str(trace["info"]["trace_metadata"]),
        "spans": str(trace["data"]["spans"]),
    }
    raw = io.StringIO(newline="")
    table = csv.DictWriter(raw, row)
    table.writeheader()
    table.writerow(row)
    return raw.getvalue()


# Weave


def weave_call(number, name, *, trace="t-1", **more):
    return {
        "id": f"call-{number}",
        "project_id": "team/shop",
        "op_name": f"weave:///team/shop/op/{name}:abc",
        "display_name": None,
        "trace_id": trace,
        "parent_id": "call-9",
        "thread_id": "s-1",
        "turn_id": "call-9",
        "started_at": moment(number),
        "ended_at": moment(number + 1),
        "attributes": {"weave": {"client_version": "0.54.0"}, "shop": "north"},
        "is_eval": False,
        "wb_user_id": "u-1",
        **more,
    }


WEAVE = [
    weave_call(9, "support", parent_id=None, inputs={"question": "Hi", "history": []}, output=HELLO),
    *(
        weave_call(
            at,
            "openai.chat.completions.create",
            inputs={"self": {"client": {"version": "3.54.0"}}, **request(history), "timeout": "NOT_GIVEN"},
            output=completion(answer),
            summary={
                "usage": {"gpt-4o-2024-08-06": {**USAGE, "requests": 1}},
                "weave": {
                    "costs": {
                        "gpt-4o-2024-08-06": {
                            "prompt_tokens_total_cost": 0.25,
                            "completion_tokens_total_cost": 0.25,
                        }
                    }
                },
            },
            attributes={"weave": {"kind": "llm"}, "integration": {"name": "openai"}, "shop": "north"},
        )
        for history, answer, at in STEPS
    ),
    weave_call(1, "find", inputs={"q": 1}, output="it"),
    weave_call(1, "broken", inputs={}, output=None, exception="ValueError: x"),
]


# LangSmith


def run(number, kind, name, **more):
    return {
        "id": f"run-{number}",
        "name": name,
        "run_type": kind,
        "trace_id": "t-1",
        "parent_run_id": "run-9",
        "dotted_order": "20260105T100000",
        "session_name": "default",
        "start_time": moment(number),
        "end_time": moment(number + 1),
        "tags": ["web"],
        "extra": {
            "metadata": {
                "session_id": "s-1",
                "user_id": "u-1",
                "shop": "north",
                "ls_method": "traceable",
                "LANGSMITH_TRACING": "true",
            },
            "runtime": {"sdk": "langsmith-py"},
        },
        **more,
    }


def counted(at):
    """An answer of a wrapped client, which counts its tokens there."""
    return {
        "usage_metadata": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11, "total_cost": 0.5},
        **{name: value for name, value in completion(STEPS[at // 2][1]).items() if name != "usage"},
    }


LANGSMITH = [
    run(9, "chain", "support", parent_run_id=None, inputs={"question": "Hi"}, outputs={"output": HELLO}),
    *(run(at, "llm", "ChatOpenAI", inputs=request(history), outputs=counted(at)) for history, _, at in STEPS),
    run(1, "tool", "find", inputs={"q": 1}, outputs={"output": "it"}),
    run(1, "tool", "broken", inputs={}, outputs={"output": None}, error="ValueError('x')"),
]
for one in LANGSMITH[1:3]:
    one["extra"]["metadata"]["ls_model_name"] = "gpt-4o"


# Phoenix


def numbered(prefix, messages):
    """Messages as the REST API flattens them."""
    found = {}
    for index, message in enumerate(messages):
        at = f"{prefix}.{index}.message"
        found[f"{at}.role"] = message["role"]
        if message["content"] is not None:
            found[f"{at}.content"] = message["content"]
        for number, call in enumerate(message.get("tool_calls", [])):
            found[f"{at}.tool_calls.{number}.tool_call.function.name"] = call["function"]["name"]
            found[f"{at}.tool_calls.{number}.tool_call.function.arguments"] = call["function"]["arguments"]
    return found


def phoenix_span(number, kind, name="ChatCompletion", *, failed=False, parent="span-9", **attributes):
    return {
        "id": f"U3Bhbjo{number}",
        "name": name,
        "context": {"trace_id": "t-1", "span_id": f"span-{number}"},
        "span_kind": kind,
        "parent_id": parent,
        "start_time": moment(number),
        "end_time": moment(number + 1),
        "status_code": "ERROR" if failed else "OK",
        "status_message": "",
        "attributes": {"openinference.span.kind": kind, "session.id": "s-1", "user.id": "u-1", **attributes},
        "events": [],
    }


PHOENIX = {
    "data": [
        phoenix_span(
            9,
            "CHAIN",
            "support",
            parent=None,
            **{"input.value": "Hi", "output.value": HELLO, "metadata": "{}"},
        ),
        *(
            phoenix_span(
                at,
                "LLM",
                **{
                    "llm.model_name": "gpt-4o",
                    "llm.token_count.prompt": 9,
                    "llm.token_count.completion": 2,
                    "llm.cost.total": 0.5,
                    "llm.invocation_parameters": '{"temperature": 0.1}',
                    "llm.tools.0.tool.json_schema": "{}",
                    "metadata": '{"shop": "north"}',
                    **numbered("llm.input_messages", history),
                    **numbered("llm.output_messages", [answer]),
                },
            )
            for history, answer, at in STEPS
        ),
        phoenix_span(1, "TOOL"),
        phoenix_span(1, "TOOL", failed=True),
    ],
    "next_cursor": None,
}


# Langfuse


def observation(number, kind="GENERATION", **more):
    return {
        "id": f"o-{number}",
        "traceId": "t-1",
        "projectId": "p",
        "parentObservationId": "o-9",
        "type": kind,
        "name": "chat",
        "level": "DEFAULT",
        "startTime": moment(number),
        "endTime": moment(number + 1),
        "environment": "default",
        "sessionId": "s-1",
        "userId": "u-1",
        "traceName": "support",
        "tags": ["web"],
        "metadata": {"shop": "north"},
        "input": None,
        "output": None,
        **more,
    }


LANGFUSE = {
    "data": [
        *(
            observation(
                at,
                input={"messages": history, "tools": []},
                output=answer,
                model="gpt-4o",
                modelParameters={"temperature": 0.1},
                usageDetails={"input": 9, "output": 2, "total": 11},
                costDetails={"total": 0.5},
                totalCost=0.5,
            )
            for history, answer, at in STEPS
        ),
        observation(1, "TOOL", input={"q": 1}, output="it"),
        observation(1, "TOOL", level="ERROR"),
    ],
    "meta": {"cursor": None},
}


# Helicone

HELICONE = [
    {
        "response_id": f"res-{at}",
        "response_created_at": moment(at + 1),
        "response_status": 200,
        "request_id": f"req-{at}",
        "request_created_at": moment(at),
        "request_path": "https://api.openai.com/v1/chat/completions",
        "request_body": request(history),
        "response_body": completion(answer),
        "request_user_id": "u-1",
        "request_properties": {
            "Helicone-Session-Id": "s-1",
            "Helicone-Session-Name": "support",
            "shop": "north",
        },
        "request_model": "gpt-4o",
        "response_model": "gpt-4o-2024-08-06",
        "model_override": None,
        "provider": "OPENAI",
        "delay_ms": 1000,
        "time_to_first_token": None,
        "total_tokens": 11,
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "prompt_id": None,
        "feedback_rating": True,
        "signed_body_url": "https://example.com",
        "country_code": "FR",
        "scores": {"useful": 1},
        "costUSD": 0.5,
        "properties": {},
        "model": "gpt-4o",
        "cost": 500_000_000,
    }
    for history, answer, at in STEPS
]

FILES = {
    "mlflow-3": ("mlflow", "a.json", MLFLOW_3),
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


def test_assessments_scores_and_feedback_are_metadata(written):
    for name, key, value in (
        ("mlflow-3", "assessment.correct", True),
        ("helicone", "score.useful", 1),
        ("helicone", "feedback", True),
    ):
        (found,) = transcripts.read(written(*FILES[name][1:])).conversations
        assert found.metadata[key] == value
    trace = {
        "id": "t-1",
        "timestamp": moment(0),
        "name": "support",
        "input": None,
        "output": None,
        "htmlPath": "/t-1",
        "observations": LANGFUSE["data"],
        "scores": [{"name": "useful", "value": 1, "stringValue": "True", "dataType": "BOOLEAN"}],
    }
    (found,) = transcripts.read(written("a.json", trace)).conversations
    assert found.metadata["score.useful"] == "True"


def test_a_session_that_only_the_run_around_the_calls_names_holds_them(written, said):
    inner = [
        {**one, "extra": {"metadata": {"ls_model_name": "gpt-4o"}}, "tags": None} for one in LANGSMITH[1:3]
    ]
    for records in ([LANGSMITH[0], *inner], [*inner, LANGSMITH[0]]):
        (found,) = transcripts.read(written("a.jsonl", records)).conversations
        assert (found.source_id, said(found), found.metadata["shop"]) == ("s-1", SAID, "north")


def test_a_call_of_the_responses_api_keeps_its_instructions_at_the_beginning(written, said):
    """Its answer repeats the instructions of the request."""
    answer = {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-4o-2024-08-06",
        "instructions": SYSTEM,
        "output": [
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": HELLO, "annotations": []}],
            }
        ],
    }
    asked = {
        "model": "gpt-4o",
        "instructions": SYSTEM,
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "function_call", "name": "find", "arguments": '{"q": 1}', "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "it"},
        ],
    }
    calls = {
        "weave": [weave_call(1, "openai.responses.create", inputs=asked, output=answer)],
        "mlflow": [
            {
                **MLFLOW_3,
                "data": {"spans": [mlflow_span(1, "LLM", spanInputs=asked, spanOutputs=answer)]},
            }
        ],
        "langsmith": [run(1, "llm", "ChatOpenAI", inputs=asked, outputs=answer)],
        "helicone": [{**HELICONE[0], "request_body": asked, "response_body": answer}],
        # The wrapper of Langfuse puts the instructions first.
        "langfuse": [
            observation(
                1, input=[{"role": "system", "content": SYSTEM}, *asked["input"]], output=answer["output"]
            )
        ],
    }
    for name, records in calls.items():
        reading = transcripts.read(written("a.jsonl", records))
        assert reading.format == name
        assert [said(found) for found in reading.conversations] == [SAID]
        assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]


def test_a_call_of_gemini_is_read_in_a_trace(written, said):
    asked = {
        "model": "gemini-2.5-flash",
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [{"function_call": {"name": "find", "args": {"q": 1}}}]},
            {
                "role": "user",
                "parts": [{"function_response": {"name": "find", "response": "it"}}],
            },
        ],
        "config": {"system_instruction": SYSTEM, "temperature": 0.1},
    }
    answer = {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"text": "hm", "thought": True}, {"text": HELLO, "thought_signature": "x"}],
                },
                "finish_reason": "STOP",
            }
        ]
    }
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
