"""The list of optimizations is read wholly, or what cannot be proven is said."""

from __future__ import annotations

import pytest

from promptlift.client import Client, configure
from promptlift.client.reads.optimizations import OptimizationRead, read_variants
from promptlift.client.transport import Task
from promptlift.errors import IncompleteError, NotFound, UnexpectedResponse, ValidationError
from support.foreign_optimizations import OptimizationService
from support.foreign_service import KEY

pytestmark = pytest.mark.slow


@pytest.fixture
def service():
    with OptimizationService() as running:
        yield running


@pytest.fixture
def transport(service):
    with Client(configure(service.base_url, KEY)) as client:
        yield client.transport


def read(transport, **filters):
    return OptimizationRead(transport, **filters).run()


def ids(rows):
    return [row["id"] for row in rows]


def test_fewer_than_the_default_limit_are_known_to_be_all(service, transport):
    service.add(9, status="running")
    found = read(transport)
    assert ids(found.rows) == ids(service.optimizations)
    assert (found.complete, found.requests, found.facts) == (True, 1, {"total": None})


def test_pages_are_read_where_the_service_has_them(service, transport):
    service.pages, service.lists_results, service.most = True, True, 100
    service.add(100)
    found = read(transport)
    # The only page is full, so it takes another to know that it is the last.
    assert (len(found.rows), found.total, found.complete, found.requests) == (100, 100, True, 2)
    service.add(150)
    found = read(transport)
    assert ids(found.rows) == ids(service.optimizations)
    assert (found.total, found.complete, found.requests) == (250, True, 3)


def spread(service, count):
    """Optimizations of several prompts in several states; one prompt has most of them."""
    states = ("completed", "completed", "completed", "failed", "stopped", "running", "queued")
    for number in range(count):
        prompt = service.prompt_ids[0] if number % 3 else service.prompt_ids[number % len(service.prompt_ids)]
        service.add(1, promptId=prompt, status=states[number % len(states)])


@pytest.mark.parametrize(
    ("most", "count"), [(10, 38), (37, 37), (37, 101), (None, 10), (None, 99), (None, 260)]
)
def test_all_rows_are_there_or_it_is_said_that_they_may_not_be(service, transport, most, count):
    service.most, service.prompt_ids = most, tuple(f"p{n}" for n in range(1, 12))
    spread(service, count)
    found = OptimizationRead(transport, results=False).run()
    assert len(set(ids(found.rows))) == len(found.rows)
    if found.complete:
        assert sorted(ids(found.rows)) == sorted(ids(service.optimizations))
        assert "completeness" not in found.facts
    else:
        assert f"more than these {len(found.rows)}" in found.facts["completeness"]
    if most is None and count < 100:
        assert found.complete
    created = [row["createdAt"] for row in found.rows]
    assert created == sorted(created, reverse=True)


def test_filters_are_sent_and_kept_to(service, transport):
    service.add(4, promptId="p1")
    service.add(3, promptId="p2")
    found = OptimizationRead(transport, prompt_id="p2", status="completed", results=False).run()
    assert len(found.rows) == 3
    assert service.seen[0][2] == {"promptId": "p2", "status": "completed", "limit": "100", "offset": "0"}


def test_one_prompt_is_proven_whole_by_a_longer_answer(service, transport):
    service.add(12, promptId="p1")
    service.add(9, promptId="p2")
    found = OptimizationRead(transport, prompt_id="p1", status="completed", results=False).run()
    assert (len(found.rows), found.complete, found.requests) == (12, True, 2)


def test_what_nothing_can_prove_is_said(service, transport):
    service.add(12, promptId="p1")
    found = OptimizationRead(transport, prompt_id="p1", status="completed", results=False).run()
    assert (len(found.rows), found.complete) == (12, False)
    assert "status completed, one prompt" in found.facts["completeness"]


def test_one_that_moves_on_between_two_requests_is_not_lost(service, transport):
    service.add(30)
    service.add(1, status="running")

    def move_on(_method, path, _count):
        if path == "/optimizations" and service.seen[-1][2].get("status") == "completed":
            service.optimizations[0]["status"] = "completed"
            service.optimizations[0]["results"] = {}

    service.before = move_on
    found = read(transport)
    assert len(found.rows) == 31
    assert found.rows[0]["status"] == "completed"


