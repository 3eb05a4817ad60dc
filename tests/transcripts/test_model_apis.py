"""Requests and answers of OpenAI and Gemini, their batches, and preference pairs."""

from __future__ import annotations

import json

import pytest

from promptlift import transcripts

SYSTEM = "You are kind.\n\tAlways.  "
HELLO = [("user", "Hi"), ("assistant", "Hello")]
CALLED = [
    ("user", "Find it"),
    ("assistant", '[tool call] find({"q": 1})'),
    ("system", "[tool result] it"),
    ("assistant", "Here it is"),
]


def text(words):
    said = {"type": "output_text", "text": words, "annotations": [], "logprobs": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [said]}


def response(number, *output, before=None):
    """An answer of the Responses API as it is returned."""
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 1_767_607_200 + number,
        "model": "gpt-4o-2024-08-06", "instructions": SYSTEM, "output": list(output),
        "previous_response_id": before and f"resp_{before}", "prompt": {"id": "pmpt_1", "version": "4"},
        "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
        "safety_identifier": "u-1", "metadata": {"shop": "north"},
    }  # fmt: skip


def test_answers_that_go_on_with_each_other_are_one_conversation_in_any_order(written, said):
    call = {"type": "function_call", "name": "find", "arguments": '{"q": 1}', "call_id": "c"}
    result = {"type": "function_call_output", "call_id": "c", "output": "it"}
    first, answer = {"model": "gpt-4o", "input": "Find it"}, response(1, {"type": "reasoning"}, call)
    pairs = [
        {"request": first, "response": answer},
        {"request": {"input": [result]}, "response": response(2, text("Here it is"), before=1)},
        {"request": {"input": "Thanks"}, "response": response(3, text("You are welcome"), before=2)},
    ]
    expected = [*CALLED, ("user", "Thanks"), ("assistant", "You are welcome")]
    for records in (pairs, pairs[::-1], [pairs[1], pairs[2], pairs[0]]):
        reading = transcripts.read(written("a.jsonl", records))
        assert (reading.format, reading.problems, reading.model_calls) == ("openai-responses", [], 3)
        (found,) = reading.conversations
        assert said(found) == expected
        assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]
        assert (found.prompt_name, found.prompt_version) == ("pmpt_1", "4")
        assert (found.input_tokens, found.output_tokens) == (27, 6)
        assert dict(found.metadata).items() >= {"userId": "u-1", "shop": "north"}.items()
        tokens = [one["tokens"] for one in json.loads(found.content)["messages"] if "tokens" in one]
        assert tokens == [2, 2, 2]
        assert all(isinstance(one, int) for one in tokens)


def test_a_chain_whose_beginning_is_missing_or_that_goes_round_is_read(written, said):
    records = [
        {"request": {"input": "Good day"}, "response": response(2, text("Hello"), before=1)},
        {"request": {"input": "Hi"}, "response": response(7, text("Hello"), before=8)},
        {"request": {"input": "Hi"}, "response": response(8, text("Hello"), before=7)},
    ]
    reading = transcripts.read(written("a.jsonl", records))
    assert sorted(len(said(found)) for found in reading.conversations) == [2, 4]


def test_tools_of_the_provider_are_calls_and_what_nobody_said_is_left_out(written, said):
    items = [
        {"type": "web_search_call", "id": "w", "action": {"type": "search", "query": "q"}},
        {"type": "mcp_list_tools", "server_label": "s", "tools": []},
        {"type": "mcp_call", "name": "look", "arguments": "{}", "output": "seen", "server_label": "s"},
        text("Hello"),
    ]
    record = {"request": {"model": "gpt-4o", "input": "Hi"}, "response": response(1, *items)}
    (found,) = transcripts.read(written("a.jsonl", [record])).conversations
    assert said(found) == [
        ("user", "Hi"),
        ("assistant", '[tool call] web_search({"type": "search", "query": "q"})'),
        ("assistant", "[tool call] look({})"),
        ("system", "[tool result] seen"),
        ("assistant", "Hello"),
    ]


