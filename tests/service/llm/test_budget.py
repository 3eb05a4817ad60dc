from __future__ import annotations

import pytest

from promptlift.service.llm.calls import Budget


def granted(turns):
    return [turn.done() and not turn.cancelled() for turn in turns]


def test_places_are_taken_until_none_is_left():
    budget = Budget(2)
    first, second, turn = budget.ask("a"), budget.ask("b"), budget.ask("a")
    assert granted([first, second, turn]) == [True, True, False]
    budget.leave(first)
    turn.result(10)
    assert granted([turn]) == [True]


def test_a_job_with_many_calls_does_not_hold_up_another():
    budget = Budget(1)
    under_way = [budget.ask("busy")]
    many = [budget.ask("busy") for _ in range(5)]
    few = [budget.ask("small") for _ in range(2)]
    order = []
    for _ in range(7):
        before = granted(many), granted(few)
        budget.leave(under_way.pop())
        order.append("busy" if granted(many) != before[0] else "small")
        turns = (many, before[0]) if order[-1] == "busy" else (few, before[1])
        under_way += [turn for turn, had in zip(*turns, strict=True) if turn.done() and not had]
        assert len(under_way) == 1
    assert order == ["busy", "small", "busy", "small", "busy", "busy", "busy"]
    assert granted(many) == [True] * 5


def test_within_a_job_first_come_is_first_served():
    budget = Budget(1)
    first = budget.ask("a")
    turns = [budget.ask("a") for _ in range(3)]
    budget.leave(first)
    assert granted(turns) == [True, False, False]


def test_a_turn_that_stops_waiting_gets_no_place_and_takes_none():
    budget = Budget(1)
    first = budget.ask("a")
    gone, cancelled, stays = budget.ask("b"), budget.ask("b"), budget.ask("c")
    budget.leave(gone)
    cancelled.cancel()
    budget.leave(cancelled)
    budget.leave(first)
    stays.result(10)
    assert granted([gone, cancelled, stays]) == [False, False, True]
    budget.leave(stays)
    last = budget.ask("d")
    assert granted([last]) == [True]
    budget.leave(last)
    assert granted([budget.ask("e")]) == [True]


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        Budget(0)
    assert repr(Budget(3)) == "Budget(at_a_time=3)"
