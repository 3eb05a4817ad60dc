"""The request rate that the plan allows: pure decisions, with the time passed in.

At most N requests are let go within any window of a minute (a little more than a minute, because the network
does not carry every request equally fast). That keeps a fixed window, a moving window and a bucket of N, whichever
the service counts with, and uses a whole minute's budget at once where it is free.
"""

from __future__ import annotations

from collections import deque
from typing import Final

WINDOW_SECONDS: Final = 60.5
# A rate is learned from refusals only after this many successes; otherwise someone else is using the key.
_LEARN_FROM: Final = 20
_LONGEST_HOLD: Final = 120.0
_EPOCH_FROM: Final = 1_000_000_000
_SHORTEST_WAIT: Final = 0.001


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

    def __init__(self, per_minute: int | None = None) -> None:
        self.per_minute = per_minute
        self.known = per_minute is not None
        self.asked = False
        self._sent: deque[float] = deque()
        self._hold_until = float("-inf")
        self._in_flight = 0
        self._refusals = 0

    def ask(self, now: float) -> float:
        """Ask to send one request: 0 means go (and counts it), else ask again after that many seconds."""
        if now < self._hold_until:
            return self._hold_until - now
        sent = self._sent
        while sent and sent[0] <= now - WINDOW_SECONDS:
            sent.popleft()
        if self.per_minute is not None and len(sent) >= self.per_minute:
            # Never 0, whatever the rounding: 0 would mean an uncounted request.
            return max(sent[len(sent) - self.per_minute] + WINDOW_SECONDS - now, _SHORTEST_WAIT)
        sent.append(now)
        self._in_flight += 1
        return 0.0

    def minutes(self, requests: int, now: float) -> float:
        """Estimate the minutes that further requests take at this rate."""
        if self.per_minute is None:
            return 0.0
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
    ) -> None:
        """Record an answer and its rate-limit headers.

        ``reset`` is either seconds from now or seconds since 1970; ``wall_now`` is the time since 1970.
        """
        self._in_flight = max(0, self._in_flight - 1)
        self._refusals = 0
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
        if not self.known and len(self._sent) - self._in_flight - 1 >= _LEARN_FROM:
            self.per_minute = len(self._sent) - self._in_flight - 1
            self.known = True
        if retry_after is not None:
            self._hold(now + retry_after + 0.05)
            return
        if now < self._hold_until:
            return  # one of several that were under way together
        step = min(2.0**self._refusals, 30.0)
        self._refusals += 1
        oldest = self._sent[0] if self._sent else now
        self._hold(max(oldest + WINDOW_SECONDS, now + step))

    def _hold(self, until: float) -> None:
        self._hold_until = max(self._hold_until, until)