def test_only_completed_rows_without_results_are_asked_for(service, transport):
    service.add(3)
    service.add(1, status="running")
    service.add(1, status="failed")
    found = read(transport)
    asked = sorted(path for _, path, _ in service.seen if path != "/optimizations")
    assert asked == ["/optimizations/o00001", "/optimizations/o00002", "/optimizations/o00003"]
    assert [row.get("results") for row in found.rows if row["status"] == "completed"] == [
        service.optimizations[-1]["results"]
    ] * 3
    assert found.requests == 4


def test_results_in_the_list_cost_no_request(service, transport):
    service.lists_results = True
    service.add(5)
    assert read(transport).requests == 1


def test_one_that_is_deleted_meanwhile_is_left_out_and_counted(service, transport):
    service.add(5)

    def delete(_method, path, _count):
        if path == "/optimizations/o00003":
            service.optimizations = [row for row in service.optimizations if row["id"] != "o00003"]

    service.before = delete
    found = read(transport)
    assert (len(found.rows), found.dropped, found.complete) == (4, 1, True)


def test_a_read_that_ends_early_carries_what_was_read(service, transport):
    service.add(30)
    service.fault = lambda _m, path, count: (
        (lambda handler: service.error(handler, 403, "INVALID_API_KEY", "revoked"))
        if count >= 4 and path == "/optimizations"
        else None
    )
    with pytest.raises(IncompleteError, match=r"Read 30 optimizations.*\.fetched") as failed:
        read(transport)
    assert (len(failed.value.fetched.rows), failed.value.fetched.complete) == (30, False)


def test_missing_results_end_the_read_with_what_was_read(service, transport):
    service.add(5)
    service.fault = lambda _m, path, _c: (
        (lambda handler: service.error(handler, 400, "VALIDATION_ERROR", "no"))
        if path.startswith("/optimizations/")
        else None
    )
    with pytest.raises(IncompleteError, match="not the results of all") as failed:
        read(transport)
    assert len(failed.value.fetched.rows) == 5


@pytest.mark.parametrize("answer", [[], {}, {"data": None}, {"data": [1]}, {"data": [{"status": "x"}]}])
def test_an_answer_that_is_no_list_is_said(service, transport, answer):
    service.fault = lambda *_: lambda handler: service.send(handler, 200, answer)
    with pytest.raises(UnexpectedResponse):
        read(transport)


def test_a_refusal_of_the_filter_itself_is_told(service, transport):
    service.fault = lambda *_: (
        lambda handler: service.error(handler, 400, "VALIDATION_ERROR", "no such prompt")
    )
    with pytest.raises(ValidationError, match="no such prompt"):
        read(transport, prompt_id="p9")


def test_variants_of_named_optimizations_are_read_with_their_optimization(service, transport):
    service.add(2)
    found = read_variants(transport, ["o00001", "o00002"], task=Task())
    assert [item["optimization"]["id"] for item in found.rows] == ["o00001", "o00002"]
    assert [len(item["variants"]) for item in found.rows] == [3, 3]
    assert (found.complete, found.requests) == (True, 4)


def test_an_optimization_that_is_not_there_is_an_error_when_it_was_named(service, transport):
    with pytest.raises(NotFound, match="Optimization"):
        read_variants(transport, ["o00009"], task=Task())


def test_variants_of_many_that_end_early_carry_those_that_were_read(service, transport):
    service.add(5)
    rows = list(service.optimizations)
    service.fault = lambda _m, path, _c: (
        (lambda handler: service.error(handler, 400, "VALIDATION_ERROR", "no")) if "o00001" in path else None
    )
    task = Task()
    with pytest.raises(IncompleteError, match=r"of 5 optimizations.*\.fetched") as failed:
        read_variants(transport, rows[:2] + rows[2:], task=task)
    assert "o00001" not in {item["id"] for item in failed.value.fetched.rows}
