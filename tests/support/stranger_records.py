"""A good record of every format, and hostile ones made of it: other values, other keys, other depths."""

from __future__ import annotations

import copy
import json
import re

from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from support.spans import as_protobuf, chat, request, span
from support.trace_shapes import HELICONE, LANGFUSE_TRACE, LANGSMITH, MLFLOW_3, PHOENIX, WEAVE

AT = "2026-01-05T10:00:00Z"


def said(number):
    return [{"role": "user", "content": f"good {number}"}, {"role": "assistant", "content": "Yes"}]


def structured(number):
    return {"sourceId": f"g{number}", "messages": said(number), "metadata": {"shop": "north"}}


def openai(number):
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
    parts = [{"type": "text", "text": "Yes"}, {"type": "image_url", "image_url": {"url": "x"}}]
    called = {"role": "assistant", "content": parts, "tool_calls": [call]}
    return {"messages": [*said(number), called, {"role": "tool", "tool_call_id": "c", "content": "it"}]}


def sharegpt(number):
    turns = [{"from": "human", "value": f"good {number}"}, {"from": "gpt", "value": "Yes"}]
    return {"id": f"g{number}", "conversations": turns, "system": "You help."}


def chatgpt(number):
    def node(parent, role, text):
        content = {"content_type": "text", "parts": [text]}
        about = {
            "id": text,
            "author": {"role": role},
            "content": content,
            "create_time": 1.7e9,
            "metadata": {},
        }
        return {"parent": parent, "message": about}

    mapping = {
        "r": {"parent": None, "message": None},
        "a": node("r", "user", f"good {number}"),
        "b": node("a", "assistant", "Yes"),
        "c": node("a", "assistant", "No"),
    }
    return {"conversation_id": f"g{number}", "title": "t", "mapping": mapping, "current_node": "b"}


def dpo(number):
    asked, answer = said(number)
    return {
        "input": {"messages": [asked]},
        "preferred_output": [answer],
        "non_preferred_output": [{"role": "assistant", "content": "No"}],
    }


def claude(number):
    messages = [
        {"uuid": "1", "sender": "human", "text": f"good {number}", "created_at": AT, "attachments": []},
        {"uuid": "2", "sender": "assistant", "content": [{"type": "text", "text": "Yes"}], "created_at": AT},
    ]
    return {"uuid": f"g{number}", "name": "t", "created_at": AT, "chat_messages": messages}


def zendesk(number):
    comments = [
        {"author_id": 1, "body": f"good {number}", "created_at": AT, "public": True},
        {"author_id": 2, "html_body": "<p>Yes</p>", "created_at": AT, "author": {"role": "agent"}},
    ]
    users = [{"id": 1, "role": "end-user"}]
    ticket = {"id": f"g{number}", "subject": "t", "status": "closed", "requester_id": 1, "comments": comments}
    return {**ticket, "via": {"channel": "web"}, "users": users, "tags": ["x"]}


def intercom(number):
    source = {"type": "email", "body": f"<p>good {number}</p>", "author": {"type": "user", "id": "u"}}
    parts = [{"part_type": "comment", "body": "<p>Yes</p>", "author": {"type": "admin"}, "created_at": 1.7e9}]
    return {
        "type": "conversation",
        "id": f"g{number}",
        "source": source,
        "conversation_parts": {"conversation_parts": parts},
        "tags": {"tags": [{"name": "x"}]},
        "contacts": {"contacts": [{"id": "u"}]},
    }


def rows(number):
    about = {"conversation_id": f"g{number}", "timestamp": AT, "tokens": 3, "model": "m", "team": "a"}
    return [{**about, **message} for message in said(number)]


def numbered(shape):
    """A maker of records that a tool's own library writes, each with ids and a text of its own."""

    def one(number):
        text = json.dumps(shape).replace("Hi", f"good {number}").replace("s-1", f"g{number}")
        return json.loads(re.sub(r"\b(t|tr|run|span|call|o|req|res)-(?=\d)", rf"\1-{number}", text))

    return one


