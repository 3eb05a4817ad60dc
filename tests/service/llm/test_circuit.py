from __future__ import annotations

from promptlift.service.llm.calls import OPTIMIZATION_POLICY
from promptlift.service.llm.retry import Circuit


def down_after(circuit, *events):
    for now, answered in events:
        circuit.record(answered=answered, now=now)
    return circuit.down


def test_it_takes_many_failures_and_a_long_time():
    assert not down_after(Circuit(3, 10), (0, False), (1, False), (2, False))
    assert not down_after(Circuit(3, 10), (0, False), (10, False))
    assert down_after(Circuit(3, 10), (0, False), (1, False), (10, False))


def test_one_answer_starts_anew():
    assert not down_after(
        Circuit(3, 10), (0, False), (1, False), (2, True), (3, False), (12.9, False), (12.95, False)
    )
    assert down_after(Circuit(3, 10), (0, False), (2, True), (3, False), (4, False), (13, False))


def test_down_is_down_for_good():
    assert down_after(Circuit(1, 0), (0, False), (1, True))


def test_an_optimization_s_pauses_outlast_the_circuit():
    """Else conversations would be dropped one after the other before the endpoint counts as down."""
    pauses = [
        OPTIMIZATION_POLICY.pause(n, elapsed=0, chance=0.5) for n in range(1, OPTIMIZATION_POLICY.attempts)
    ]
    assert sum(pauses) >= Circuit().seconds
    assert sum(pauses[:4]) < 3
