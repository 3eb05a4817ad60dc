"""Judgements of the built-in analyser give way to conversations that come in, and are never put off for good."""

from __future__ import annotations

import pytest

from promptlift.service.insights import worker
from promptlift.service.insights.worker import InsightJobs


@pytest.fixture
def jobs() -> InsightJobs:
    return InsightJobs(None, None, worker="one", at_a_time=1)  # type: ignore[arg-type]


def test_they_wait_until_no_more_conversations_come_in(jobs, monkeypatch):
    monkeypatch.setattr(worker, "GIVE_WAY_SECONDS", 1e6)
    looks = iter([True, True, True, False])
    jobs.is_busy = lambda: next(looks)
    jobs._give_way()
    assert next(looks, None) is None


def test_a_log_that_never_ends_does_not_put_them_off_for_good(jobs, monkeypatch):
    monkeypatch.setattr(worker, "GIVE_WAY_SECONDS", 0.05)
    looks = []
    jobs.is_busy = lambda: looks.append(1) or True
    jobs._give_way()
    assert looks


def test_a_service_that_ends_does_not_wait(jobs, monkeypatch):
    monkeypatch.setattr(worker, "GIVE_WAY_SECONDS", 1e6)
    jobs.is_busy = lambda: True
    jobs._ending.set()
    jobs._give_way()
    assert jobs.is_busy()