def langfuse_score(number):
    return {"name": "correct", "value": 1, "source": "API", "dataType": "NUMERIC", "traceId": f"t{number}"}


def otlp(number):
    return request(
        chat(
            number,
            [("user", f"good {number}")],
            "Yes",
            trace=number,
            **{"gen_ai.conversation.id": f"g{number}"},
        )
    )


def numbered_span(number):
    known = {
        "gen_ai.system": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": f"good {number}",
        "gen_ai.completion.0.content": "Yes",
    }
    body = {
        "content": f"good {number}",
        "tool_calls": [{"function": {"name": "find", "arguments": {"q": [1]}}}],
    }
    return span(number, known, trace=number, events=[("gen_ai.user.message", body)])


def responses(number):
    content = [{"type": "output_text", "text": "Yes"}]
    output = [
        {"type": "message", "role": "assistant", "content": content},
        {"type": "reasoning", "summary": []},
    ]
    answer = {"id": f"g{number}", "object": "response", "model": "m", "output": output, "created_at": 1.7e9}
    return {
        "request": {
            "model": "m",
            "input": f"good {number}",
            "instructions": "You help.",
            "prompt": {"id": "p"},
        },
        "response": {
            **answer,
            "usage": {"input_tokens": 1, "output_tokens": 2},
            "previous_response_id": None,
        },
    }


def batch(number):
    asked, answer = said(number)
    body = {"model": "m", "choices": [{"message": answer}], "usage": {"completion_tokens": 2}}
    return {
        "custom_id": f"g{number}",
        "body": {"model": "m", "messages": [asked]},
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


def gemini(number):
    return {
        "key": f"g{number}",
        "request": {
            "contents": [{"role": "user", "parts": [{"text": f"good {number}"}]}],
            "systemInstruction": {"parts": [{"text": "You help."}]},
        },
        "response": {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "Yes"}]}}],
            "usageMetadata": {"promptTokenCount": 1},
            "createTime": AT,
        },
    }


def inspect(number):
    messages = [{"id": f"m{at}", **message} for at, message in enumerate(said(number))]
    sample = {
        "id": f"g{number}",
        "epoch": 1,
        "messages": messages,
        "scores": {"match": {"value": 1}},
        "model_usage": {"m": {"input_tokens": 1}},
        "events": [{"event": "model", "output": {"choices": [{"message": messages[1]}], "time": 1}}],
        "metadata": {"shop": "north"},
        "attachments": {"a": "b"},
    }
    return {"version": 2, "eval": {"task": "shop", "model": "m", "eval_id": "e"}, "samples": [sample]}


RECORDS = {
    "structured": structured,
    "openai": openai,
    "sharegpt": sharegpt,
    "chatgpt": chatgpt,
    "rows": rows,
    "langfuse": numbered(LANGFUSE_TRACE),
    "langfuse-scores": langfuse_score,
    "langsmith": numbered(LANGSMITH[2]),
    "phoenix": numbered(PHOENIX["data"][2]),
    "otlp": otlp,
    "mlflow": numbered(MLFLOW_3),
    "weave": numbered(WEAVE[2]),
    "helicone": numbered(HELICONE[1]),
    "openai-responses": responses,
    "openai-batch": batch,
    "openai-dpo": dpo,
    "claude": claude,
    "gemini": gemini,
    "inspect": inspect,
    "zendesk": zendesk,
    "intercom": intercom,
}

