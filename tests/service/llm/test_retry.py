"""How long an endpoint is waited for, and when it counts as away, by a clock that is handed in."""

from __future__ import annotations

import pytest

from promptlift.errors import PromptliftError
from promptlift.service.llm.calls import RetryPolicy
from promptlift.service.llm.client import AdaptiveTimeout
from promptlift.service.llm.failures import (
    Availability,
    EndpointDown,
    LlmRefused,
    LlmUnavailable,
    is_hopeless,
)

POLICY = RetryPolicy(attempts=5, budget=100, first=1, longest=6)


def test_attempts_and_budget_end():
    assert POLICY.pause(5, elapsed=0) is None
    assert POLICY.pause(1, elapsed=99.0, chance=1) == 1
    assert POLICY.pause(1, elapsed=99.1, chance=1) is None


def test_the_endpoint_s_wish_is_kept_within_the_budget():
    assert POLICY.pause(1, elapsed=0, retry_after=20) == 20
    assert POLICY.pause(4, elapsed=0, retry_after=0.5, chance=1) == 6
    assert POLICY.pause(1, elapsed=0, retry_after=3600) is None


def known(*seconds):
    timeout = AdaptiveTimeout(120, shortest=20, times=6)
    for one in seconds:
        timeout.record("agent", one)
    return timeout


def test_an_endpoint_gets_some_times_what_it_needs_and_all_the_time_while_that_is_unknown():
    assert known(*[0.1] * 7).seconds("agent") == 120
    assert known(*[0.1] * 8).seconds("agent") == 20
    assert known(*[0.1] * 7, 10).seconds("agent") == 60
    assert known(*[100] * 8).seconds("agent") == 120
    assert known(100, *[0.1] * 32).seconds("agent") == 20  # old answers are forgotten
    assert known(*[0.1] * 8).seconds("judge") == 120


def test_every_time_out_doubles_up_to_the_limit():
    timeout = known(*[0.1] * 8)
    assert [timeout.seconds("agent", timeouts=n) for n in (0, 1, 2, 3, 999)] == [20, 40, 80, 120, 120]
    assert AdaptiveTimeout(0.5).seconds("agent", timeouts=5) == 0.5


def test_it_is_away_for_as_long_as_somebody_asked():
    now = 0.0
    model = Availability(after=3, clock=lambda: now)
    model.record("503")
    now = 10.0
    model.record("503")
    assert not model.away_for(0)
    model.record("timeout")
    assert (model.why, model.away_for(10)) == ("timeout", True)
    assert not model.away_for(10.1)
    assert model.away_for(4, asked_since=6)
    assert not model.away_for(5, asked_since=6)


@pytest.mark.parametrize(
    ("error", "hopeless"),
    [
        (EndpointDown(60), True),
        (LlmRefused("wrong key", status=401), True),
        (LlmRefused("too long", status=400), False),
        (LlmUnavailable("busy"), False),
    ],
)
def test_what_no_other_call_would_fare_better_at_ends_everything(error, hopeless):
    wrapped = PromptliftError("not judged")
    wrapped.__cause__ = error
    assert is_hopeless(error) is is_hopeless(wrapped) is hopeless
    assert (Availability().gone(error) is not None) is hopeless
    assert str(Availability(after=1).gone(error)) == str(error)
