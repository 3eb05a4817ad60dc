from __future__ import annotations

from promptlift.service.llm.calls import RetryPolicy

POLICY = RetryPolicy(attempts=5, budget=100, first=1, longest=6)


def test_attempts_and_budget_end():
    assert POLICY.pause(5, elapsed=0) is None
    assert POLICY.pause(1, elapsed=99.0, chance=1) == 1
    assert POLICY.pause(1, elapsed=99.1, chance=1) is None


def test_the_endpoint_s_wish_is_kept_within_the_budget():
    assert POLICY.pause(1, elapsed=0, retry_after=20) == 20
    assert POLICY.pause(4, elapsed=0, retry_after=0.5, chance=1) == 6
    assert POLICY.pause(1, elapsed=0, retry_after=3600) is None
