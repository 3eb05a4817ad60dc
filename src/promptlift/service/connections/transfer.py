"""Whether the bytes of a body or an answer move fast enough to be waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptlift.service.settings import ConnectionLimits


class Transfer:
    """Bytes on their way in one direction.

    Parameters
    ----------
    now
        When it begins, on a monotonic clock.
    """

    __slots__ = ("moved_at", "since", "size")

    def __init__(self, now: float) -> None:
        self.since = now
        self.moved_at = now
        self.size = 0

    def add(self, size: int, now: float) -> None:
        """Count bytes that moved."""
        self.size += size
        self.moved_at = now

    def hold(self, seconds: float) -> None:
        """Leave out a time in which the client could not move anything."""
        self.since += seconds
        self.moved_at += seconds

    def is_too_slow(self, now: float, limits: ConnectionLimits) -> bool:
        """Whether it is silent for too long, or takes long and stays below the rate.

        >>> from promptlift.service.settings import ConnectionLimits
        >>> slow, fast = Transfer(0.0), Transfer(0.0)
        >>> slow.add(60, now=61.0)
        >>> fast.add(20_480 * 61, now=61.0)
        >>> [one.is_too_slow(61.0, ConnectionLimits()) for one in (slow, fast)]
        [True, False]
        """
        if now - self.moved_at > limits.body:
            return True
        return now - self.since > limits.body and self.size < limits.rate * (now - self.since)

    def debt(self, now: float, limits: ConnectionLimits) -> float:
        """Return how many bytes are missing to the rate; negative when more than enough came."""
        return limits.rate * (now - self.since) - self.size
