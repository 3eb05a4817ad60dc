"""The request rate that a service accepts: pure decisions, with the time passed in.

Requests are not delayed until a minute's budget, known from the account or a header, is used up, or until one
is refused. How soon after a refusal a request is accepted again shows how the service counts:

- Within seconds: a bucket that refills continuously. Requests are evenly spaced, at a rate that grows until
  the next refusal, slowly at first and then faster, like the congestion control CUBIC (RFC 9438).
- Later: a used-up minute. The number accepted in it is the rate. Unless the rate was given, further requests
  then probe one at a time for more.
"""

from __future__ import annotations

from collections import deque

# A minute, and a little more, because network delays vary. The pause between two checks of what is in flight.
# By how much even spacing exceeds that of a given rate, and the lateness for which it compensates.
_MINUTE, _POLL, _SLACK, _CATCH_UP = 60.5, 0.01, 1.01, 0.1
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
    # Whether a refusal indicated a bucket (True) or minutes (False).
    _evenly: bool | None = None
    # Even spacing: the rate after the last refusal, the highest rate, and the seconds in which the rate
    # doubles.
    _base, _most, _doubles = 0.0, float("inf"), 1.0
    # Time of the last refusal, requests accepted since then, and the time of the next request.
    _since, _accepted, _next = 0.0, 0, 0.0
    # How long refused requests have waited, whether one is probing, and the pause between two attempts.
    _waited: float | None = None
    _trying, _pause, _hold_until, _in_flight = False, _FIRST_PAUSE, float("-inf"), 0

    def __init__(self, per_minute: int | None = None) -> None:
        self.per_minute: float | None = None
        self._sent: deque[float] = deque()
        self.tell(per_minute)

    def tell(self, per_minute: int | None) -> None:
        """Record the rate given by the account or a header."""
        if per_minute and per_minute / _SLACK != self._most:
            self.told, self.per_minute, self._most = True, per_minute, per_minute / _SLACK
            self._base = self._most

    def ask(self, now: float) -> float:
        """Request permission to send: 0 means go (and counts the request), otherwise ask again after that many seconds."""
        if (wait := max(self._hold_until - now, self._wait(now))) > 0:
            return max(wait, 0.001)  # never 0, whatever the rounding: 0 would mean an uncounted request
        self._trying = self._waited is not None
        if self._evenly:
            late = max(0.0, now - self._next - _CATCH_UP)
            self._since += late  # a client that asks for less learns nothing
            rate = self._base * 2 ** min(((now - self._since) / self._doubles) ** 2, 20)
            self.per_minute = min(rate, self._most)
            self._next += late + 60 / self.per_minute
        self._sent.append(now)
        self._in_flight += 1
        return 0.0

    def _wait(self, now: float) -> float:
        """Return the seconds for which a request must wait; 0 or less if it may go."""
        if self._waited is not None:
            return _POLL * bool(self._in_flight)  # one request tries
        if self._evenly:
            return self._next - now
        while self._sent and self._sent[0] <= now - _MINUTE:
            self._sent.popleft()
        beyond = len(self._sent) - (self.per_minute or float("inf"))
        if beyond >= 0 and self.told and self._evenly is False:
            return self._sent[0] + _MINUTE - now
        return _POLL * (beyond >= 0 and self._in_flight > beyond // 16)

    def answered(self, now: float) -> None:
        """Record an accepted request."""
        self._in_flight = max(0, self._in_flight - 1)
        self._accepted += 1
        if self._trying and self._waited:
            self._evenly = self._waited < (1.1 + 120 / self._most if self.told else 5.0)
            self._base = self._base or 60 / self._waited
            self._since, self._accepted, self._next = now - self._waited, 1, now + 60 / self._base
            self._waited, self._trying = None, False
            self._sent = deque([now])

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
        if self._trying:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        elif self._waited is None:
            self._pause = self._slow_down(now)
        wait = self._pause if retry_after is None else retry_after + 0.05
        if self._trying or self._waited is None:  # not one of several that were in flight together
            self._waited, self._trying = (self._waited or 0.0) + wait, False
        self._hold_until = max(self._hold_until, now + wait)

    def _slow_down(self, now: float) -> float:
        """Lower the rate, or learn it; return the seconds until a request may probe again."""
        if self._evenly and self.per_minute:
            accepted = min(60 * self._accepted / max(now - self._since, 0.001), self.per_minute)
            keep = 0.94 if self.told else 0.86 if accepted > 0.6 * self.per_minute else 0.5
            self._base = max(1.0, 0.95 * accepted, keep * self.per_minute)
            self._doubles = min(max(15.0, 1.4 * self._doubles), 100.0)
        elif not self.told:
            self.per_minute = max(1, len(self._sent) - 1 - self._in_flight)
            self._base, self._doubles = 0.0, 1.0
        if self._evenly is False:
            return max(self._sent[0] + _MINUTE - now if self._sent else 0.0, _FIRST_PAUSE)
        return 90 / self._base if self._base else _FIRST_PAUSE
