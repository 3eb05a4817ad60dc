from __future__ import annotations

import json
import random

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
LAST_WORDS = "Traces do not contain what the user said after the last model call, so these conversations end with the last answer."


def calls(chat=CHAT):
    """Give history, answer and number of every model call of a chat."""
    answers = [index for index, message in enumerate(chat) if message["role"] == "assistant"]
    return [(chat[:index], chat[index], number) for number, index in enumerate(answers)]


def langfuse(session, history, answer, number):
    begun = f"2026-01-05 10:00:0{number}"
    return {
        "id": f"o{number}", "trace_id": f"t-{session}-{number}", "type": "GENERATION",
        "input": json.dumps(history), "output": json.dumps(answer),
        "start_time": f"{begun}.000000", "end_time": f"{begun}.500000",
        "provided_model_name": "m-1", "usage_details": {"input": 100, "output": 10 + number},
        "session_id": session, "user_id": "u-1", "metadata": {"shop": "north"},
        "prompt_name": "support", "prompt_version": 3, "tags": [],
    }  # fmt: skip


def langsmith(session, history, answer, number):
    about = {"thread_id": session, "ls_model_name": "m-1", "user_id": "u-1"}
    return {
        "id": f"r{number}", "run_type": "llm", "trace_id": f"t-{session}-{number}", "session_id": "the project",
        "inputs": {"messages": history}, "outputs": {"messages": [answer]},
        "start_time": f"2026-01-05T10:00:0{number}", "end_time": f"2026-01-05T10:00:0{number}.500",
        "extra": {"metadata": about}, "completion_tokens": 10 + number,
    }  # fmt: skip


def shuffled():
    records = [langfuse(session, *call) for session in ("s-1", "s-2") for call in calls()]
    random.Random(4).shuffle(records)
    return records


def test_shuffled_model_calls_become_conversations(written, said):
    reading = transcripts.read(written("a.jsonl", shuffled()))
    assert (reading.format, reading.problems) == ("langfuse", [])
    assert sorted(c.source_id for c in reading.conversations) == ["s-1", "s-2"]
    for conversation in reading.conversations:
        assert (said(conversation), conversation.llm_model) == (SAID, "m-1")
        content = json.loads(conversation.content)
        answers = [m for m in content["messages"] if m["role"] == "assistant"]
        assert [m["timestamp"] for m in answers] == [f"2026-01-05T10:00:0{n}.500Z" for n in range(3)]
        assert [(m["model"], m["tokens"]) for m in answers] == [("m-1", 10), ("m-1", 11), ("m-1", 12)]
        assert all(set(m) == {"role", "content"} for m in content["messages"] if m["role"] != "assistant")
        about = {"userId": "u-1", "sessionId": conversation.source_id, "shop": "north"}
        assert content["metadata"].items() >= about.items()
    assert {LAST_WORDS} <= set(reading.notes)


def test_what_a_trace_has_besides_is_counted(written, said):
    records = [{**langfuse("s-1", *call), "latency": 1.5, "level": "DEFAULT", "cost": {}} for call in calls()]
    records.append({**langfuse("s-1", [], {"role": "assistant", "content": "x"}, 9), "type": "SPAN"})
    records.insert(0, langfuse("s-1", CHAT[:2], {"role": "assistant", "content": "Something else"}, 7))
    reading = transcripts.read(written("a.jsonl", records))
    assert [said(c) for c in reading.conversations] == [SAID]
    assert reading.dropped == {
        "level": 3,
        "records of type SPAN": 1,
        "history[].tool_calls[].id": 1,
        "history[].tool_call_id": 1,
        "answers that are not in the longest history of their session, such as retries": 1,
    }


def test_without_a_session_a_trace_is_the_conversation(written, said):
    records = [{**langfuse(None, *call), "trace_id": "t-1"} for call in calls()]
    reading = transcripts.read(written("a.jsonl", records))
    assert [(c.source_id, said(c)) for c in reading.conversations] == [("t-1", SAID)]


