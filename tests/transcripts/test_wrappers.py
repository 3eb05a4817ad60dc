"""Records below a key, as APIs and web pages write them: of any name, in any layout, and larger than the memory."""

from __future__ import annotations

import json
import re

import pytest

from promptlift import transcripts
from support.stranger_records import RECORDS
from support.traced_memory import MB, memory_below

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def observation(number, text="Hi", **more):
    about = {"id": f"o{number}", "traceId": f"t{number}", "type": "GENERATION", "model": "m"}
    usage = {"input": 10, "output": 5, "total": 15, "unit": "TOKENS"}
    times = {"startTime": "2026-01-05T10:00:00Z", "endTime": "2026-01-05T10:00:02Z"}
    said = {"input": [{"role": "user", "content": text}], "output": CHAT[1]}
    return {**about, **times, **said, "usage": usage, "totalCost": 0.25, **more}


RUN = {"id": "r", "run_type": "llm", "inputs": {"messages": CHAT[:1]}, "outputs": {"messages": CHAT[1:]}}
TRACE = {
    "id": "t",
    "timestamp": "2026-01-05T10:00:00Z",
    "input": "Hi",
    "output": "Hello",
    "sessionId": "s",
    "bookmarked": False,
}
WRAPPED = {
    "langfuse, API": ({"data": [observation(1)], "meta": {"page": 1, "limit": 50, "totalItems": 1}}, "langfuse"),
    "langfuse, trace page": ({"trace": TRACE, "observations": [observation(1)]}, "langfuse"),
    "langfuse, session": ({"id": "s", "traces": [TRACE]}, "langfuse"),
    "langsmith, API v2": ({"items": [RUN], "next_cursor": "c"}, "langsmith"),
    "a name of its own": ({"exported": [{"messages": CHAT}]}, "openai"),
    "two names": ({"data": {"chats": [{"messages": CHAT}]}}, "openai"),
    "sharegpt": ({"conversations": [{"id": "a", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}]}, "sharegpt"),
    "rows": ({"rows": [{"thread_id": "a", **one} for one in CHAT]}, "rows"),
}  # fmt: skip


@pytest.mark.parametrize("layout", [None, 2])
@pytest.mark.parametrize("name", WRAPPED)
def test_records_below_a_key_are_read_in_one_line_and_indented(written, said, name, layout):
    value, format_name = WRAPPED[name]
    reading = transcripts.read(written("page.json", json.dumps(value, indent=layout)))
    assert (reading.format, reading.problems) == (format_name, [])
    assert [said(one) for one in reading.conversations] == [[("user", "Hi"), ("assistant", "Hello")]]


