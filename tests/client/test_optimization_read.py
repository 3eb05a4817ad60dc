"""The list of optimizations is read wholly, or what cannot be proven is said."""

from __future__ import annotations

import pytest

from promptlift.client import Client, configure
from promptlift.client.reads.optimizations import read_optimizations, read_variants
from promptlift.client.transport import Task
from promptlift.errors import IncompleteError
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


def ids(rows):
    return [row["id"] for row in rows]


@pytest.mark.parametrize(
    ("most", "count"), [(10, 38), (37, 37), (None, 9), (None, 15), (None, 99), (None, 260)]
)
def test_all_rows_are_there_or_it_is_said_that_they_may_not_be(service, transport, most, count):
    service.most, service.lists_results = most, True
    service.add(count)
    found = read_optimizations(transport)
    assert ids(found.rows) == ids(service.optimizations)[: min(count, most or 100)]
    if count in (9, 37, 99):
        assert (found.complete, found.requests, found.facts) == (True, 1, {"total": None})
    else:
        assert not found.complete
        assert f"more than these {len(found.rows)}" in found.facts["completeness"]


def test_filters_are_sent_and_kept_to(service, transport):
    service.add(4, promptId="p1")
    service.add(3, promptId="p2")
    found = read_optimizations(transport, prompt_id="p2", status="completed", results=False)
    assert len(found.rows) == 3
    assert service.seen[0][2] == {"promptId": "p2", "status": "completed", "limit": "100", "offset": "0"}


def test_one_that_is_deleted_meanwhile_is_left_out_and_counted(service, transport):
    service.add(5)

    def delete(_method, path, _count):
        if path == "/optimizations/o00003":
            service.optimizations = [row for row in service.optimizations if row["id"] != "o00003"]

    service.before = delete
    found = read_optimizations(transport)
    assert (len(found.rows), found.dropped, found.complete) == (4, 1, True)


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