def test_a_failed_call_keeps_the_history_and_failed_tools_are_counted(written, said):
    chat = [*CHAT[:5], {**CHAT[5], "status": "error"}, CHAT[6]]
    records = [langsmith("s-1", *call) for call in calls(chat)]
    records[-1] |= {"outputs": None, "error": "timeout"}
    reading = transcripts.read(written("a.jsonl", records))
    assert said(reading.conversations[0]) == SAID[:-1]
    assert (reading.conversations[0].tool_errors, reading.dropped["error"]) == (1, 1)


HUMAN = {"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {"content": "Hi", "id": "x"}}
CHUNK = {"type": "AIMessageChunk", "kwargs": {"content": "Hello", "type": "AIMessageChunk"}}
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "Hello"}}
WRAPPINGS = [
    ({"input": "Hi"}, {"output": "Hello"}),
    ("Hi", "Hello"),
    ({"messages": [[HUMAN]]}, {"generations": [[{"text": "x", "message": {"kwargs": {"content": "Hello", "type": "ai"}}}]]}),
    ([{"type": "human", "content": "Hi"}], {"choices": [CHOICE]}),
    ({"messages": [{"type": "human", "data": {"content": "Hi"}}]}, {"generations": [[{"text": "Hello"}]]}),
    ({"question": "Hi"}, CHUNK),
]  # fmt: skip


def test_inputs_and_outputs_are_taken_out_of_their_wrappings(written, said):
    records = [
        langsmith(f"s-{number}", [], {}, 1) | {"inputs": inputs, "outputs": outputs}
        for number, (inputs, outputs) in enumerate(WRAPPINGS)
    ]
    reading = transcripts.read(written("a.jsonl", records))
    assert reading.problems == []
    assert [said(one) for one in reading.conversations] == [[("user", "Hi"), ("assistant", "Hello")]] * 6


def test_a_bad_record_is_reported_and_the_rest_goes_in(written):
    records = [langfuse("s-1", *call) for call in calls()]
    # Without a session, the calls of several traces may be one conversation.
    ghost = [{"role": "ghost", "content": "boo"}]
    records += [langfuse("s-2", ghost, {}, 1), without_session(langfuse("a", ghost, CHAT[2], 0))]
    text = "".join(json.dumps(record) + "\n" for record in records) + "{oops\n7\n"
    reading = transcripts.read(written("a.jsonl", text))
    assert [c.source_id for c in reading.conversations] == ["s-1"]
    assert [(p.line, p.message.split(";")[0]) for p in reading.problems] == [
        (6, "not valid JSON: Expecting property name enclosed in double quotes, column 2"),
        (7, "the record is not an object"),
        (4, "message 1 has the role 'ghost'"),
        (5, "message 1 has the role 'ghost'"),
    ]


def test_prompts_of_one_session_are_conversations_of_their_own(written, said):
    route = [{"role": "system", "content": "You route."}, {"role": "user", "content": "Find it"}]
    router = langfuse("s-1", route, {"role": "assistant", "content": "search"}, 5) | {"prompt_name": "router"}
    unnamed = langfuse("s-2", *calls()[0]) | {"prompt_name": None}
    reading = transcripts.read(written("a.jsonl", [router, *shuffled(), unnamed]))
    found = {(one.source_id, one.prompt_name): said(one) for one in reading.conversations}
    assert found == {
        ("s-1", "router"): [("user", "Find it"), ("assistant", "search")],
        ("s-1", "support"): SAID,
        ("s-2", "support"): SAID,
    }
    assert reading.prompt_names == ["support", "router"]
    assert {one.prompt_version for one in reading.conversations} == {"3"}
    texts = {key: [one.text for one in prompts] for key, prompts in reading.texts_of.items()}
    assert texts == {("support", "3"): ["You are kind."], ("router", "3"): ["You route."]}