def asked(name, **body):
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def answered(name, body, status=200, error=None):
    given = None if body is None else {"status_code": status, "request_id": "r", "body": body}
    return {"id": f"batch_req_{name}", "custom_id": name, "response": given, "error": error}


CHAT = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Hi"}]
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_767_607_200,
    "model": "gpt-4o-2024-08-06",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}
REQUESTS = [
    asked("a", model="gpt-4o", messages=CHAT, temperature=0.1),
    asked("b", model="gpt-4o", instructions=SYSTEM, input="Hi"),
    asked("c", model="gpt-4o", messages=CHAT),
    asked("d", model="gpt-4o", messages=CHAT),
]
ANSWERS = [
    answered("b", response(1, text("Hello"))),
    answered("a", COMPLETION),
    answered("c", {"error": {"message": "no"}}, status=400),
    answered("d", None, error={"code": "batch_expired"}),
]


def test_a_batch_is_read_from_one_file_or_from_two(written, said):
    files = [written("in.jsonl", REQUESTS), written("out.jsonl", ANSWERS)]
    readings = [
        transcripts.read(written("both.jsonl", [*REQUESTS, *ANSWERS])),
        transcripts.read(files[0], beside=files),
    ]
    for reading in readings:
        assert (reading.format, reading.problems, reading.model_calls) == ("openai-batch", [], 2)
        assert [(found.source_id, said(found)) for found in reading.conversations] == [
            ("a", HELLO),
            ("b", HELLO),
        ]
        assert {found.llm_model for found in reading.conversations} == {"gpt-4o-2024-08-06"}
        assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]
        assert reading.dropped["requests that failed"] == 2
        assert reading.dropped["request.temperature"] == 1
    # The file of answers adds nothing of its own.
    other = transcripts.read(files[1], beside=files)
    assert (other.format, other.conversations, other.problems) == ("openai-batch", [], [])


def test_two_batches_may_have_the_same_ids(written, said):
    files = []
    for word in ("Hi", "Ho"):
        asks = asked("a", model="gpt-4o", messages=[{"role": "user", "content": word}])
        files += [written(f"in-{word}.jsonl", [asks]), written(f"out-{word}.jsonl", ANSWERS[1:2])]
    reading = transcripts.read(files[0], beside=files)
    assert reading.problems == []
    assert [(found.source_id, said(found)[0]) for found in reading.conversations] == [
        ("a", ("user", "Hi")),
        ("a", ("user", "Ho")),
    ]


def test_answers_of_a_batch_without_their_requests_name_the_file_that_is_missing(written):
    reading = transcripts.read(written("out.jsonl", ANSWERS[1:2]))
    assert reading.conversations == []
    assert "import the input file of the batch together with its output" in reading.problems[0].message


