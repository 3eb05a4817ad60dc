"""Spans and log records of OpenTelemetry in files, as exporters and the SDK for Python (1.45) write them."""

from __future__ import annotations

import json

import pytest

from promptlift import transcripts
from support.spans import START, attributes, chat, span, value

SYSTEM = "You are kind.\n\tAlways.  "
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
SAID = [
    ("user", "Hi"),
    ("assistant", '[tool call] find({"q":1})'),
    ("system", "[tool result] it"),
    ("assistant", "Here it is"),
]
KNOWN = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.response.model": "gpt-4o-2024-08-06",
    "gen_ai.usage.input_tokens": 9,
    "gen_ai.usage.output_tokens": 2,
    "gen_ai.request.temperature": 0.1,
}
RESOURCE = {"attributes": attributes({"service.name": "shop"})}


def spans(*known):
    """Spans of calls that do not contain the messages."""
    every = [span(number, one) for number, one in enumerate(known, start=1)]
    return {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"spans": every}]}]}


def logs(*records):
    return {"resourceLogs": [{"resource": RESOURCE, "scopeLogs": [{"logRecords": list(records)}]}]}


def logged(number, name, body=None, at=0, **known):
    """A log record of a span."""
    return {
        "traceId": f"{1:032x}",
        "spanId": f"{number:016x}",
        "observedTimeUnixNano": str((START + 1000 * number + at) * 1_000_000),
        "eventName": name,
        "body": {} if body is None else value(body),
        "attributes": attributes(known),
    }


def part(role, text):
    return {"role": role, "parts": [{"content": text, "type": "text"}], "name": None}


ASKED = [part("system", SYSTEM), part("user", "Hi")]
CALLED = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "name": "find", "arguments": {"q": 1}, "id": "c1"}],
}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "response": "it", "id": "c1"}]}
ANSWER = part("assistant", "Here it is")
# One record a call, since 1.37 of the conventions: the content is structured, not JSON in a text.
DETAILS = [
    logged(
        number,
        "gen_ai.client.inference.operation.details",
        **KNOWN,
        **{"gen_ai.input.messages": asked, "gen_ai.output.messages": [answer]},
    )
    for number, asked, answer in ((1, ASKED, CALLED), (2, [*ASKED, CALLED, RESULT], ANSWER))
]
# One record a message, before that; OpenLLMetry has the calls of tools beside the message of a choice.
MESSAGES = [
    logged(1, "gen_ai.system.message", {"content": SYSTEM}),
    logged(1, "gen_ai.user.message", {"content": "Hi"}),
    logged(1, "gen_ai.choice", {"index": 0, "message": {"content": None}, "tool_calls": [CALL]}, at=200),
    logged(2, "gen_ai.system.message", {"content": SYSTEM}),
    logged(2, "gen_ai.user.message", {"content": "Hi"}),
    logged(2, "gen_ai.assistant.message", {"content": None, "tool_calls": [CALL]}),
    logged(2, "gen_ai.tool.message", {"content": "it", "id": "c1"}),
    logged(2, "gen_ai.choice", {"index": 0, "message": {"content": "Here it is"}}, at=200),
    logged(2, "app.started", {"content": "x"}),
]
FORMS = {"details": DETAILS, "messages": MESSAGES}


def snake(document):
    if isinstance(document, list):
        return [snake(one) for one in document]
    if not isinstance(document, dict):
        return document
    changed = {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in name): v for name, v in document.items()
    }
    return {name: snake(one) for name, one in changed.items()}


def plain(found):
    """A value of protobuf as a plain one."""
    kind, content = next(iter(found.items()), (None, None))
    if kind == "arrayValue":
        return [plain(one) for one in content["values"]]
    if kind == "kvlistValue":
        return {pair["key"]: plain(pair["value"]) for pair in content["values"]}
    return int(content) if kind == "intValue" else content