def test_names_of_traces_tell_prompts_apart_unless_every_trace_has_its_own(written):
    def records(names):
        return [
            {**langfuse(f"s-{n}", *calls()[0]), "prompt_name": None, "trace_name": name}
            for n, name in enumerate(names)
        ]

    reading = transcripts.read(written("a.jsonl", records(["sales", "support", "support"])))
    assert reading.prompt_names == ["support", "sales"]
    reading = transcripts.read(written("b.jsonl", records([f"Talk {n}" for n in range(9)])))
    assert reading.prompt_names == []
    assert reading.conversations[4].title == "Talk 4"


def turn(number, asked, answered, **known):
    """A trace of one question without the history."""
    history = [SYSTEM, {"role": "user", "content": asked}]
    return {
        **langfuse("s-1", history, {"role": "assistant", "content": answered}, number),
        "trace_id": f"t-{number}",
        **known,
    }


def test_traces_without_history_follow_each_other(written, said):
    records = [turn(3, "yes", "Bye"), turn(1, "Hi", "Hello"), turn(2, "yes, please", "Done")]
    reading = transcripts.read(written("a.jsonl", records))
    (found,) = reading.conversations
    assert [text for _, text in said(found)] == ["Hi", "Hello", "yes, please", "Done", "yes", "Bye"]
    assert reading.dropped == {}
    assert [prompt.text for prompt in reading.system_prompts] == ["You are kind."]
    assert sorted(found.metadata["traceIds"]) == ["t-1", "t-2", "t-3"]


MESSAGES = [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello"}]
RUNS = {
    "langfuse": {
        **langfuse("s-1", [], {}, 1),
        "type": "SPAN",
        "input": "Hi",
        "output": '{"answer": "Hello"}',
    },
    "langsmith": {
        **langsmith("s-1", [], {}, 1),
        "run_type": "chain", "inputs": {"messages": MESSAGES[:1]}, "outputs": {"messages": MESSAGES},
    },
    "phoenix": {
        "span_kind": "CHAIN", "context.trace_id": "t", "attributes.session.id": "s-1",
        "attributes.input.value": '{"question": "Hi"}', "attributes.output.value": "Hello",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_without_a_model_call_is_a_conversation(written, said, name):
    reading = transcripts.read(written("a.jsonl", [RUNS[name]]))
    assert [said(one) for one in reading.conversations] == [[("user", "Hi"), ("assistant", "Hello")]]
    assert (reading.format, reading.model_calls) == (name, 0)


def without_session(call):
    return {name: value for name, value in call.items() if name != "session_id"}


def test_traces_that_no_session_names_are_joined_where_one_goes_on_with_another(written, said):
    """As an application sends them that repeats the history in every request."""
    both = [
        {**without_session(langfuse(person, *call)), "user_id": person}
        for person in ("a", "b")
        for call in calls()
    ]
    random.Random(7).shuffle(both)
    reading = transcripts.read(written("a.jsonl", both))
    found = {one.metadata["userId"]: one for one in reading.conversations}
    assert len(found) == len(reading.conversations) == 2
    for person, one in found.items():
        assert said(one) == SAID
        # The first trace names it, so that it is the same one when it has grown.
        assert one.source_id == f"t-{person}-0"
        assert sorted(one.metadata["traceIds"]) == [f"t-{person}-{number}" for number in range(3)]
        assert one.output_tokens == 33


def test_traces_that_only_begin_alike_stay_apart(written, said):
    first, second, _ = calls()
    others = [
        [{**SYSTEM}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Good day"}],
        [{**SYSTEM}, {"role": "user", "content": "Hi"}],
    ]
    answer = {"role": "assistant", "content": "What?"}
    records = [
        without_session(langfuse("a", *first)),
        # It goes on with another answer.
        without_session(langfuse("b", [*others[0], {"role": "user", "content": "More"}], answer, 1)),
        # The same question, asked again.
        without_session(langfuse("c", others[1], first[1], 2)),
        # It began before the other had ended.
        {**without_session(langfuse("d", *second)), "start_time": "2026-01-05 09:00:00.000000"},
    ]
    reading = transcripts.read(written("a.jsonl", records))
    assert sorted(one.source_id for one in reading.conversations) == ["t-a-0", "t-b-1", "t-c-2", "t-d-1"]
