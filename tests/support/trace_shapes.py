"""Traces in the shapes that the tools' own libraries write: each was cut down from a real one.

The versions: mlflow-skinny 3.17.2, weave 0.54, langsmith 0.15, arize-phoenix-client 3.5, langfuse 5.0, Helicone's export tool.
"""

from __future__ import annotations

import csv
import io
import json

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
    other = {"index": 1, "message": {"role": "assistant", "content": "Another answer"}}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4o-2024-08-06", "usage": USAGE,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}, other],
    }  # fmt: skip


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
        "trace_id": "aOD+39wVzhJNwSN7eeZrDQ==", "span_id": f"span{number}=", "parent_span_id": parent,
        "name": "support" if parent is None else "step",
        "start_time_unix_nano": nanoseconds(number), "end_time_unix_nano": nanoseconds(number + 1),
        "status": {"code": "STATUS_CODE_ERROR" if failed else "STATUS_CODE_OK", "message": "no ERROR at all"},
        "attributes": {
            "mlflow.traceRequestId": '"tr-1"', "mlflow.spanType": json.dumps(kind), "mlflow.spanLogLevel": "20",
            **{f"mlflow.{name}": json.dumps(value) for name, value in attributes.items()},
        },
    }  # fmt: skip


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
        "trace_id": "tr-1", "request_time": moment(0), "state": "OK", "execution_duration_ms": 23,
        "trace_metadata": {
            "mlflow.user": "root", "mlflow.trace.session": "s-1", "mlflow.trace.user": "u-1",
            "mlflow.trace_schema.version": "3",
        },
        "tags": {"mlflow.traceName": "support", "shop": "north"},
        "assessments": [{"assessment_name": "correct", "feedback": {"value": True}}],
    },
    "data": {"spans": SPANS},
}  # fmt: skip


def of_version_2(number, span):
    return {
        "name": span["name"], "context": {"span_id": f"0x{number}", "trace_id": "0xab"},
        "parent_id": None if span["parent_span_id"] is None else "0x0",
        "start_time": span["start_time_unix_nano"], "end_time": span["end_time_unix_nano"],
        "status_code": span["status"]["code"].removeprefix("STATUS_CODE_"), "attributes": span["attributes"],
    }  # fmt: skip


MLFLOW_2 = {
    "info": {
        "request_id": "tr-1", "timestamp_ms": 1_767_607_200_000, "execution_time_ms": 23, "status": "OK",
        "request_metadata": MLFLOW_3["info"]["trace_metadata"], "tags": MLFLOW_3["info"]["tags"],
    },
    "data": {
        "spans": [of_version_2(number, span) for number, span in enumerate(SPANS)],
        "request": '{"question": "Hi"}',
        "response": json.dumps(HELLO),
    },
}  # fmt: skip


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
        "id": f"call-{number}", "project_id": "team/shop", "op_name": f"weave:///team/shop/op/{name}:abc",
        "trace_id": trace, "parent_id": "call-9", "thread_id": "s-1", "turn_id": "call-9",
        "started_at": moment(number), "ended_at": moment(number + 1),
        "attributes": {"weave": {"client_version": "0.54.0"}, "shop": "north"},
        "wb_user_id": "u-1",
        **more,
    }  # fmt: skip


COSTS = {"prompt_tokens_total_cost": 0.25, "completion_tokens_total_cost": 0.25}
SUMMARY = {
    "usage": {"gpt-4o-2024-08-06": {**USAGE, "requests": 1}},
    "weave": {"costs": {"gpt-4o-2024-08-06": COSTS}},
}
WEAVE = [
    weave_call(9, "support", parent_id=None, inputs={"question": "Hi", "history": []}, output=HELLO),
    *(
        weave_call(
            at,
            "openai.chat.completions.create",
            inputs={"self": {"client": {"version": "3.54.0"}}, **request(history), "timeout": "NOT_GIVEN"},
            output=completion(answer),
            summary=SUMMARY,
            attributes={"weave": {"kind": "llm"}, "integration": {"name": "openai"}, "shop": "north"},
        )
        for history, answer, at in STEPS
    ),
    weave_call(1, "find", inputs={"q": 1}, output="it"),
    weave_call(1, "broken", inputs={}, output=None, exception="ValueError: x"),
]


# LangSmith


def run(number, kind, name, **more):
    about = {"session_id": "s-1", "user_id": "u-1", "shop": "north", "ls_method": "traceable"}
    return {
        "id": f"run-{number}", "name": name, "run_type": kind, "trace_id": "t-1", "parent_run_id": "run-9",
        "session_name": "default", "start_time": moment(number), "end_time": moment(number + 1),
        "tags": ["web"],
        "extra": {"metadata": {**about, "LANGSMITH_TRACING": "true"}, "runtime": {"sdk": "langsmith-py"}},
        **more,
    }  # fmt: skip


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
        "id": f"U3Bhbjo{number}", "name": name, "context": {"trace_id": "t-1", "span_id": f"span-{number}"},
        "span_kind": kind, "parent_id": parent, "start_time": moment(number), "end_time": moment(number + 1),
        "status_code": "ERROR" if failed else "OK",
        "attributes": {"openinference.span.kind": kind, "session.id": "s-1", "user.id": "u-1", **attributes},
    }  # fmt: skip


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
        "id": f"o-{number}", "traceId": "t-1", "projectId": "p", "parentObservationId": "o-9", "type": kind,
        "name": "chat", "level": "DEFAULT", "startTime": moment(number), "endTime": moment(number + 1),
        "environment": "default", "sessionId": "s-1", "userId": "u-1", "traceName": "support",
        "tags": ["web"], "metadata": {"shop": "north"}, "input": None, "output": None,
        **more,
    }  # fmt: skip


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
LANGFUSE_TRACE = {
    "id": "t-1", "timestamp": moment(0), "name": "support", "input": None, "output": None, "htmlPath": "/t-1",
    "observations": LANGFUSE["data"],
    "scores": [{"name": "useful", "value": 1, "stringValue": "True", "dataType": "BOOLEAN"}],
}  # fmt: skip


# Helicone

HELICONE_PROPERTIES = {"Helicone-Session-Id": "s-1", "Helicone-Session-Name": "support", "shop": "north"}
HELICONE = [
    {
        "response_id": f"res-{at}", "response_created_at": moment(at + 1), "response_status": 200,
        "request_id": f"req-{at}", "request_created_at": moment(at),
        "request_body": request(history), "response_body": completion(answer), "request_user_id": "u-1",
        "request_properties": HELICONE_PROPERTIES, "properties": {},
        "request_model": "gpt-4o", "response_model": "gpt-4o-2024-08-06", "model_override": None,
        "provider": "OPENAI", "delay_ms": 1000, "total_tokens": 11, "prompt_tokens": 9, "completion_tokens": 2,
        "prompt_id": None, "feedback_rating": True, "signed_body_url": "https://example.com",
        "country_code": "FR", "scores": {"useful": 1}, "costUSD": 0.5, "model": "gpt-4o", "cost": 500_000_000,
    }
    for history, answer, at in STEPS
]  # fmt: skip