def printed_span(one):
    return {
        "name": one["name"],
        "context": {"trace_id": f"0x{one['traceId']}", "span_id": f"0x{one['spanId']}"},
        "start_time": int(one["startTimeUnixNano"]),
        "end_time": int(one["endTimeUnixNano"]),
        "attributes": {pair["key"]: plain(pair["value"]) for pair in one["attributes"]},
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
    }


def printed_log(one):
    return {
        "body": plain(one["body"]),
        "attributes": {pair["key"]: plain(pair["value"]) for pair in one["attributes"]},
        "timestamp": None,
        "observed_timestamp": int(one["observedTimeUnixNano"]),
        "trace_id": f"0x{one['traceId']}",
        "span_id": f"0x{one['spanId']}",
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
        "event_name": one["eventName"],
    }


def printed(objects):
    """Objects as the SDK prints them: one after the other, indented."""
    return "".join(json.dumps(one, indent=4) + "\n" for one in objects)


SILENT = spans(KNOWN, KNOWN)


def written_as(kind, records):
    """The files of spans and of log records."""
    if kind == "printed":
        every = SILENT["resourceSpans"][0]["scopeSpans"][0]["spans"]
        return printed(map(printed_span, every)), printed(map(printed_log, records))
    if kind == "snake":
        return snake(SILENT), snake(logs(*records))
    # A line for each batch, as the collector's exporter writes them.
    return json.dumps(SILENT) + "\n", "".join(json.dumps(logs(record)) + "\n" for record in records)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["lines", "printed", "snake"])
def test_log_records_in_another_file_are_what_the_spans_say(written, said, form, kind):
    held, beside = written_as(kind, FORMS[form])
    files = [written("spans.json", held), written("logs.json", beside)]
    reading = transcripts.read(files[0], beside=files)
    assert (reading.format, reading.problems, reading.model_calls) == ("otlp", [], 2)
    (found,) = reading.conversations
    assert said(found) == SAID
    assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]
    assert (found.llm_model, found.input_tokens, found.output_tokens) == ("gpt-4o-2024-08-06", 18, 4)
    assert (found.latency_ms, reading.prompt_names) == (500, ["shop"])
    assert reading.dropped["attributes.gen_ai.request.temperature"] == 2
    # The same content is not imported twice.
    other = transcripts.read(files[1], beside=files)
    assert (other.format, other.conversations, other.problems) == ("otlp", [], [])
    assert other.notes == [f"Its records are read together with those of {files[0]}."]


@pytest.mark.parametrize(
    ("form", "model", "latency"), [("details", "gpt-4o-2024-08-06", None), ("messages", None, 200)]
)
def test_log_records_alone_are_read_as_far_as_they_say(written, said, form, model, latency):
    """One record says when a call ended and not when it began."""
    reading = transcripts.read(written("logs.json", logs(*FORMS[form])))
    (found,) = reading.conversations
    assert (said(found), found.llm_model, found.latency_ms) == (SAID, model, latency)
    assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]
    assert reading.dropped.get("log records of other events", 0) == (form == "messages")


def test_spans_without_content_name_both_ways_out_whatever_other_files_there_are(written, tmp_path):
    half = written("c.json.gz", logs(*DETAILS))
    half.write_bytes(half.read_bytes()[:40])
    others = [written("a.json", "{"), tmp_path / "gone.json", tmp_path, half]
    reading = transcripts.read(written("spans.json", SILENT), beside=others)
    assert (reading.conversations, reading.problems) == ([], [])
    (note,) = reading.notes
    assert "CAPTURE_MESSAGE_CONTENT=span_only" in note
    assert "import the log records together with the spans" in note


def test_what_a_span_says_itself_is_not_replaced(written, said):
    held = chat(1, [("user", "Hello")], "Yes?", system=SYSTEM)
    document = {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"spans": [held]}]}]}
    reading = transcripts.read(written("a.jsonl", [document, logs(*DETAILS[:1])]))
    assert [said(found) for found in reading.conversations] == [[("user", "Hello"), ("assistant", "Yes?")]]
