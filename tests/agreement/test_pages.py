"""Lists: limits, offsets, order and totals."""

from __future__ import annotations

import pytest

from promptlift.client.reads.conversations import ConversationRead, Wanted
from promptlift.client.reads.paging import pages_for
from promptlift.client.reads.plan_read import plan_read

LISTS = ("/prompts", "/agents", "/conversations")
EVERY_LIST = (*LISTS, "/optimizations", "/personas", "/actions")


COUNT = 23


@pytest.fixture
def lists(new_account):
    """An account with some prompts and as many conversations; gives ids, newest first, by list."""
    wire = new_account()
    prompts = [wire.add_prompt(name=f"n{n}") for n in range(COUNT)]
    conversations = [
        wire.log(prompts[n % 2], status=("completed", "abandoned", "in_progress")[n % 3])
        for n in range(COUNT)
    ]
    return wire, {"/prompts": prompts[::-1], "/agents": prompts[::-1], "/conversations": conversations[::-1]}


def ids(body):
    return [item["id"] for item in body["data"]]


def test_pages_are_newest_first_stable_and_meet_without_a_gap(lists):
    wire, expected = lists
    for path in LISTS:
        first = wire.get(path)
        assert first["pagination"] == {"total": COUNT, "limit": 20, "offset": 0}
        assert ids(first) == expected[path][:20]
        for limit in (1, 7, 100):
            offsets = range(0, COUNT + limit, limit)
            pages = [wire.get(f"{path}?limit={limit}&offset={offset}") for offset in offsets]
            assert [one for page in pages for one in ids(page)] == expected[path]
            more = {"maxLimit": 1_000} if (path, limit) == ("/conversations", 100) else {}
            assert [page["pagination"] for page in pages] == [
                {"total": COUNT, "limit": limit, "offset": offset, **more} for offset in offsets
            ]
        for offset in (COUNT, 2**53):
            body = wire.get(f"{path}?offset={offset}&limit=5")
            assert body == {"data": [], "pagination": {"total": COUNT, "limit": 5, "offset": offset}}


def test_all_conversations_are_read_in_larger_pages_than_those_of_the_specification(wire, client):
    client.conversations.log_many([{"content": "User: x"}] * 450, prompt_id=wire.add_prompt())
    for wanted, requests in ((Wanted(insights=True), 3), (Wanted(content=True), pages_for(450))):
        planned = plan_read(client.transport, ConversationRead(client.transport, wanted), wanted)
        read = ConversationRead(client.transport, wanted).run()
        assert planned.requests == requests
        assert len({row["id"] for row in read.rows}) == len(read.rows) == 450
        assert (read.complete, read.requests) == (True, requests)


def test_a_limit_or_offset_out_of_range_is_refused_on_every_list(new_account):
    wire = new_account()
    for value in ("0", "-1", "1.5", "ten", "", "%205", "1e1", "9" * 400, "%D9%A5", "%00", None):
        for path in EVERY_LIST:
            most = 1_000 if path == "/conversations" else 100
            answer = wire.ask("GET", f"{path}?limit={most + 1 if value is None else value}")
            assert answer.status == 400
            assert answer.error["details"] == {"limit": f"must be a whole number from 1 to {most}"}
    answer = wire.ask("GET", "/conversations?limit=101&includeContent=true")
    assert answer.error["details"] == {"limit": "must be a whole number from 1 to 100 with includeContent"}
    for value in ("-1", "1.5", "", "9007199254740993", "9" * 400, "+1"):
        for path in EVERY_LIST:
            answer = wire.ask("GET", f"{path}?offset={value}")
            assert answer.status == 400
            assert answer.error["details"] == {"offset": f"must be a whole number from 0 to {2**53}"}
