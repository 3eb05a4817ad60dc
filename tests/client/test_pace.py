from __future__ import annotations

import itertools
import random

import pytest

from promptlift.client.pace import WINDOW_SECONDS, Pace
from support.limiters import LIMITERS, FixedMinutes, send


def run(pace, requests, serve, *, start=0.0, step=0.001):
    """Send so many requests, one after the other, and give the time at the end and the 429s earned."""
    now, refused = start, 0
    for _ in range(requests):
        while True:
            wait = pace.ask(now)
            if wait > 0:
                now += wait
                continue
            now += step
            answer = serve(now)
            if answer is True:
                pace.answered(now)
                break
            refused += 1
            pace.refused(now, answer if answer is not False else None)
    return now - start, refused


def fixed_window(limit, *, aligned=0.0, retry_after=False):
    counts: dict[int, int] = {}

    def serve(now):
        window = int((now + aligned) // 60)
        counts[window] = counts.get(window, 0) + 1
        if counts[window] <= limit:
            return True
        return (window + 1) * 60 - aligned - now if retry_after else False

    return serve


def moving_window(limit):
    sent: list[float] = []

    def serve(now):
        sent[:] = [moment for moment in sent if moment > now - 60]
        if len(sent) >= limit:
            return False
        sent.append(now)
        return True

    return serve


def bucket(limit):
    state = {"tokens": float(limit), "at": 0.0}

    def serve(now):
        state["tokens"] = min(limit, state["tokens"] + (now - state["at"]) * limit / 60)
        state["at"] = now
        if state["tokens"] < 1:
            return False
        state["tokens"] -= 1
        return True

    return serve


@pytest.mark.parametrize("kind", [fixed_window, moving_window, bucket])
@pytest.mark.parametrize("limit", [60, 300])
def test_a_known_rate_earns_no_429_but_that_of_the_probe(kind, limit):
    seconds, refused = run(Pace(limit), 4 * limit, kind(limit))
    assert refused == (0 if kind is bucket else 1)
    assert seconds <= 3 * 60 * 1.02


@pytest.mark.parametrize("retry_after", [True, False])
@pytest.mark.parametrize("aligned", [0.0, 17.0, 43.5])
def test_windows_that_began_before_are_kept_too(aligned, retry_after):
    _, refused = run(Pace(60), 300, fixed_window(60, aligned=aligned, retry_after=retry_after))
    assert refused == 1


@pytest.mark.parametrize("retry_after", [True, False])
def test_a_minute_that_ends_during_the_burst_is_not_taken_for_a_bucket_for_long(retry_after):
    # The second minute, with 180 of its 300 used, lets the probe through.
    pace = Pace(300)
    _, refused = run(pace, 2000, fixed_window(300, aligned=59.88, retry_after=retry_after))
    assert refused == 1
    assert pace.per_minute == 300
    assert pace._even_from is None


def test_a_bucket_that_others_use_too_is_used_with_less():
    pace, fills, counted = Pace(300), bucket(300), itertools.count()

    def serve(now):
        if now > 20 and next(counted) % 5 == 0:
            fills(now)  # somebody else
        return fills(now) or 0.2

    _, refused = run(pace, 1500, serve)
    assert pace._even_from is not None
    assert 200 < pace.per_minute < 300
    assert refused < 30


@pytest.mark.parametrize("told", [{"limit": 300}, {"remaining": 5, "reset": 60.0}])
def test_who_is_told_what_is_left_need_not_probe(told):
    serve = fixed_window(300)
    pace = Pace(300)
    pace.ask(0.0)
    pace.answered(0.0, **told)
    assert run(pace, 700, serve)[1] == 0


def test_what_was_sent_slowly_is_not_followed_by_a_probe():
    pace, now = Pace(300), 0.0
    for _ in range(300):
        assert pace.ask(now) == 0
        pace.answered(now)
        now += 0.15
    assert pace.ask(now) == pytest.approx(WINDOW_SECONDS - now)


@pytest.mark.parametrize("delay", [0.0, 3.0])
def test_what_flows_into_a_full_bucket_is_not_counted_on(delay):
    # Pages, read one after the other, leave the bucket full; the last of them is on its way for a while. Then comes the burst.
    pace, fills, now = Pace(300), bucket(300), 0.0
    for number in range(20):
        assert pace.ask(now) == 0
        now += 0.25 if number < 19 else 0.25 + delay
        assert fills(now)
        pace.answered(now)
    for _ in range(280):
        assert pace.ask(now) == 0
        now += 0.002
        assert fills(now)
        pace.answered(now)
    began = now
    for _ in range(100):
        while (wait := pace.ask(now)) > 0:
            now += wait
        assert fills(now)
        pace.answered(now)
    assert now - began <= 100 * 0.2 * 1.05


def test_the_probe_goes_alone():
    pace = Pace(60)
    for _ in range(60):
        assert pace.ask(0.0) == 0
    for _ in range(59):
        pace.answered(1.0)
    assert 0 < pace.ask(5.0) <= 2
    pace.answered(5.0)
    assert pace.ask(5.0) == 0
    assert pace.ask(5.0) > 0
    pace.answered(5.2)
    # What flowed in since the first was answered is used at once.
    assert [pace.ask(5.2) for _ in range(2)] == [0, 0]
    assert pace.ask(5.2) > 0


def test_404_requests_at_300_a_minute_with_bare_429s_take_hardly_longer_than_they_must():
    # The limit: 300 at once, the other 104 when the window is over.
    seconds, refused = run(Pace(), 404, fixed_window(300))
    assert seconds <= 60.3 * 1.05
    assert refused == 1


def test_a_rate_that_was_learned_is_kept_from_then_on():
    pace = Pace()
    _, refused = run(pace, 1500, fixed_window(300))
    assert refused == 1
    assert pace.per_minute == 300


def test_retry_after_is_waited_for():
    pace = Pace()
    assert pace.ask(0.0) == 0
    pace.refused(1.0, 7.0)
    assert 7.0 <= pace.ask(1.0) <= 7.2
    assert pace.ask(8.2) == 0


def test_several_429s_of_one_burst_are_one_wait():
    pace = Pace()
    for _ in range(8):
        assert pace.ask(0.0) == 0
    for _ in range(8):
        pace.refused(0.5)
    assert pace.ask(0.5) <= WINDOW_SECONDS
    assert pace.per_minute is None  # too few went well before: somebody else uses the key


def test_headers_set_the_rate_and_announce_the_end_of_the_window():
    pace = Pace()
    assert pace.ask(0.0) == 0
    pace.answered(0.1, limit=60, remaining=59, reset=59.0)
    assert (pace.per_minute, pace.known) == (60, True)
    assert pace.ask(0.2) == 0
    # Somebody else used the rest.
    pace.answered(0.3, limit=60, remaining=0, reset=20.0)
    assert 20.0 <= pace.ask(0.3) <= 20.5


def test_a_reset_since_1970_is_understood():
    pace = Pace()
    pace.ask(0.0)
    pace.answered(0.1, limit=60, remaining=0, reset=1_800_000_030.0, wall_now=1_800_000_000.0)
    assert 30 <= pace.ask(0.1) <= 30.5


def test_a_nonsense_reset_holds_for_minutes_and_no_longer():
    pace = Pace()
    pace.ask(0.0)
    pace.answered(0.1, limit=60, remaining=0, reset=999_999.0)
    assert pace.ask(0.1) <= 121


def test_headers_go_before_the_plan():
    pace = Pace()
    pace.ask(0.0)
    pace.answered(0.1, limit=1000)
    pace.plan_allows(60)
    assert pace.per_minute == 1000


def test_nothing_limited_means_no_wait():
    pace = Pace()
    pace.plan_allows(None)
    assert run(pace, 5000, lambda _now: True)[1] == 0
    assert pace.minutes(10_000, 6.0) == 0


@pytest.mark.parametrize(("requests", "minutes"), [(60, 0), (61, 1), (104, 1), (600, 9)])
def test_the_minutes_of_a_plan_are_told_before(requests, minutes):
    assert Pace(60).minutes(requests, 0.0) == pytest.approx(minutes * WINDOW_SECONDS / 60)


@pytest.mark.parametrize("seed", range(20))
def test_no_minute_ever_holds_more_than_the_rate(seed):
    chance = random.Random(seed)
    pace, now, sent = Pace(30), 0.0, []
    for _ in range(200):
        now += chance.choice([0.0, 0.01, 1.0, 7.0])
        while (wait := pace.ask(now)) > 0:
            now += wait
        sent.append(now)
        pace.answered(now)
    for start in sent:
        assert sum(1 for moment in sent if start <= moment < start + 60) <= 30


def least(limiter, requests, each):
    """Return the least time, also of a network that carries one request after ``each`` seconds."""
    last = (requests - 1) % limiter.limit + 1 if isinstance(limiter, FixedMinutes) else 0
    return max(limiter.least(requests) + last * each, requests * each)


@pytest.mark.parametrize("senders", [1, 4, 16])
@pytest.mark.parametrize("seconds", [0.005, 0.03, 0.2])
@pytest.mark.parametrize("tells", [True, False], ids=["Retry-After", "bare"])
@pytest.mark.parametrize("kind", LIMITERS)
@pytest.mark.parametrize("requests", [320, 1000, 2500])
def test_an_untold_rate_is_found_out_and_used_up(kind, tells, seconds, senders, requests):
    limiter = LIMITERS[kind](tells=tells)
    took = send(Pace(), limiter, requests, senders=senders, seconds=seconds)
    assert limiter.refused <= 3
    # And some seconds in which few are in flight, to find it out.
    assert took <= 1.05 * least(limiter, requests, seconds / senders) + 4


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("tells", [True, False], ids=["Retry-After", "bare"])
@pytest.mark.parametrize("kind", LIMITERS)
@pytest.mark.parametrize("limit", [60, 300])
def test_an_untold_rate_of_a_plan_is_found_out_at_any_speed(kind, tells, limit, seed):
    chance = random.Random(seed)
    limiter = LIMITERS[kind](limit, tells)
    senders, seconds = chance.choice([1, 2, 4, 8, 16]), chance.uniform(0.003, 0.2)
    requests = int(limit * chance.uniform(1.05, 4))
    took = send(Pace(), limiter, requests, senders=senders, seconds=seconds)
    assert limiter.refused <= 3
    assert took <= 1.05 * least(limiter, requests, seconds / senders) + 4


@pytest.mark.parametrize("senders", [1, 4, 16])
@pytest.mark.parametrize("seconds", [0.005, 0.03])
@pytest.mark.parametrize("tells", [True, False], ids=["Retry-After", "bare"])
@pytest.mark.parametrize("kind", LIMITERS)
@pytest.mark.parametrize("requests", [320, 450, 600, 700, 1000, 2400])
def test_how_a_told_rate_is_counted_is_found_out_and_used_up(kind, tells, seconds, senders, requests):
    limiter = LIMITERS[kind](tells=tells)
    took = send(Pace(300), limiter, requests, senders=senders, seconds=seconds)
    assert limiter.refused == (0 if kind == "token bucket" else 1)
    assert took <= 1.05 * least(limiter, requests, seconds / senders) + 0.3


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("tells", [True, False], ids=["Retry-After", "bare"])
def test_the_probe_costs_no_time_whenever_the_minute_began(seed, tells):
    chance = random.Random(seed)
    limiter = FixedMinutes(tells=tells, left=chance.uniform(0.1, 60))
    requests, senders = chance.choice([301, 404, 900, 1500]), chance.choice([1, 4, 16])
    took = send(Pace(300), limiter, requests, senders=senders)
    assert limiter.refused <= 3
    assert took <= WINDOW_SECONDS * ((requests - 1) // 300) + ((requests - 1) % 300 + 1) * 0.03 / senders + 1


@pytest.mark.parametrize("told", [None, 300])
@pytest.mark.parametrize("slow", [1, 7, 20, 60])
@pytest.mark.parametrize("fast", [300, 430, 600])
def test_what_a_slow_start_leaves_in_a_bucket_is_known(told, slow, fast):
    # Pages, read one after the other, and then the burst; no refusal says more than that it is one.
    pace, fills = Pace(told), bucket(300)
    start, _ = run(pace, slow, fills, step=0.25)
    took, refused = run(pace, fast, fills, start=start, step=0.002)
    assert took <= 1.05 * max(0, fast - 300) / 5 + 2
    assert refused <= (0 if told else 3)


@pytest.mark.parametrize("seconds", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("slow", [2, 7, 20])
@pytest.mark.parametrize("tells", [True, False], ids=["Retry-After", "bare"])
@pytest.mark.parametrize("kind", LIMITERS)
def test_a_slow_start_costs_no_more_than_three_refusals(kind, tells, slow, seconds):
    pace, limiter = Pace(), LIMITERS[kind](tells=tells)
    start = send(pace, limiter, slow, senders=1, seconds=0.25)
    took = send(pace, limiter, 600, seconds=seconds, start=start)
    assert limiter.refused <= 3
    assert took <= 1.05 * least(limiter, 600 + slow, seconds / 16) + start + 2


@pytest.mark.parametrize("left", [3.0, 17.0, 43.5])
def test_a_minute_that_had_begun_before_is_learned_from_retry_after(left):
    limiter = FixedMinutes(left=left)
    took = send(Pace(), limiter, 1500)
    assert limiter.refused <= 3
    # 300 in what is left of the first, and four more minutes.
    assert took <= 1.05 * (left + 3 * 60) + 2


@pytest.mark.parametrize("limit", [60, 100, 300, 1000])
@pytest.mark.parametrize("kind", LIMITERS)
def test_other_rates_are_found_out_too(kind, limit):
    for tells in (True, False):
        limiter = LIMITERS[kind](limit, tells)
        took = send(Pace(), limiter, 3 * limit, senders=4)
        assert limiter.refused <= 6
        assert took <= 1.05 * least(FixedMinutes(limit), 3 * limit, 0.03 / 4) + 2


def test_requests_that_hang_for_minutes_break_nothing():
    pace = Pace()
    for _ in range(16):
        pace.ask(0.0)
    assert pace.ask(100.0) == 0
    for number in range(30):
        pace.answered(100.0 + number)
    pace.refused(200.0)
    assert pace.ask(200.0) > 0


def test_a_bucket_that_has_filled_meanwhile_is_used_at_once():
    limiter = LIMITERS["token bucket"]()
    pace = Pace()
    assert send(pace, limiter, 1000) < 150
    refused = limiter.refused
    began = 1000.0
    waits = []
    for _ in range(100):
        waits.append(pace.ask(began))
        assert limiter.allows(began)[0]
        pace.answered(began)
    assert waits == [0.0] * 100
    assert limiter.refused == refused


def test_where_nothing_is_limited_nothing_is_held_up():
    class Free(FixedMinutes):
        def allows(self, _now):
            return True, None

    for seconds in (0.005, 0.03, 0.3, 1.0, 2.0):
        took = send(Pace(), Free(), 4000, seconds=seconds)
        assert took <= 4000 * seconds / 16 * 1.02 + 6
