"""The request rate that a service accepts: pure decisions, with the time passed in.

At most the requests of the plan, known from the account or a header, are sent in any minute. A refusal holds all
requests back until the service accepts one again. If that takes more than seconds, the service counts by the minute:
what it accepted in the last one is then the rate, unless the rate was given.
"""

from __future__ import annotations

from collections import deque

# A minute, and a little more, because network delays vary. The pause between two checks of what is in flight.
_MINUTE, _POLL = 60.5, 0.01
# Pauses between attempts to be accepted again, if the service does not announce when; longer announcements
# are considered invalid.
_FIRST_PAUSE, _LONGEST_PAUSE, _LONGEST_HOLD = 0.1, 5.0, 120.0


class Pace:
    """The current request rate.

    Not thread-safe by itself: its owner holds a lock. All times are seconds of one monotonic clock.

    Parameters
    ----------
    per_minute
        Requests per minute according to the account or a header; ``None`` if unknown or unlimited.

    Attributes
    ----------
    per_minute
        Requests per minute, given or learned.
    told
        Whether the account or a header gave it.
    asked
        Whether the account's plan was requested, with or without an answer.
    """

    told = asked = False

    def __init__(self, per_minute: int | None = None) -> None:
        self.per_minute: int | None = None
        self._sent: deque[float] = deque()
        self._in_flight = 0
        self._hold_until = float("-inf")
        # Since when requests are refused, and how many had been accepted in the minute before.
        self._refused_at: float | None = None
        self._accepted, self._pause = 0, _FIRST_PAUSE
        self.tell(per_minute)

    def tell(self, per_minute: int | None) -> None:
        """Record the rate given by the account or a header."""
        if per_minute:
            self.told, self.per_minute = True, per_minute

    def ask(self, now: float) -> float:
        """Request permission to send: 0 means go (and counts the request), otherwise ask again after that many seconds."""
        while self._sent and self._sent[0] <= now - _MINUTE:
            self._sent.popleft()
        wait = self._hold_until - now
        if self._refused_at is not None and self._in_flight:
            wait = max(wait, _POLL)  # one request tries
        elif self.per_minute is not None and len(self._sent) >= self.per_minute:
            wait = max(wait, self._sent[0] + _MINUTE - now)
        if wait > 0:
            return max(wait, 0.001)  # never 0, whatever the rounding: 0 would mean an uncounted request
        self._sent.append(now)
        self._in_flight += 1
        return 0.0

    def answered(self, now: float) -> None:
        """Record an accepted request."""
        self._in_flight = max(0, self._in_flight - 1)
        if self._refused_at is None:
            return
        if now < self._hold_until:  # sent before the refusal
            self._count_accepted()
            return
        if now - self._refused_at > _LONGEST_PAUSE:  # another minute has begun
            self._sent = deque([now])
            if not self.told:
                self.per_minute = max(1, self._accepted)
        self._refused_at, self._accepted, self._pause = None, 0, _FIRST_PAUSE

    def _count_accepted(self) -> None:
        self._accepted = max(self._accepted, len(self._sent) - self._in_flight)

    def left(self, remaining: float, resets_in: float, now: float) -> None:
        """Record the remaining requests of this minute, and the seconds until the next, according to a header."""
        # Others may use the same key: when the remaining requests are already in flight, wait for the next
        # minute and one second more, because headers give whole seconds.
        if remaining <= self._in_flight:
            self._hold_until = max(self._hold_until, now + min(max(resets_in, 0.0), _LONGEST_HOLD) + 1.0)
            self._sent.clear()

    def failed(self) -> None:
        """Record a request without an answer, or with one that does not depend on the rate."""
        self._in_flight = max(0, self._in_flight - 1)

    def refused(self, now: float, retry_after: float | None = None) -> None:
        """Record a 429 for the request rate."""
        self._in_flight = max(0, self._in_flight - 1)
        if self._sent:
            self._sent.pop()
        self._count_accepted()
        if self._refused_at is None:
            self._refused_at = now
        elif now >= self._hold_until:  # not one of several that were in flight together
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        wait = self._pause if retry_after is None else retry_after + 0.05
        self._hold_until = max(self._hold_until, now + wait)
