from __future__ import annotations

from promptlift.service.llm.client import AdaptiveTimeout


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
