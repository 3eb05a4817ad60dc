from __future__ import annotations

from promptlift.service.llm.endpoint import AdaptiveTimeout


def known(*seconds, purpose="agent"):
    timeout = AdaptiveTimeout(120, shortest=20, times=6)
    for one in seconds:
        timeout.record(purpose, one)
    return timeout


def test_an_unknown_endpoint_gets_all_the_time():
    assert AdaptiveTimeout(120).seconds("agent") == 120
    assert known(*[0.1] * 7).seconds("agent") == 120


def test_a_fast_endpoint_that_hangs_is_given_up_sooner():
    assert known(*[0.1] * 8).seconds("agent") == 20
    assert known(*[0.1] * 7, 10).seconds("agent") == 60


def test_purposes_do_not_mix():
    assert known(*[0.1] * 8).seconds("judge") == 120


def test_every_time_out_doubles_up_to_the_limit():
    timeout = known(*[0.1] * 8)
    assert [timeout.seconds("agent", timeouts=n) for n in (0, 1, 2, 3, 4, 999)] == [
        20,
        40,
        80,
        120,
        120,
        120,
    ]


def test_a_slow_endpoint_keeps_the_limit():
    assert known(*[100] * 8).seconds("agent") == 120


def test_old_answers_are_forgotten():
    assert known(100, *[0.1] * 32).seconds("agent") == 20


def test_a_short_limit_holds():
    assert AdaptiveTimeout(0.5).seconds("agent", timeouts=5) == 0.5
