"""The request rate that the plan allows: pure decisions, with the time passed in.

At most N requests are let go within any window of a minute (a little more than a minute, because the network
does not carry every request equally fast). That keeps a fixed window, a moving window and a bucket of N, whichever
the service counts with, and uses a whole minute's budget at once where it is free.

A refusal says more. A service that counts by the minute refuses until the minute ends. One with a bucket that fills all the
time refuses for a moment only, and has let through what flowed in meanwhile; from then on requests go at even distances,
because waiting for the minute would waste what flows in.

Where the account tells the rate and no header says what is left, one request is let go when the first minute's budget is used
up: only its answer tells a bucket from a minute. It costs one refusal where the service counts by the minute.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from promptlift.client.rates import (
    BURST_SECONDS,
    FEW_IN_FLIGHT,
    Care,
    is_soon,
    learned_rate,
    left_in_a_bucket,
)

WINDOW_SECONDS: Final = 60.5
# A rate is learned from refusals only after this many successes; otherwise someone else is using the key.
_LEARN_FROM: Final = 20
_LONGEST_HOLD: Final = 120.0
_EPOCH_FROM: Final = 1_000_000_000
_SHORTEST_WAIT: Final = 0.001
# Answers from which a rate is learned, at most; a bucket of 300 that is hardly asked too much takes this long to be empty.
_REMEMBERED: Final = 5000
# Requests at even distances go a little slower than the bucket fills, and may catch up what half a minute brought.
_EVEN_SLACK: Final = 1.01
_EVEN_BEHIND: Final = 30.0
_LOWER: Final = 0.95


class Pace:
    """The request rate that is kept, and the requests that count towards it.

    Not safe for threads by itself: its owner holds a lock. All times are seconds of one monotonic clock.

    Parameters
    ----------
    per_minute
        Requests a minute; ``None`` while it is unknown, or when nothing is limited.

    Attributes
    ----------
    known
        Whether the rate is known: from headers, from the plan, or learned from refusals.
    asked
        Whether the account's plan was asked for, with or without an answer.
    """

    # Requests at even distances: when the next may go, and whether one of them was answered.
    _even_from: float | None = None
    _even_proven = False
    _trying = False
    # What was accepted before the first refusal.
    _whole_minute = 0
    # Whether one request may still find out how the service counts, and whether one did.
    _may_probe = True
    _probed = False

    def __init__(self, per_minute: int | None = None) -> None:
        self.per_minute = per_minute
        self.known = per_minute is not None
        self.asked = False
        self._sent: deque[float] = deque()
        self._accepted: deque[float] = deque()
        self._before_learning: deque[float] = deque(maxlen=_REMEMBERED)
        self._care = Care()
        self._hold_until = float("-inf")
        self._in_flight = 0
        self._refusals = 0

    def ask(self, now: float) -> float:
        """Ask to send one request: 0 means go (and counts it), else ask again after that many seconds."""
        if now < self._hold_until:
            return self._hold_until - now
        sent = self._sent
        for times in (sent, self._accepted):
            while times and times[0] <= now - WINDOW_SECONDS:
                times.popleft()
        wait = self._wait(now)
        if wait > 0:
            # Never 0, whatever the rounding: 0 would mean an uncounted request.
            return max(wait, _SHORTEST_WAIT)
        if self._even_from is not None:
            self._trying = not self._even_proven
            self._even_from = max(self._even_from, now - _EVEN_BEHIND) + self._interval
        sent.append(now)
        self._in_flight += 1
        return 0.0

    def _wait(self, now: float) -> float:
        """Return the seconds for which a request has to wait; 0 or less when it may go."""
        if self._even_from is not None:
            if not self._even_proven and self._in_flight:
                return self._interval  # one request tries whether it is as it seems
            return self._even_from - now
        if self.per_minute is not None and len(self._sent) >= self.per_minute:
            return self._wait_for_a_minute(self.per_minute, now)
        if not self.known and self._in_flight > 1:
            allowed = self._care.in_flight(len(self._sent), self._began(now), now)
            if allowed is not None and self._in_flight >= allowed:
                return _SHORTEST_WAIT
        return 0.0

    def _wait_for_a_minute(self, rate: int, now: float) -> float:
        """Return the seconds until a request leaves the minute that is used up, unless one shall find out whether there is one."""
        first = self._sent[len(self._sent) - rate]
        if not self._may_probe or now - first > BURST_SECONDS:
            return first + WINDOW_SECONDS - now
        if self._in_flight:
            return self._interval
        self._may_probe, self._probed = False, True
        self._go_evenly(now - left_in_a_bucket(rate, self._accepted, now) * self._interval)
        return self._wait(now)

    def _began(self, now: float) -> float:
        """Return when the first request of the last minute was sent."""
        return self._sent[0] if self._sent else now

    @property
    def _interval(self) -> float:
        """Seconds between two requests at even distances."""
        return 60.0 / (self.per_minute or 1) * _EVEN_SLACK

    def minutes(self, requests: int, now: float) -> float:
        """Estimate the minutes that further requests take at this rate."""
        if self.per_minute is None:
            return 0.0
        if self._even_from is not None:
            return requests * self._interval / 60
        used = sum(1 for sent_at in self._sent if sent_at > now - WINDOW_SECONDS)
        windows = (used + requests - 1) // self.per_minute if requests else 0
        hold = max(0.0, self._hold_until - now)
        return (windows * WINDOW_SECONDS + hold) / 60

    def plan_allows(self, per_minute: int | None) -> None:
        """Record the rate of the account's plan; a rate in the service's headers takes precedence.

        ``None`` is a plan without a rate of its own, or an unknown one: the rate is then learned if there is one.
        """
        self.asked = True
        if not self.known and per_minute is not None:
            self.per_minute = per_minute
            self.known = True

    def answered(
        self,
        now: float,
        *,
        limit: int | None = None,
        remaining: int | None = None,
        reset: float | None = None,
        wall_now: float = 0.0,
        counted: bool = True,
    ) -> None:
        """Record an answer and its rate-limit headers.

        One that is not ``counted`` says nothing of the rate: a key is refused before requests are counted.
        ``reset`` is either seconds from now or seconds since 1970; ``wall_now`` is the time since 1970.
        """
        self._in_flight = max(0, self._in_flight - 1)
        self._refusals = 0
        if counted:
            self._accepted.append(now)
            if not self.known:
                self._before_learning.append(now)
        if self._trying:
            self._trying, self._even_proven = False, True
        if limit is not None or remaining is not None:
            self._may_probe = False
        if limit is not None and limit > 0:
            self.per_minute = limit
            self.known = True
        # Others may use the same key: when what is left is under way already, the next window is waited for.
        if remaining is not None and remaining <= self._in_flight and reset is not None:
            seconds = reset - wall_now if reset >= _EPOCH_FROM else reset
            self._hold(now + min(max(seconds, 0.0), _LONGEST_HOLD) + 0.1)

    def failed(self) -> None:
        """Record a request that got no answer."""
        self._in_flight = max(0, self._in_flight - 1)

    def refused(self, now: float, retry_after: float | None = None) -> None:
        """Record a 429 for the request rate.

        Without ``Retry-After`` the window is taken to have begun with the oldest request that still counts.
        """
        self._in_flight = max(0, self._in_flight - 1)
        self._may_probe = False
        if now < self._hold_until:  # one of several that were under way together
            if retry_after is not None:
                self._hold(now + retry_after + 0.05)
            return
        if not self.known and len(self._accepted) >= _LEARN_FROM:
            self._learn(now, retry_after)
        elif self._even_from is not None:
            self._correct(retry_after)
        elif self.per_minute is not None and is_soon(retry_after, self.per_minute):
            self._go_evenly(now)
        if retry_after is not None:
            if self._even_from is None and self.known:
                # What was sent counts in the minute that ends then.
                self._sent.clear()
            self._hold(now + retry_after + 0.05)
            return
        if self._even_from is not None:
            self._hold(self._even_from)
            return
        step = min(2.0**self._refusals, 30.0)
        self._refusals += 1
        oldest = self._sent[0] if self._sent else now
        self._hold(max(oldest + WINDOW_SECONDS, now + step))

    def _learn(self, now: float, retry_after: float | None) -> None:
        """Learn the rate, and how the service counts, from what was accepted before a refusal."""
        count = len(self._accepted)
        learned = learned_rate(
            self._before_learning,
            now,
            count=count,
            elapsed=now - self._began(now),
            retry_after=retry_after,
            # With many in flight nobody knows how many of them were accepted.
            unanswered=self._in_flight if self._in_flight < FEW_IN_FLIGHT else 0,
        )
        self.known, self.per_minute, self._whole_minute = True, learned.per_minute, count
        self._before_learning.clear()
        if learned.is_bucket:
            self._go_evenly(now)

    def _go_evenly(self, since: float) -> None:
        """Let requests go at even distances from a time on; what has flowed in since then goes at once."""
        self._even_from, self._even_proven, self._trying = since + 1.5 * self._interval, False, False

    def _correct(self, retry_after: float | None) -> None:
        """Correct what was learned: it is a minute after all, or the rate is lower, or shared with others."""
        rate = self.per_minute or 1
        # A minute that ended between the burst and the probe lets the probe through as well.
        if self._even_proven and (not self._probed or is_soon(retry_after, rate)):
            self.per_minute = max(1, int(rate * _LOWER))
        else:
            self._even_from, self._trying = None, False
            self.per_minute = self._whole_minute or self.per_minute

    def _hold(self, until: float) -> None:
        self._hold_until = max(self._hold_until, until)
