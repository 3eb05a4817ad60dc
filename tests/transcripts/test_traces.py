from __future__ import annotations

import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from promptlift import transcripts

SYSTEM = {"role": "system", "content": "You are kind."}
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
# One conversation as chat messages; every assistant message is the answer of one model call.
CHAT = [
    SYSTEM,
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Find it"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "it"},
    {"role": "assistant", "content": "Here it is"},
]
SAID = [
    ("user", "Hi"),
    ("assistant", "Hello"),
    ("user", "Find it"),
    ("assistant", '[tool call] find({"q": 1})'),
    ("system", "[tool result] it"),
    ("assistant", "Here it is"),
]
LAST_WORDS = "Traces do not hold what the user said after the last model call; these conversations end with the last answer."
PROMPT_LEFT_OUT = "The system prompt of the model calls is not a message; conversations without it: 2."


def calls(chat=CHAT):
    """Give history, answer and number of every model call of a chat."""
    answers = [index for index, message in enumerate(chat) if message["role"] == "assistant"]
    return [(chat[:index], chat[index], number) for number, index in enumerate(answers)]


def langfuse(session, history, answer, number):
    return {
        "id": f"o{number}",
        "trace_id": f"t-{session}-{number}",
        "type": "GENERATION",
        "input": json.dumps(history),
        "output": json.dumps(answer),
        "start_time": f"2026-01-05 10:00:0{number}.000000",
        "end_time": f"2026-01-05 10:00:0{number}.500000",
        "provided_model_name": "m-1",
        "usage_details": {"input": 100, "output": 10 + number},
        "session_id": session,
        "user_id": "u-1",
        "metadata": {"shop": "north"},
        "prompt_name": "support",
        "prompt_version": 3,
        "tags": [],
    }


def langsmith(session, history, answer, number):
    return {
        "id": f"r{number}",
        "run_type": "llm",
        "inputs": {"messages": history},
        "outputs": {"messages": [answer]},
        "start_time": f"2026-01-05T10:00:0{number}",
        "end_time": f"2026-01-05T10:00:0{number}.500",
        "extra": {
            "metadata": {"thread_id": session, "ls_model_name": "m-1", "user_id": "u-1", "shop": "north"}
        },
        "trace_id": f"t-{session}-{number}",
        "session_id": "the project",
        "completion_tokens": 10 + number,
    }


def dotted(message):
    tool_calls = [
        {
            "tool_call.id": call["id"],
            "tool_call.function.name": call["function"]["name"],
            "tool_call.function.arguments": call["function"]["arguments"],
        }
        for call in message.get("tool_calls", [])
    ]
    found = {"message.role": message["role"], "message.content": message["content"] or ""}
    return found | ({"message.tool_calls": tool_calls} if tool_calls else {})


def phoenix(session, history, answer, number):
    return {
        "span_kind": "LLM",
        "context.trace_id": f"t-{session}-{number}",
        "end_time": f"2026-01-05T10:00:0{number}.500000+00:00",
        "attributes.session.id": session,
        "attributes.user.id": "u-1",
        "attributes.metadata": {"shop": "north"},
        "attributes.llm.model_name": "m-1",
        "attributes.llm.token_count.completion": 10 + number,
        "attributes.llm.input_messages": [dotted(message) for message in history],
        "attributes.llm.output_messages": [dotted(answer)],
    }


def nested(session, history, answer, number):
    """Write a Phoenix span with attributes as objects instead of dotted names."""
    flat = phoenix(session, history, answer, number)

    def wrap(message):
        inner = {name.removeprefix("message."): value for name, value in message.items()}
        if "tool_calls" in inner:
            inner["tool_calls"] = [
                {
                    "tool_call": {
                        "id": call["tool_call.id"],
                        "function": {
                            "name": call["tool_call.function.name"],
                            "arguments": call["tool_call.function.arguments"],
                        },
                    }
                }
                for call in inner["tool_calls"]
            ]
        return {"message": inner}

    return {
        "span_kind": "LLM",
        "context": {"trace_id": flat["context.trace_id"]},
        "end_time": flat["end_time"],
        "attributes": {
            "session": {"id": session},
            "user": {"id": "u-1"},
            "metadata": '{"shop": "north"}',
            "llm": {
                "model_name": "m-1",
                "token_count": {"completion": 10 + number},
                "input_messages": [wrap(m) for m in flat["attributes.llm.input_messages"]],
                "output_messages": [wrap(m) for m in flat["attributes.llm.output_messages"]],
            },
        },
    }


TOOLS = [("langfuse", langfuse), ("langsmith", langsmith), ("phoenix", phoenix), ("phoenix", nested)]


def shuffled(make):
    records = [make(session, *call) for session in ("s-1", "s-2") for call in calls()]
    random.Random(4).shuffle(records)
    return records


def check(reading, said):
    assert sorted(c.source_id for c in reading.conversations) == ["s-1", "s-2"]
    for conversation in reading.conversations:
        assert said(conversation) == SAID
        assert conversation.llm_model == "m-1"
        content = json.loads(conversation.content)
        answers = [m for m in content["messages"] if m["role"] == "assistant"]
        assert [m["timestamp"] for m in answers] == [f"2026-01-05T10:00:0{n}.500Z" for n in range(3)]
        assert [(m["model"], m["tokens"]) for m in answers] == [("m-1", 10), ("m-1", 11), ("m-1", 12)]
        assert all(set(m) == {"role", "content"} for m in content["messages"] if m["role"] != "assistant")
        assert content["metadata"]["userId"] == "u-1"
        assert content["metadata"]["sessionId"] == conversation.source_id
        assert content["metadata"]["shop"] == "north"
    assert reading.problems == []
    assert {LAST_WORDS, PROMPT_LEFT_OUT} <= set(reading.notes)


