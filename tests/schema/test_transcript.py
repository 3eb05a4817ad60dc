"""The content format, both forms, both ways."""

from __future__ import annotations

import json
import string
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptlift.errors import TranscriptError
from promptlift.schema.transcript import Message, Transcript, dump_content, looks_structured, parse_content

SHORT = {"messages": [{"role": "user", "content": "hi"}]}


def roles_and_texts(text):
    return [(message.role, message.content) for message in parse_content(text).messages]


def read_or_problem(text):
    try:
        return parse_content(text), ""
    except TranscriptError as error:
        return None, str(error)


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("User: hi\nAssistant: hello", [("user", "hi"), ("assistant", "hello")]),
        ("Human: hi\nAI: hello", [("user", "hi"), ("assistant", "hello")]),
        ("Customer: hi\nAgent: hello", [("user", "hi"), ("assistant", "hello")]),
        ("USER: hi\nassistant:hello", [("user", "hi"), ("assistant", "hello")]),
        ("  User : hi\n\tAssistant :  hello", [("user", "hi"), ("assistant", "hello")]),
        ("User: one\ntwo\n\nthree\nAssistant: four", [("user", "one\ntwo\n\nthree"), ("assistant", "four")]),
        ("\ufeffUser: hi\r\nAssistant: hello\r\n", [("user", "hi"), ("assistant", "hello")]),
        ("User:\nAssistant:", [("user", ""), ("assistant", "")]),
        ("User: https://example.org: x", [("user", "https://example.org: x")]),
        # Only the pair of the first line counts as labels.
        ("User: he said\nAgent: no", [("user", "he said\nAgent: no")]),
        ("Customer: the\nUser: manual\nAgent: yes", [("user", "the\nUser: manual"), ("assistant", "yes")]),
        ("User: \u2028Ünïcode 🎈\x00", [("user", "Ünïcode 🎈\x00")]),
    ],
)
def test_plain_text_becomes_turns(text, turns):
    assert roles_and_texts(text) == turns


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "content is empty"),
        ("\x1f\xa0\u2003", "content is empty"),
        (
            "hello there",
            "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
        ),
        (
            "\n\nBot: hi",
            "line 3: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
        ),
        ("User hi", "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent"),
        ("[1]", "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent"),
    ],
)
def test_plain_text_without_labels_is_refused(text, problem):
    with pytest.raises(TranscriptError) as caught:
        parse_content(text)
    assert str(caught.value) == problem


def test_structured_content_has_every_field_of_the_specification():
    document = {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hi", "timestamp": "2026-01-31T09:30:00Z"},
            {
                "role": "assistant",
                "content": "hello",
                "timestamp": "2026-01-31T10:30:05+01:00",
                "model": "gpt-4o",
                "tokens": 12,
                "cost": 0.5,
            },
        ],
        "metadata": {"userId": "u", "sessionId": "s", "channel": "web", "language": "en", "custom": [1, {}]},
        "version": 2,
    }
    transcript = parse_content(json.dumps(document))
    assert transcript.messages[2] == Message(
        role="assistant",
        content="hello",
        timestamp=datetime(2026, 1, 31, 9, 30, 5, tzinfo=UTC),
        model="gpt-4o",
        tokens=12,
        cost=0.5,
    )
    assert transcript.metadata == document["metadata"]
    assert transcript.model_extra == {"version": 2}
    assert transcript.started_at == datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
    assert transcript.ended_at == datetime(2026, 1, 31, 9, 30, 5, tzinfo=UTC)


@pytest.mark.parametrize("text", ['{"messages"', ' \n{"a":1}', "\ufeff{}", "{"])
def test_what_opens_an_object_is_meant_as_structured(text):
    assert looks_structured(text)


@pytest.mark.parametrize("text", ["User: {}", "", "[]", '"{}"'])
def test_anything_else_is_meant_as_plain_text(text):
    assert not looks_structured(text)


def message(**fields):
    return json.dumps({"messages": [{"role": "user", "content": "hi", **fields}]})


