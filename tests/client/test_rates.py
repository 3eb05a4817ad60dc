from __future__ import annotations

import pytest

from promptlift.client.rates import Care, learned_rate, left_in_a_bucket


@pytest.mark.parametrize(
    ("sent", "allowed"), [(200, None), (283, None), (284, 3), (296, 3), (297, 2), (305, 2)]
)
def test_near_the_end_of_a_plans_minute_few_are_in_flight(sent, allowed):
    # Those few are refused together, and one more may have to find out that it is a minute.
    assert Care().in_flight(sent, 10.0, 10.5) == allowed


def test_between_the_minute_and_the_bucket_nothing_is_held_up():
    care = Care()
    # After 12 seconds a bucket of 300 has let 360 through.
    assert [care.in_flight(sent, 0.0, 12.0) for sent in (300, 330, 350, 360, 366)] == [2, None, 3, 2, None]
    assert care.in_flight(300, 0.0, 12.0) is None  # it was exceeded: that rate does not hold


def test_the_care_ends_where_it_lasts_too_long():
    care = Care()
    assert care.in_flight(290, 0.0, 1.0) == 3
    assert care.in_flight(299, 0.0, 3.9) == 2
    assert care.in_flight(300, 0.0, 4.1) is None


def test_what_is_left_in_a_bucket_by_hand():
    assert left_in_a_bucket(60, [], 5.0) == 60
    assert left_in_a_bucket(60, [0.0], 0.0) == 59
    # Full before the second; then a second brings one.
    assert left_in_a_bucket(60, [0.0, 10.0, 10.0, 10.0], 11.0) == 58
    assert left_in_a_bucket(60, [0.0] * 70, 5.0) == -5


def test_300_at_once_are_a_minute_or_a_bucket_and_308_in_less_than_two_seconds_a_bucket():
    def learned(count, elapsed, retry_after=None):
        times = [elapsed * number / count for number in range(count)]
        return learned_rate(
            times, elapsed, count=count, elapsed=elapsed, retry_after=retry_after, unanswered=0
        )

    assert learned(300, 0.1) == (300, True)  # one request tries it
    assert learned(308, 1.65) == (300, True)
    assert learned(300, 5.0) == (300, False)
    assert learned(310, 2.0) == (300, True)
    assert learned(300, 5.0, retry_after=55.0) == (300, False)
    assert learned(600, 60.0) == (300, True)
    assert learned(300, 60.0, retry_after=1.0) == (300, False)