# Written into the JSON itself: the library that writes it refuses such a number and such a depth.
_RAW = {
    "@digits@": "9" * 5_000,
    "@lists@": "[" * 400 + "]" * 400,
    "@objects@": '{"a":' * 400 + "1" + "}" * 400,
    "@deep@": "[" * 5_000 + "]" * 5_000,
    "@parts@": '{"type":"tool_result","content":[' * 300 + "]}" * 300,
}
_VALUES = [
    *(
        None,
        True,
        0,
        -1,
        7,
        1e308,
        float("nan"),
        float("inf"),
        2**70,
        "",
        "x",
        [],
        {},
        [[]],
        [None],
        [{}],
        {"": ""},
    ),
    *(
        "\ud83d",
        "\0",
        "[" * 300,
        '{"a":' * 2_000,
        "9" * 5_000,
        f"&#{'9' * 5_000};",
        "<" * 500,
        '["x"]',
        '{"a": [1]}',
    ),
    *(
        [["user", "x"]],
        {"role": []},
        {"type": {}, "content": 5},
        [{"role": "user", "content": {"type": []}}],
        *_RAW,
    ),
]
KEYS = [
    *("", "\ud83d", "\0", "role", "content", "id", "a" * 5_000, "9" * 5_000, f"0{'.0' * 400}"),
    *(
        f"{name}{'.0' * 400}"
        for name in ("gen_ai.prompt", "llm.input_messages", "attributes.llm.input_messages")
    ),
    *(f"{name}.{'9' * 5_000}.role" for name in ("gen_ai.prompt", "gen_ai.completion", "llm.input_messages")),
    *("gen_ai.prompt.0.role.0", "llm.input_messages.0.message", "context.trace_id", "metadata.a"),
]


def _places(value):
    """Every object or list within a value, with a key or an index of it."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


@st.composite
def hostile(draw, good):
    """A record of which some values, keys and depths are not what they should be, or that has only the names."""
    record = copy.deepcopy(good)
    names = sorted({str(key) for _, key in _places(good)})
    anything = st.recursive(
        st.sampled_from(_VALUES),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(names + KEYS), inner, max_size=4)
        ),
        max_leaves=8,
    ).map(copy.deepcopy)
    if draw(st.integers(0, 5)) == 0:
        return draw(anything)
    for _ in range(draw(st.integers(1, 4))):
        places = list(_places(record))
        if not places:
            break
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        deed = draw(st.sampled_from(["replace", "rename", "add", "remove"]))
        if deed == "replace" or isinstance(holder, list):
            holder[key] = draw(anything)
        elif deed == "add":
            holder[draw(st.sampled_from(KEYS))] = draw(anything)
        elif deed == "rename":
            holder[draw(st.sampled_from(KEYS))] = holder.pop(key)
        else:
            del holder[key]
    return record


def written(record):
    """JSON of a record that may hold what no library writes."""
    text = json.dumps(record)
    for name, raw in _RAW.items():
        text = text.replace(f'"{name}"', raw)
    return text


def field(number, content):
    """A message within a message of protobuf."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


def in_protobuf(*spans):
    return field(1, field(2, b"".join(field(2, one) for one in spans)))


def span_in_protobuf(number):
    body = as_protobuf(numbered_span(number))
    return (
        ExportTraceServiceRequest.FromString(body)
        .resource_spans[0]
        .scope_spans[0]
        .spans[0]
        .SerializeToString()
    )


def deep(depth):
    """A span with an attribute of maps in maps, deeper than the library writes."""
    value = b""
    for _ in range(depth):
        value = field(6, field(1, field(1, b"a") + field(2, value)))
    return field(9, field(1, b"gen_ai.prompt") + field(2, value))


@st.composite
def hostile_in_protobuf(draw):
    """A span in protobuf of which some bytes, names or depths are not what they should be."""
    bad = span_in_protobuf(3)
    deed = draw(st.sampled_from(["bytes", "depth", "names"]))
    if deed == "bytes":
        at = draw(st.integers(0, len(bad) - 1))
        return bad[:at] + draw(st.binary(max_size=8)) + bad[draw(st.integers(at, len(bad))) :]
    if deed == "depth":
        return bad + deep(draw(st.integers(1, 400)))
    message = SpanMessage.FromString(bad)
    message.attributes.add().key = draw(st.sampled_from([key for key in KEYS if key != "\ud83d"]))
    return message.SerializeToString()
