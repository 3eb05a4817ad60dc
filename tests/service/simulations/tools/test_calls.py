"""Calls of tools in transcripts and answers, and what is known of an agent's tools."""

from __future__ import annotations

import json

import pytest

from promptlift.service.simulations.tools import Toolbox, ToolCall, calls_in, logged_calls, read_call


def transcript(*messages):
    return json.dumps({"messages": [{"role": role, "content": text} for role, text in messages]})


LOGGED = transcript(
    ("user", "Where is parcel 7?"),
    ("assistant", '[tool call] find_parcel({"id": 7, "detail": true})'),
    ("system", '[tool result] {"status": "in Lyon"}'),
    ("assistant", "It is in Lyon."),
    ("user", "And 8 and 9?"),
    ("assistant", '[tool call] find_parcel({"id": 8})'),
    ("assistant", '[tool call] find_parcel({"id": 9})'),
    ("system", "[tool result] Error: no such parcel"),
    ("system", '[tool result] {"status": "lost"}'),
    ("assistant", "One is lost."),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[tool call] find({"b": 1, "a": [2]})', ("find", '{"a": [2], "b": 1}')),
        ("[tool call] shop.orders/find()", ("shop.orders/find", "{}")),
        ('[tool call] find({"text": "a (b) c"})', ("find", '{"text": "a (b) c"}')),
        ("[tool call] find(id 7)", ("find", "id 7")),
        ("find({})", None),
        ("[tool call] two words({})", None),
        ("[tool call] open(", None),
        (f"[tool call] {'n' * 200}({{}})", None),
    ],
)
def test_a_call_is_read_so_that_equal_ones_are_equal(text, expected):
    assert read_call(text) == (None if expected is None else ToolCall(*expected))


def test_an_answer_may_say_something_before_several_calls():
    said, calls = calls_in(
        'I will look.\n[tool call] find({"id":\n 7})\n[tool call] find({"id": 8}) Thank you'
    )
    assert said == "I will look."
    assert calls == [ToolCall("find", '{"id": 7}'), ToolCall("find", '{"id": 8}')]
    for plain in ("Hello", "I cannot use [tool call] here", "[tool call] nonsense"):
        assert calls_in(plain) == (plain, [])


def test_results_belong_to_calls_in_their_order():
    found = [(one.call.arguments, one.result, one.is_error) for one in logged_calls(LOGGED)]
    assert found == [
        ('{"detail": true, "id": 7}', '{"status": "in Lyon"}', False),
        ('{"id": 8}', "Error: no such parcel", True),
        ('{"id": 9}', '{"status": "lost"}', False),
    ]
    assert list(logged_calls("[tool call] not a transcript {")) == []


def test_tools_come_from_logs_and_from_the_prompt():
    prompt = (
        "Use the tool `open_claim` for damage, and refund_order(order_id) never. Ask for `customer_name`."
    )
    box = Toolbox.of(prompt, [LOGGED])
    assert box.names == ["find_parcel", "refund_order", "open_claim"]
    described = box.described(prompt)
    assert described.startswith(prompt)
    assert 'find_parcel({"id": …, "detail": …})' in described
    # Nothing that a customer said or a tool gave.
    assert "Lyon" not in described.removeprefix(prompt)
    assert Toolbox.of("You are kind. Say {customer_name}.", [transcript(("user", "Hi"))]) is None


def test_the_same_call_gives_what_it_gave_before_errors_as_often_as_they_were():
    def logged(result):
        call = '[tool call] find({"id": 7})'
        return transcript(("user", "Hi"), ("assistant", call), ("system", f"[tool result] {result}"))

    box = Toolbox.of("", [*[logged("in Lyon")] * 3, logged("Error: timeout")])
    call = ToolCall("find", '{"id": 7}')
    given = [box.replayed(call, seed=seed) for seed in range(400)]
    assert given == [box.replayed(call, seed=seed) for seed in range(400)]
    assert set(given) == {"in Lyon", "Error: timeout"}
    assert 60 < given.count("Error: timeout") < 140
    assert box.replayed(ToolCall("find", '{"id": 8}'), seed=1) is None
    assert box.error_share("find") == 0.25
    assert any(one.is_error for one in box.examples(call))
