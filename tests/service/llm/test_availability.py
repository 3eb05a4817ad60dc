from __future__ import annotations

import pytest

from promptlift.errors import PromptliftError
from promptlift.service.llm.calls import OPTIMIZATION_POLICY, PATIENCE_SECONDS
from promptlift.service.llm.failures import (
    Availability,
    EndpointDown,
    LlmBadAnswer,
    LlmRefused,
    LlmUnavailable,
    is_hopeless,
)


@pytest.fixture
def watched():
    """An endpoint that is away after three failures, and its clock."""
    now = [0.0]
    model = Availability(after=3, clock=lambda: now[0])

    def at(moment, problem):
        now[0] = moment
        model.record(problem)

    return model, at


def test_it_is_away_for_as_long_as_somebody_asked(watched):
    model, at = watched
    at(0, "503")
    at(10, "503")
    assert not model.away_for(0)
    at(10, "timeout")
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
        (LlmBadAnswer("nothing"), False),
        (PromptliftError("a defect"), False),
    ],
)
def test_what_no_other_call_would_fare_better_at_ends_everything(error, hopeless):
    assert is_hopeless(error) is hopeless
    wrapped = PromptliftError("not judged")
    wrapped.__cause__ = error
    assert is_hopeless(wrapped) is hopeless
    assert (Availability().gone(error) is not None) is hopeless
    assert str(Availability(after=1).gone(error)) == str(error)


def test_an_optimization_s_pauses_outlast_its_patience():
    """Else conversations would be dropped one after the other before the endpoint counts as down."""
    pauses = [
        OPTIMIZATION_POLICY.pause(n, elapsed=0, chance=0.5) for n in range(1, OPTIMIZATION_POLICY.attempts)
    ]
    assert sum(pauses) >= PATIENCE_SECONDS
    assert sum(pauses[:4]) < 3
