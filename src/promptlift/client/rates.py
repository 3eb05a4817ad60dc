"""What a service lets through says what request rate it keeps, and whether by the minute or with a bucket that fills all the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BURST_SECONDS", "FEW_IN_FLIGHT", "Care", "Learned", "is_soon", "learned_rate", "left_in_a_bucket"]

# A slower burst may end with the minute, and by chance fit a rate that no plan has.
BURST_SECONDS: Final = 30.0
# Requests in flight, at most, where a plan's rate is nearly used up, and where one of them may be the last that is accepted.
FEW_IN_FLIGHT: Final = 3
_FEWEST_IN_FLIGHT: Final = 2
# Rates of the specification's plans.
_LIKELY_RATES: Final = (60, 300)
_LIKELY_NEAR: Final = 16
_LIKELY_OVER: Final = 5
_CAREFUL_SECONDS: Final = 3.0
# Rates are round numbers.
_ROUND: Final = 10
# What may be left in a bucket that refuses: requests do not all travel equally fast.
_LEAST_LEFT: Final = -1.5
_MOST_LEFT: Final = 1.25


class Learned(NamedTuple):
    """A rate that a refusal told.

    Attributes
    ----------
    per_minute
        Requests a minute.
    is_bucket
        Whether it seems to be a bucket that fills all the time, rather than a minute that is used up.
    """

    per_minute: int
    is_bucket: bool


def learned_rate(
    accepted: Sequence[float],
    now: float,
    *,
    count: int,
    elapsed: float,
    retry_after: float | None,
    unanswered: int,
) -> Learned:
    """Learn the rate, and how the service counts, from what was accepted before the first refusal.

    Parameters
    ----------
    accepted
        When requests were accepted; seconds of one clock, as ``now``.
    count, elapsed
        Requests that were accepted within the last minute, and the seconds since the first of them.
    retry_after
        What the refusal said.
    unanswered
        Requests that may have been accepted and were not answered yet.
    """
    likely, flowed_in = _bucket_that_is_empty(accepted, now, unanswered)
    # The least that flows within a minute into a bucket that let so much through.
    flowing = count / (1 + elapsed / 60)
    is_burst = elapsed <= BURST_SECONDS
    if retry_after is not None:
        is_bucket = is_soon(retry_after, flowing) and (is_burst or likely in _LIKELY_RATES)
    else:
        # Where hardly anything flowed in both are possible; of other rates than a plan's nothing can be told if the count is round.
        unclear = is_burst and likely > 0 and (flowed_in < 1 or count % _ROUND > 0)
        is_bucket = likely in _LIKELY_RATES or unclear
    return Learned(likely or max(1, int(flowing)), True) if is_bucket else Learned(count, False)


def is_soon(retry_after: float | None, rate: float) -> bool:
    """Whether a request is welcome again before a minute can have ended."""
    return retry_after is not None and retry_after <= 1 + 2 * 60 / rate


def left_in_a_bucket(rate: int, times: Sequence[float], now: float) -> float:
    """Return what is left in a bucket that holds a minute's requests after requests at these times; full before the first."""
    size = level = float(rate)
    before = times[0] if times else now
    for at in times:
        level = min(size, level + (at - before) * rate / 60) - 1
        before = at
    return min(size, level + (now - before) * rate / 60)


def _bucket_that_is_empty(times: Sequence[float], now: float, unanswered: int) -> tuple[int, float]:
    """Return the rate of a bucket that requests at these times have emptied by now, and what flowed in; a rate of 0 if none fits."""
    found: dict[int, float] = {}
    lowest = len(times) / (1 + (now - times[0]) / 60)
    rate = max(1, int(lowest / _ROUND)) * _ROUND
    while (left := left_in_a_bucket(rate, times, now)) <= _MOST_LEFT + unanswered:
        if left >= _LEAST_LEFT:
            found[rate] = left
        rate += _ROUND
    likely = min(found, key=lambda fits: (fits not in _LIKELY_RATES, abs(found[fits])), default=0)
    return likely, len(times) + found.get(likely, 0.0) - likely


class Care:
    """Notice where a plan's rate may be used up, while nobody says what holds.

    Only a few requests should be in flight there, so that not all are refused together.
    """

    def __init__(self) -> None:
        # The plans' rates that were exceeded without a refusal.
        self._passed = 0
        # Since when requests go carefully: near the end of a minute, or of a bucket, of a rate.
        self._since: dict[tuple[int, str], float] = {}

    def in_flight(self, sent: int, began: float, now: float) -> int | None:
        """Return how many requests may be in flight; ``None`` where no plan's rate is nearly used up, or that has lasted too long.

        Parameters
        ----------
        sent
            Requests of the last minute.
        began
            When the first of them was sent.
        """
        for rate in _LIKELY_RATES:
            used_up_at = {"minute": float(rate), "bucket": rate * (1 + (now - began) / 60)}
            if sent > used_up_at["bucket"] + _LIKELY_OVER:
                self._passed = max(self._passed, rate)
            if rate <= self._passed:
                continue
            for kind, used_up in used_up_at.items():
                if used_up - _LIKELY_NEAR <= sent <= used_up + _LIKELY_OVER:
                    if now - self._since.setdefault((rate, kind), now) >= _CAREFUL_SECONDS:
                        return None
                    return FEW_IN_FLIGHT if sent < used_up - FEW_IN_FLIGHT else _FEWEST_IN_FLIGHT
        return None
