from __future__ import annotations

import pytest

from promptlift.service.llm.calls import RetryPolicy
from promptlift.service.llm.endpoint import RETRIED_STATUSES

POLICY = RetryPolicy(attempts=5, budget=100, first=1, longest=6)


def test_pauses_double_up_to_the_longest():
    assert [POLICY.pause(n, elapsed=0, chance=1) for n in (1, 2, 3, 4)] == [1, 2, 4, 6]


def test_chance_spreads_a_pause_over_half_to_all_of_it():
    assert POLICY.pause(2, elapsed=0, chance=0) == 1
    assert POLICY.pause(2, elapsed=0, chance=1) == 2


def test_the_attempts_end():
    assert POLICY.pause(5, elapsed=0) is None


def test_the_budget_ends():
    assert POLICY.pause(1, elapsed=99.0, chance=1) == 1
    assert POLICY.pause(1, elapsed=99.1, chance=1) is None


def test_the_endpoint_s_wish_is_kept():
    assert POLICY.pause(1, elapsed=0, retry_after=20) == 20
    assert POLICY.pause(4, elapsed=0, retry_after=0.5, chance=1) == 6


def test_a_wish_beyond_the_budget_ends_it_at_once():
    assert POLICY.pause(1, elapsed=0, retry_after=3600) is None


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_repeated(status):
    assert status in RETRIED_STATUSES


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 413, 422])
def test_what_will_not_change_is_not_repeated(status):
    assert status not in RETRIED_STATUSES