CONTENTS = [
    {"role": "user", "parts": [{"text": "Find it"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"q": 1}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": "it"}}]},
]
INSTRUCTION = {"parts": [{"text": SYSTEM}]}
PARTS = [{"text": "hm", "thought": True}, {"text": "Here it is", "thoughtSignature": "x"}]
CANDIDATES = [
    {"content": {"role": "model", "parts": PARTS}, "finishReason": "STOP"},
    {"content": {"role": "model", "parts": [{"text": "Another answer"}]}},
]
GENERATED = {
    "candidates": CANDIDATES,
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "thoughtsTokenCount": 5},
    "modelVersion": "gemini-2.5-flash",
    "createTime": "2026-01-05T10:00:00.000000Z",
}
REQUEST = {"contents": CONTENTS, "systemInstruction": INSTRUCTION, "generationConfig": {"temperature": 0.1}}
SNAKE = {
    "candidates": CANDIDATES,
    "usage_metadata": {"prompt_token_count": 9, "candidates_token_count": 2, "thoughts_token_count": 5},
    "model_version": "gemini-2.5-flash",
    "create_time": "2026-01-05T10:00:00Z",
}
BY_SDK = {"contents": CONTENTS, "config": {"system_instruction": SYSTEM, "temperature": 0.1}}
GEMINI = {
    "vertex": [{"status": "", "processed_time": "2026-01-05", "request": REQUEST, "response": GENERATED}],
    "batch": [{"key": "a", "request": REQUEST}, {"key": "a", "response": GENERATED}],
    "sdk": [{"request": BY_SDK, "response": SNAKE}],
    "snake": [{**REQUEST, "systemInstruction": None, "system_instruction": INSTRUCTION, "response": SNAKE}],
}


@pytest.mark.parametrize("name", GEMINI)
def test_gemini_is_read_as_its_batches_and_its_library_write_it(written, said, name):
    reading = transcripts.read(written("a.jsonl", GEMINI[name]))
    assert (reading.format, reading.problems) == ("gemini", [])
    (found,) = reading.conversations
    assert said(found) == [("system", SYSTEM), *CALLED]
    assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]
    assert (found.llm_model, found.input_tokens, found.output_tokens) == ("gemini-2.5-flash", 9, 7)
    assert json.loads(found.content)["messages"][-1]["timestamp"].startswith("2026-01-05T10:00:00")
    assert any("emperature" in field or "onfig" in field for field in reading.dropped)


def test_the_answers_of_a_batch_of_gemini_may_be_in_another_file(written, said):
    failed = {"key": "b", "error": {"code": 400}}
    files = [
        written("in.jsonl", [{"key": key, "request": REQUEST} for key in "ab"]),
        written("out.jsonl", [{"key": "a", "response": GENERATED}, failed]),
    ]
    reading = transcripts.read(files[0], beside=files)
    assert [(found.source_id, said(found)) for found in reading.conversations] == [
        ("a", [("system", SYSTEM), *CALLED])
    ]
    assert reading.dropped["requests that failed"] == 1
    assert transcripts.read(files[1], beside=files).conversations == []
    alone = transcripts.read(files[1])
    assert "import the input file of the batch together with its output" in alone.problems[0].message


YES, NO = {"role": "assistant", "content": "Hello"}, {"role": "assistant", "content": "No"}
SHARED = {"system": SYSTEM, "conversations": [{"from": "human", "value": "Hi"}]}
PREFERENCES = [
    {"input": {"messages": CHAT, "tools": []}, "preferred_output": [YES], "non_preferred_output": [NO]},
    {"prompt": CHAT, "chosen": [YES], "rejected": [NO]},
    {"prompt": "Hi", "chosen": [*CHAT, YES], "rejected": [*CHAT, NO], "score_chosen": 8.0},
    {"system": SYSTEM, "prompt": "Hi", "chosen": "Hello", "rejected": "No"},
    SHARED | {"chosen": {"from": "gpt", "value": "Hello"}, "rejected": {"from": "gpt", "value": "No"}},
]


def test_of_preference_pairs_of_every_shape_the_preferred_answer_is_taken(written, said):
    reading = transcripts.read(written("a.jsonl", PREFERENCES))
    assert (reading.format, reading.problems) == ("openai-dpo", [])
    assert [said(found) for found in reading.conversations] == [[("system", SYSTEM), *HELLO]] * len(
        PREFERENCES
    )
    assert (reading.dropped["non_preferred_output"], reading.dropped["rejected"]) == (1, 4)


def test_a_pair_of_two_transcripts_is_taken_apart_by_its_labels(written, said):
    chosen = "\n\nHuman: Hi\n\nAssistant: Hello\n\nwith Human: inside\n\nHuman: More\n\nAssistant: Done"
    record = {"chosen": chosen, "rejected": "\n\nHuman: Hi\n\nAssistant: No"}
    (found,) = transcripts.read(written("a.jsonl", [record])).conversations
    assert said(found) == [
        ("user", "Hi"),
        ("assistant", "Hello\n\nwith Human: inside"),
        ("user", "More"),
        ("assistant", "Done"),
    ]