@pytest.mark.parametrize(("name", "make"), TOOLS, ids=["langfuse", "langsmith", "phoenix", "phoenix-nested"])
def test_shuffled_model_calls_become_conversations(written, said, name, make):
    reading = transcripts.read(written("a.jsonl", shuffled(make)))
    assert reading.format == name
    check(reading, said)


@pytest.mark.parametrize(("name", "make"), TOOLS[:3], ids=["langfuse", "langsmith", "phoenix"])
def test_the_same_comes_out_of_parquet(tmp_path, said, name, make):
    records = shuffled(make)
    if name != "phoenix":
        records = [{k: json.dumps(v) if isinstance(v, dict) else v for k, v in r.items()} for r in records]
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "a.parquet")
    reading = transcripts.read(tmp_path / "a.parquet")
    assert reading.format == name
    check(reading, said)


def test_what_a_trace_has_besides_is_counted(written):
    records = [{**langfuse("s-1", *call), "latency": 1.5, "level": "", "cost": {}} for call in calls()]
    records.append({**langfuse("s-1", [], {"role": "assistant", "content": "x"}, 9), "type": "SPAN"})
    reading = transcripts.read(written("a.jsonl", records))
    assert reading.dropped == {
        "latency": 3,
        "records of type SPAN": 1,
        "the system prompt (first message)": 1,
        "history[].tool_calls[].id": 1,
        "history[].tool_call_id": 1,
    }


def test_answers_outside_the_longest_history_are_counted(written, said):
    retry = langfuse("s-1", CHAT[:2], {"role": "assistant", "content": "Something else"}, 7)
    reading = transcripts.read(written("a.jsonl", [retry, *shuffled(langfuse)]))
    assert [said(c) for c in reading.conversations] == [SAID, SAID]
    assert reading.dropped["an answer that is not in the history"] == 1
    assert any(note.startswith("Answers that are not in the longest history") for note in reading.notes)


def test_without_a_session_a_trace_is_the_conversation(written, said):
    records = [{**langfuse(None, *call), "trace_id": "t-1"} for call in calls()]
    reading = transcripts.read(written("a.jsonl", records))
    assert [(c.source_id, said(c)) for c in reading.conversations] == [("t-1", SAID)]


def test_a_failed_call_keeps_the_history(written, said):
    records = [langsmith("s-1", *call) for call in calls()]
    records[-1] |= {"outputs": None, "error": "timeout"}
    reading = transcripts.read(written("a.jsonl", records))
    assert said(reading.conversations[0]) == SAID[:-1]
    assert reading.dropped["error"] == 1


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"input": "Hi"}, {"output": "Hello"}),
        ("Hi", "Hello"),
        (
            {
                "messages": [
                    [{"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {"content": "Hi", "id": "x"}}]
                ]
            },
            {"generations": [[{"text": "Hello", "message": {"kwargs": {"content": "Hello", "type": "ai"}}}]]},
        ),
        (
            [{"type": "human", "content": "Hi"}],
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}}]},
        ),
        (
            {"messages": [{"type": "human", "data": {"content": "Hi"}}]},
            {"generations": [[{"text": "Hello"}]]},
        ),
        (
            {"question": "Hi"},
            {"type": "AIMessageChunk", "kwargs": {"content": "Hello", "type": "AIMessageChunk"}},
        ),
    ],
    ids=["text-fields", "text", "langchain", "choices", "data", "chunk"],
)
def test_inputs_and_outputs_are_taken_out_of_their_wrappings(written, said, inputs, outputs):
    record = langsmith("s-1", [], {}, 1) | {"inputs": inputs, "outputs": outputs}
    reading = transcripts.read(written("a.jsonl", [record]))
    assert reading.problems == []
    assert said(reading.conversations[0]) == [("user", "Hi"), ("assistant", "Hello")]


def test_a_bad_record_is_reported_and_the_rest_goes_in(written):
    records = [langfuse("s-1", *call) for call in calls()]
    ghost = langfuse("s-2", [{"role": "ghost", "content": "boo"}], {}, 1)
    text = "".join(json.dumps(record) + "\n" for record in [*records, ghost]) + "{oops\n7\n"
    reading = transcripts.read(written("a.jsonl", text))
    assert [c.source_id for c in reading.conversations] == ["s-1"]
    assert [(p.line, p.message.split(";")[0]) for p in reading.problems] == [
        (5, "not valid JSON: Expecting property name enclosed in double quotes, column 2"),
        (6, "the record is not an object"),
        (4, "message 1 has the role 'ghost'"),
    ]


def test_scores_are_recognised_and_hold_no_conversations(written):
    score = {
        "id": "1",
        "session_id": "s",
        "name": "done",
        "value": 1,
        "source": "API",
        "data_type": "BOOLEAN",
    }
    reading = transcripts.read(written("a.jsonl", [score, score, score | {"name": "mood"}]))
    assert (reading.format, reading.conversations, reading.problems) == ("langfuse-scores", [], [])
    assert reading.notes == [
        (
            "These are scores of Langfuse, done (2), mood (1): they rate conversations and hold none, so nothing is "
            "imported. Import the observations of the same export instead."
        )
    ]
