"""Whether content is acceptable, and what is seen from it at once."""

from __future__ import annotations

import json

import pytest

from promptlift.schema import limits
from promptlift.schema.model import from_wire_time
from promptlift.service import clock
from promptlift.service.actions.logging.content import accept
from promptlift.service.errors import ApiException


def structured(*messages, **rest):
    return json.dumps({"messages": list(messages), **rest})


def said(role, content="x", **rest):
    return {"role": role, "content": content, **rest}


def refused(content):
    with pytest.raises(ApiException) as caught:
        accept(content)
    return caught.value.status, caught.value.code, caught.value.details


def test_counts_and_times_are_taken_from_the_messages():
    shape = accept(
        structured(
            said("system"),
            said("user", timestamp="2026-01-31T09:30:10Z"),
            said("assistant", timestamp="2026-01-31T09:30:14Z"),
            said("user", timestamp="2026-01-31T09:31:00Z"),
            said("assistant", timestamp="2026-01-31T09:31:02Z"),
            said("user"),
            said("assistant"),
        )
    )
    assert (shape.messages, shape.user_turns) == (7, 3)
    assert shape.started_at == clock.from_datetime(from_wire_time("2026-01-31T09:30:10Z"))
    assert shape.ended_at == clock.from_datetime(from_wire_time("2026-01-31T09:31:02Z"))
    assert shape.response_seconds == pytest.approx(3.0)


def test_without_times_there_are_none():
    shape = accept("User: hi\nAssistant: hello")
    assert (shape.started_at, shape.ended_at, shape.response_seconds) == (None, None, None)


def test_an_answer_before_its_question_has_no_response_time():
    shape = accept(
        structured(
            said("user", timestamp="2026-01-31T09:30:10Z"),
            said("assistant", timestamp="2026-01-31T09:30:00Z"),
        )
    )
    assert shape.response_seconds is None
    assert shape.started_at == clock.from_datetime(from_wire_time("2026-01-31T09:30:00Z"))


@pytest.mark.parametrize("char", ["x", "é", "🎈"])
def test_a_message_may_have_exactly_its_limit_in_bytes(char):
    count = limits.MESSAGE_BYTES // len(char.encode())
    content = json.dumps({"messages": [said("user", char * count)]}, ensure_ascii=False)
    assert accept(content).messages == 1
    over = json.dumps({"messages": [said("user"), said("user", char * count + "x")]}, ensure_ascii=False)
    text = f"messages[1] has {limits.MESSAGE_BYTES + 1} bytes; at most {limits.MESSAGE_BYTES} are allowed"
    assert refused(over) == (413, "PAYLOAD_TOO_LARGE", {"content": text})


def test_a_conversation_may_have_exactly_its_limit_of_messages():
    assert accept(structured(*[said("user")] * limits.MESSAGES)).messages == 500
    problem = {"content": "content has 501 messages; at most 500 are allowed"}
    assert refused(structured(*[said("user")] * 501)) == (413, "PAYLOAD_TOO_LARGE", problem)
    # The limit is one of the structured form.
    assert accept("User: x\n" * 501).messages == 501


def test_content_may_have_exactly_its_limit_in_bytes():
    frame = len(structured(*[said("user", "")] * 6))
    whole = limits.CONTENT_BYTES - frame
    parts = [whole // 6] * 5 + [whole - 5 * (whole // 6)]
    content = structured(*[said("user", "x" * part) for part in parts])
    assert len(content.encode()) == limits.CONTENT_BYTES
    assert accept(content).messages == 6
    status, code, details = refused(content + " ")
    assert (status, code) == (413, "PAYLOAD_TOO_LARGE")
    assert details == {"content": "content has 524289 bytes; at most 524288 are allowed"}


@pytest.mark.parametrize(
    ("content", "line", "label", "pair"),
    [
        ("User: hi\nAgent: hello", 2, "Agent", "User/Assistant"),
        ("User: a\nAssistant: b\n\nCustomer: c\nAgent: d", 4, "Customer", "User/Assistant"),
        ("Human: a\nmore\n  assistant : b", 3, "assistant", "Human/AI"),
        ("Agent: hello\r\nHuman: hi", 2, "Human", "Customer/Agent"),
    ],
)
def test_labels_of_two_pairs_are_refused_with_the_line(content, line, label, pair):
    assert refused(content) == (
        400,
        "VALIDATION_ERROR",
        {
            "content": f"line {line}: the label {label} is not of the pair {pair}, which the previous lines have; use one pair, or send structured content"
        },
    )
    # In structured content it is text.
    assert accept(structured(said("user", content))).messages == 1


def test_what_cannot_be_read_is_a_validation_error_under_content():
    assert refused("hello") == (
        400,
        "VALIDATION_ERROR",
        {"content": "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent"},
    )
    assert refused("User: \ud800") == (
        400,
        "VALIDATION_ERROR",
        {"content": "contains half of a surrogate pair; send valid Unicode"},
    )
