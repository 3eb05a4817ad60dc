from __future__ import annotations

import pytest

from promptlift.service.llm.budget import Budget


def granted(turns):
    return [turn.granted for turn in turns]


def test_places_are_taken_until_none_is_left():
    budget = Budget(2)
    assert budget.ask("a") is None
    assert budget.ask("b") is None
    turn = budget.ask("a")
    assert turn is not None
    budget.free()
    turn.wait()
    assert turn.granted


def test_a_job_with_many_calls_does_not_hold_up_another():
    budget = Budget(1)
    budget.ask("busy")
    many = [budget.ask("busy") for _ in range(5)]
    few = [budget.ask("small") for _ in range(2)]
    order = []
    for _ in range(7):
        before = granted(many), granted(few)
        budget.free()
        order.append("busy" if granted(many) != before[0] else "small")
    assert order == ["busy", "small", "busy", "small", "busy", "busy", "busy"]
    assert granted(many) == [True] * 5


def test_within_a_job_first_come_is_first_served():
    budget = Budget(1)
    budget.ask("a")
    turns = [budget.ask("a") for _ in range(3)]
    budget.free()
    assert granted(turns) == [True, False, False]


def test_who_withdraws_gets_no_place_and_takes_none():
    budget = Budget(1)
    budget.ask("a")
    gone, stays = budget.ask("b"), budget.ask("c")
    budget.withdraw("b")
    gone.wait()
    assert not gone.granted
    budget.free()
    stays.wait()
    assert stays.granted
    budget.free()
    assert budget.ask("d") is None
    budget.withdraw("d")


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        Budget(0)
    assert repr(Budget(3)) == "Budget(at_a_time=3)"
