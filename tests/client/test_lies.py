"""What a server may say of its lists that is not true: a read ends right, or with an exception.

The service has 350 conversations (or prompts), and tells one lie. Some lies no client can tell, because an honest
service in another state would send the same bytes:

- rows that are in no page and in no total (rows that nobody ever hears of);
- a total and pages that agree from some moment on that the list is shorter (its last rows were deleted);
- a limit of the service's own that is no round number, on the first page, where the total counts that page only;
- values inside a row, and a list of made-up rows that is long but ends.
"""

from __future__ import annotations

import copy

import pytest

from promptlift.client import Client, configure
from promptlift.client.retry import RetryPolicy
from promptlift.client.transport import Transport
from promptlift.errors import IncompleteError, UnexpectedResponse
from promptlift.workspace import Workspace
from support import lying_service as lies
from support.foreign_service import KEY
from support.lying_service import LyingService, both, cap, pagination, raw, rows, total, without

pytestmark = pytest.mark.slow

QUICK = RetryPolicy(first_pause=0.005, longest_pause=0.02, timeout=0.1, first_timeout=0.1)
WHOLE = None
NO_PAGE = "not a page of a list"
NO_ID = "not an object with a string as id"

# Name: the lie, and what the exception says; WHOLE where the table is complete in spite of it.
PAGES = {
    # the total
    "a total that is a cap": (total(100), r"counts 100 rows and returns 100 from offset 97"),
    "a total that ends with every page": (
        total(lambda page, asked: asked.offset + len(page["data"])),
        WHOLE,
    ),
    "a total one too low": (total(349), "counts 349 rows and returns"),
    "no total": (without("total"), NO_PAGE),
    "a total that falls in mid read": (
        total(lambda _, asked: 294 if asked.number >= 3 else 350),
        "counts 294 rows and returns 59 from offset 291",
    ),
    "a total and a page that are short once": (lies.cut_total, WHOLE),
    "a total that falls when it is looked at again": (lies.hidden, "contain fewer"),
    # what else is said of the page
    "another offset in the answer": (pagination(offset=7), "those from 0 were requested"),
    "a limit that is not kept to": (cap(50), WHOLE),
    "a limit and an offset that are ignored": (
        lies.everything,
        "counts 350 rows and returns 350 from offset 347",
    ),
    "a hidden cap that is the total": (
        both(cap(50), total(50)),
        "counts 50 rows and returns 50 from offset 47",
    ),
    # the rows
    "the first page again": (lies.repeated, WHOLE),
    "the first page for ever, of a huge list": (
        both(rows(lambda _, asked: asked.honest(0, 100)), total(10**15)),
        "the same 100 of 1000000000000000 rows",
    ),
    "a row twice in a page": (rows(lambda data, _: [*data[:-1], data[0]]), "the same row twice"),
    "a row left out": (
        rows(lambda data, asked: [row for row in data if row["id"] != asked.truth[200]["id"]]),
        "contain fewer|no rows at offset",
    ),
    "an empty page in the middle": (rows(lambda _, __: [], first=3), "no rows at offset"),
    "another order with every request": (lies.shuffled, "contain fewer|changes faster"),
    "rows without end": (lies.endless, "began with 200 rows and does not end"),
    "numbers as ids": (rows(lambda data, _: [row | {"id": 7} for row in data]), NO_ID),
    "a page of another prompt": (
        rows(lambda data, _: [row | {"promptId": "p2"} for row in data]),
        "ignores the filter promptId=p1",
    ),
    # HTTP
    "an error with a success status": (
        lambda page, asked: page if asked.number < 3 else {"error": {"code": "OVERLOADED", "message": "no"}},
        NO_PAGE,
    ),
    "gzip that breaks off": (raw(lies.half_gzip), "not JSON|cannot be unpacked"),
    "the answer to another request": (
        lambda page, asked: page if asked.number < 2 else copy.deepcopy(asked.service.first),
        "has the rows from offset 0",
    ),
    "an answer twice": (lies.answered_twice, WHOLE),
}


@pytest.fixture
def service():
    with LyingService() as running:
        running.fill(350)
        yield running


@pytest.fixture
def lift(service):
    config = configure(service.base_url, KEY)
    client = Client(config, transport=Transport(config, policy=QUICK))
    with Workspace(config, progress=False, client=client) as opened:
        yield opened


def check(read, says, truth, column="conversation_id"):
    """A table that is called complete has every row once; else an exception says what is wrong."""
    if says is WHOLE:
        table = read()
        assert table.attrs["promptlift"]["complete"]
        assert sorted(table[column]) == sorted(truth)
        return
    with pytest.raises((IncompleteError, UnexpectedResponse), match=says) as told:
        read()
    if isinstance(told.value, IncompleteError):
        assert told.value.fetched.attrs["promptlift"]["complete"] is False
        assert told.value.fetched[column].is_unique


@pytest.mark.parametrize("name", PAGES)
def test_no_lie_makes_a_table_of_conversations_complete(service, lift, name):
    service.lie, says = PAGES[name]
    first = {"data": None}
    names = ("id", "promptId", "status", "hasInsights", "createdAt")
    data = [{field: row[field] for field in names} for row in service.rows[:100]]
    service.first = first | {"data": data, "pagination": {"total": 350, "limit": 100, "offset": 0}}
    check(lambda: lift.conversations("p1", status="completed"), says, [row["id"] for row in service.rows])
    assert len(service.seen) < 400


def test_no_lie_makes_a_table_of_prompts_complete(service, lift):
    service.lie, says = PAGES["a row left out"]
    service.prompts = [{"id": f"p{number}", "name": "n", "hasInsights": True} for number in range(350)]
    check(lift.prompts, says, [row["id"] for row in service.prompts], "prompt_id")


def other_id(answer, _path):
    return answer | {name: "c000001" for name in ("id", "conversationId") if name in answer}


def no_id(answer, _path):
    return {name: value for name, value in answer.items() if name not in ("id", "conversationId")}


DETAILS = {
    "the detail of another conversation": (other_id, "does not belong to this conversation"),
    "a detail of nobody": (no_id, "does not belong to this conversation"),
    "a list as the detail": (lambda *_: [], "does not belong to this conversation"),
    "a web page as the detail": (lambda *_: b"<html>", "not JSON"),
}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [*((name, "content") for name in DETAILS), ("the detail of another conversation", "insights")],
)
def test_no_lie_of_a_detail_comes_into_a_table(service, lift, name, wanted):
    del service.rows[20:]
    service.detail, says = DETAILS[name]
    check(lambda: lift.conversations(**{wanted: True}), says, [])


def test_insights_of_another_conversation_in_the_list_are_refused(service, lift):
    other = service.rows[3]
    view = {"conversationId": other["id"], **lies.insights_of(other)}
    service.lie = rows(lambda data, _: [row | {"insights": view} for row in data], first=1)
    check(lambda: lift.conversations(insights=True), "the insights of another conversation", [])
