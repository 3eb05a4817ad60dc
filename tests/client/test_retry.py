from __future__ import annotations

import pytest

from promptlift.client.retry import Attempt, RetryPolicy
from promptlift.errors import (
    ConnectionFailed,
    RateLimited,
)

POLICY = RetryPolicy()


def attempt(number=1, elapsed=0.0, *, repeatable=True, reached=True):
    return Attempt(number, elapsed, repeatable, reached)


def test_pauses_grow_to_a_ceiling_and_end():
    pauses, elapsed, number = [], 0.0, 0
    while True:
        number += 1
        pause = POLICY.pause(ConnectionFailed("x"), attempt(number, elapsed))
        if pause is None:
            break
        pauses.append(pause)
        elapsed += pause
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.5
    assert max(pauses) <= POLICY.longest_pause
    assert 15 < elapsed <= POLICY.timeout


def test_a_service_that_never_answered_is_given_up_soon():
    assert POLICY.pause(ConnectionFailed("x"), attempt(4, 1.4, reached=False)) is None
    assert POLICY.pause(ConnectionFailed("x"), attempt(4, 1.4, reached=True)) is not None


def test_retry_after_is_obeyed_unless_it_is_very_long():
    assert POLICY.pause(RateLimited("x", retry_after=17), attempt()) == 17
    assert POLICY.pause(RateLimited("x", retry_after=3600), attempt()) is None


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_jitter_spreads_a_pause_over_half_to_all_of_its_length(jitter):
    pause = POLICY.pause(ConnectionFailed("x"), attempt(), jitter=jitter)
    assert 0.5 * POLICY.first_pause <= pause <= POLICY.first_pause