TIME = "must be an ISO 8601 time such as 2026-01-31T09:30:00Z"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "messages: Required field"),
        ('{"messages": "x"}', "messages: must be a list"),
        ('{"messages": []}', "messages: must not be empty"),
        ('{"messages": [1]}', "messages[0]: must be an object"),
        ('{"messages": [{}]}', "messages[0].role: Required field"),
        ('{"messages": [{"role": "user"}]}', "messages[0].content: Required field"),
        (
            json.dumps({"messages": [*SHORT["messages"] * 7, {"role": "user"}]}),
            "messages[7].content: Required field",
        ),
        (message(role="bot"), "messages[0].role: must be one of user, assistant, system"),
        (message(role="User"), "messages[0].role: must be one of user, assistant, system"),
        (message(role=1), "messages[0].role: must be a string"),
        (message(content=1), "messages[0].content: must be a string"),
        (message(model=1), "messages[0].model: must be a string"),
        (message(tokens="5"), "messages[0].tokens: must be a number of 0 or more"),
        (message(tokens=-1), "messages[0].tokens: must be a number of 0 or more"),
        (message(tokens=True), "messages[0].tokens: must be a number of 0 or more"),
        (message(timestamp=1738316400), f"messages[0].timestamp: {TIME}"),
        (message(timestamp="yesterday"), f"messages[0].timestamp: {TIME}"),
        (message(timestamp="2026-02-30T00:00:00Z"), f"messages[0].timestamp: {TIME}"),
        (message(timestamp="0001-01-01T00:00:00+14:00"), f"messages[0].timestamp: {TIME}"),
        (message(timestamp="9999-12-31T23:59:59-14:00"), f"messages[0].timestamp: {TIME}"),
        ('{"messages": [{"role": "user", "content": "hi"}], "metadata": []}', "metadata: must be an object"),
        (
            '{"messages": [{"role": "user", "content": "hi"}], "metadata": {"userId": 7}}',
            "metadata.userId: must be a string",
        ),
    ],
)
def test_a_wrong_field_is_refused_by_its_path(text, problem):
    with pytest.raises(TranscriptError) as caught:
        parse_content(text)
    assert str(caught.value) == problem


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
extra = st.dictionaries(st.text(string.ascii_lowercase, min_size=8, max_size=9), json_values, max_size=2)
messages = st.builds(
    lambda rest, **fields: Message(**fields, **{f"x{name}": value for name, value in rest.items()}),
    extra,
    role=st.sampled_from(["user", "assistant", "system"]),
    content=st.text(max_size=60),
    timestamp=st.none()
    | st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)).map(  # noqa: DTZ001
        lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    ),
    model=st.none() | st.text(max_size=10),
    tokens=st.none() | st.integers(0, 2**53) | st.floats(0, 1e300),
)
transcripts = st.builds(
    Transcript,
    messages=st.lists(messages, min_size=1, max_size=5),
    metadata=st.none()
    | st.dictionaries(st.text(max_size=5).map("m{}".format), json_values, min_size=1, max_size=3),
)


@pytest.mark.slow
@given(transcripts)
@settings(deadline=None)
def test_what_is_written_is_read_back_the_same(transcript):
    written = dump_content(transcript)
    assert parse_content(written) == transcript
    assert dump_content(parse_content(written)) == written
    for record in json.loads(written)["messages"]:
        assert not any(record.get(name, "") is None for name in ("timestamp", "model", "tokens"))


@given(st.text(max_size=200))
@settings(deadline=None)
def test_any_text_is_read_or_refused_with_a_reason(text):
    transcript, problem = read_or_problem(text)
    assert problem if transcript is None else transcript.messages


@given(json_values)
@settings(deadline=None)
def test_any_json_under_messages_is_read_or_refused_with_a_reason(value):
    transcript, problem = read_or_problem(json.dumps({"messages": value, "metadata": value}))
    assert problem.startswith(("messages", "metadata")) if transcript is None else transcript.messages
