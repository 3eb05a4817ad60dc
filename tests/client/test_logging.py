"""Conversations in: records checked, keys made, and an account of every record."""

from __future__ import annotations

import json

import pytest

from promptlift.client import Client, configure
from promptlift.client.log.records import FailedRecord, Outgoing, prepare
from promptlift.client.log.run import LoggingRun
from promptlift.client.retry import RetryPolicy
from promptlift.client.transport import Transport
from support.foreign_service import KEY, ForeignService

QUICK = RetryPolicy(first_pause=0.01, longest_pause=0.05, timeout=0.5, first_timeout=0.2)


@pytest.fixture
def service():
    with ForeignService() as running:
        yield running


@pytest.fixture
def log(service):
    def run(records, *, prompt_id="p1", key=KEY, progress=None):
        config = configure(service.base_url, key)
        with Client(config, transport=Transport(config, policy=QUICK)) as client:
            return LoggingRun(client.transport, prompt_id, progress=progress).run(records)

    return run


def hang_up(handler):
    handler.close_connection = True


def one(record, **options):
    return next(prepare([record], options.get("prompt_id", "p1"), options.get("link", "promptId")))


def test_the_key_is_the_same_every_time_and_differs_by_prompt_source_and_content():
    first = one({"content": "User: a"}).key
    assert one({"content": "User: a"}).key == first
    same = [out.key for out in prepare([{"content": "User: a"}] * 3, "p1", "promptId")]
    assert (same[0], len(set(same))) == (first, 3)  # identical conversations of one call all go in
    others = [
        one({"content": "User: a"}, prompt_id="p2").key,
        one({"content": "User: b"}).key,
        one({"content": "User: a", "source_id": "7"}).key,
    ]
    assert len({first, *others}) == 4
    assert len(first) == 32


MANY = {"messages": [{"role": "user", "content": "x"}] * 501}
LONG = {"messages": [{"role": "user", "content": "é" * 51_201}]}


REFUSED = [
    (5, "a int is not a conversation"),
    ({}, "no content and no messages"),
    ({"content": float("nan")}, "no content and no messages"),
    ({"content": "  \n"}, "content is empty"),
    ({"content": 5}, "content is int"),
    ({"content": "User: \ud800"}, "surrogate"),
    ({"messages": []}, "messages: must not be empty"),
    ({"messages": "hi"}, "messages: must be a list"),
    ({"messages": [{"role": "bot", "content": "x"}]}, r"messages[0].role: must be one of"),
    ({"messages": [{"role": "user"}]}, "messages[0].content: Required field"),
    ({"messages": [{"role": "user", "content": {1, 2}}]}, "cannot be encoded as JSON"),
    ({"content": "User: a", "source_id": "s" * 501}, "source_id has 501 characters"),
    ({"content": "User: a", "source_id": "a\x00b"}, "source_id contains a NUL"),
    ({"content": "User: a", "status": "done"}, "status is 'done'; it must be one of completed"),
    ({"content": "User: a", "llm_model": 4}, "llm_model is int"),
    ({"content": "User: a", "company_name": "c" * 201}, "companyName has 201 characters"),
    ({"content": "User: a", "idempotency_key": "k" * 256}, "256 characters; at most 255"),
    ({"content": "é" * 262_145}, "524290 bytes; at most 524288"),
    ({"content": json.dumps(MANY)}, "501 messages; at most 500"),
    (LONG, "messages[0] has 102402 bytes; at most 102400"),
]


def test_a_record_that_cannot_go_in_says_why():
    for record, says in REFUSED:
        refused = one(record)
        assert isinstance(refused, FailedRecord)
        assert says in refused.message
        assert str(refused).startswith("record 0: ")


def test_a_record_at_the_limit_goes_in():
    for content in ("x" * 102_400, ""):
        assert isinstance(one({"messages": [{"role": "user", "content": content}]}), Outgoing)
    assert isinstance(one({"content": "User: " + "x" * 524_282}), Outgoing)
    assert isinstance(one({"messages": [{"role": "user", "content": "x"}] * 500}), Outgoing)


def test_one_bad_record_does_not_stop_the_others(service, log):
    records = [{"content": "User: a"}, {}, {"content": "BAD"}, {"content": "User: b"}]
    done = []
    result = log(records, progress=done.append)
    assert (result.logged, [failure.index for failure in result.failed]) == (2, [1, 2])
    assert "content: Invalid" in result.failed[1].message
    assert done[-1] == 4
    assert not result.complete
    assert "record 2" in repr(result)


def test_a_used_up_quota_ends_the_run_with_its_message_and_counts_the_rest(service, log):
    service.max_conversations = 20
    result = log([{"content": f"User: {number}"} for number in range(1000)])
    assert (result.logged, result.failed) == (20, [])
    assert result.not_sent == 980
    assert "Monthly conversations used up" in result.stopped
    assert len(service.seen) < 20 + 300
    assert "980 not sent; stopped early" in str(result)


def test_a_network_that_goes_away_ends_the_run_and_a_later_one_goes_on(service, log):
    records = [{"content": f"User: {number}"} for number in range(400)]
    service.fault = lambda _m, _p, count: hang_up if count > 100 else None
    broken = log(records)
    assert broken.logged + len(broken.failed) + broken.not_sent == 400
    assert broken.logged >= 80
    assert "No answer from" in broken.stopped
    service.fault = None
    rest = log(records)
    assert rest.complete
    assert len(service.rows) == 400


def test_lost_answers_and_failures_leave_every_conversation_there_once(service, log):
    def fault(method, _path, count):
        if method == "POST" and count % 3 == 0:
            return hang_up
        return None

    service.fault = fault
    result = log([{"content": f"User: {number}"} for number in range(200)])
    assert (result.logged, result.complete) == (200, True)
    assert len(service.rows) == len({row["content"] for row in service.rows}) == 200


def test_the_source_id_changes_nothing_else_in_the_content():
    text = '{"messages":[{"role":"user","content":"é"}],"metadata":{"number":%s}}'
    exact, unreadable = text % 2**70, text % "NaN"
    sent = json.loads(one({"content": exact, "source_id": "s1"}).body)["content"]
    assert sent == exact[:-2] + ',"sourceId":"s1"}}'
    assert json.loads(one({"content": unreadable, "source_id": "s1"}).body)["content"] == unreadable


def test_content_at_the_limit_goes_out_without_the_source_id_in_it():
    text = json.dumps({"messages": [{"role": "user", "content": "x" * 90_000}] * 5})
    text = text[:-1] + " " * (524_288 - len(text) - 20) + "}"
    roomy, full = one({"content": text, "source_id": "s1"}), one({"content": text, "source_id": "s" * 400})
    assert json.loads(json.loads(roomy.body)["content"])["metadata"] == {"sourceId": "s1"}
    assert json.loads(full.body)["sourceId"] == "s" * 400