# The key below which a tool's API gives its records, or none where they are the whole file.
PAGES = {
    "langfuse": "data", "langsmith": "runs", "phoenix": "data", "mlflow": "traces", "weave": "calls", "helicone": "data",
    "zendesk": "tickets", "intercom": "conversations", "sharegpt": None, "chatgpt": None,
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_each_tool_is_recognised_and_what_has_no_place_is_counted(written, name):
    records = [RECORDS[name](number) | {"zz": number} for number in (1, 2)]
    page = {PAGES[name]: records, "next_page_token": None} if PAGES[name] else records
    reading = transcripts.read(written("page.json", json.dumps(page)))
    assert (reading.format, reading.problems) == (name, [])
    assert sorted(one.source_id for one in reading.conversations) == ["g1", "g2"]
    assert all(re.search("good [12]", one.content) for one in reading.conversations)
    assert {count for field, count in reading.dropped.items() if field.endswith("zz")} == {2}


@pytest.mark.parametrize("column", ["ticket", "threadId", "Chat No", "dialogue_id", "Vorgang"])
def test_a_table_is_recognised_whatever_it_calls_its_conversations(written, column):
    rows = [(f"g{number}", role, f"good {number}") for number in (1, 2) for role in ("user", "assistant")]
    text = "\n".join(",".join(row) for row in ((column, "role", "content"), *rows))
    reading = transcripts.read(written("messages.csv", text))
    assert (reading.format, reading.problems) == ("rows", [])
    assert [one.source_id for one in reading.conversations] == ["g1", "g2"]


def test_pages_one_after_the_other_are_one_file_and_what_is_beside_the_records_is_named(written):
    pages = [
        {"project": "demo", "data": [observation(number)], "meta": {"page": number}} for number in range(3)
    ]
    reading = transcripts.read(written("pages.jsonl", pages))
    assert [one.source_id for one in reading.conversations] == ["t0", "t1", "t2"]
    assert [
        (one.cost, one.input_tokens, one.output_tokens, one.latency_ms) for one in reading.conversations
    ] == [(0.25, 10, 5, 2000.0)] * 3
    assert reading.dropped["project"] == 3
    assert "meta" not in reading.dropped


@pytest.mark.slow
@pytest.mark.parametrize("indent", [None, 1])
def test_a_page_larger_than_the_longest_record_is_read_one_record_at_a_time(tmp_path, indent):
    """A page of an API may have any size; here it is larger than what may be held."""
    path, count = tmp_path / "page.json", 200
    with path.open("w") as file:
        file.write('{"project": "demo", "result": {"data": [')
        for number in range(count):
            file.write(
                (",\n" if number else "") + json.dumps(observation(number, "x" * 90_000), indent=indent)
            )
        file.write('], "meta": {"page": 1}}, "note": "beside"}')
    assert path.stat().st_size > 17 * MB
    with memory_below(120 * MB):
        reading = transcripts.read(path)
    assert (len(reading.conversations), reading.problems) == (count, [])
    assert reading.dropped == {"project": 1, "note": 1}


@pytest.mark.slow
def test_a_batch_of_spans_larger_than_the_longest_record_is_read_in_pieces(tmp_path):
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.input.messages", "value": {"stringValue": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "x" * 90_000}]}])}},
        {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Hello"}]}])}},
    ]  # fmt: skip
    span = {
        "spanId": "00000000000000a1",
        "startTimeUnixNano": "1767607200000000000",
        "endTimeUnixNano": "1767607201000000000",
        "attributes": attributes,
    }
    batches = [{"scopeSpans": [{"spans": [{**span, "traceId": f"{number:032x}"}]}]} for number in range(200)]
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"resourceSpans": batches}))
    assert path.stat().st_size > 17 * MB
    reading = transcripts.read(path)
    assert (reading.format, len(reading.conversations), reading.problems) == ("otlp", 200, [])


def test_a_session_that_continues_on_the_next_page_is_one_conversation(written, said):
    """Every call repeats what was said before, and costs something of its own."""
    times = {"startTime": "2026-01-05T10:01:00Z", "endTime": "2026-01-05T10:01:04Z"}
    longer = [*CHAT, {"role": "user", "content": "Thanks"}]
    second = observation(2, sessionId="s", input=longer, output="Bye", **times)
    pages = [
        written("page-0.json", {"data": [observation(1, sessionId="s")]}),
        written("page-1.json", {"data": [second]}),
        written("page-2.jsonl", [{"data": [observation(3)]}, 7]),
    ]
    for files in (pages, [pages[1], pages[0], pages[2]]):
        reading, *others = [transcripts.read(file, beside=files) for file in files]
        found = reading.conversations[0]
        answers = [("assistant", "Hello"), ("user", "Thanks"), ("assistant", "Bye")]
        assert said(found) == [("user", "Hi"), *answers]
        assert (found.source_id, found.cost, found.input_tokens, found.latency_ms) == ("s", 0.5, 20, 3000.0)
        assert (found.file, found.line, reading.model_calls) == (str(pages[1]), 1, 3)
        assert [str(problem) for problem in reading.problems] == [
            f"{pages[2]}:2: the record is not an object"
        ]
        for other in others:
            assert (other.format, other.conversations, other.problems) == ("langfuse", [], [])
            assert other.notes == [f"Its records are read together with those of {files[0]}."]
