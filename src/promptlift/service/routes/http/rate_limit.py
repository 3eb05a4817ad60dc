"""The request rate of a plan: a number of requests in each clock minute."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """State of one account's minute after a request was counted.

    Attributes
    ----------
    limit
        Requests allowed a minute.
    count
        Requests of this minute, this one included.
    resets_at, now
        End of the minute and the current time, in milliseconds.
    """

    limit: int
    count: int
    resets_at: int
    now: int

    @property
    def exceeded(self) -> bool:
        """Whether this request is over the limit."""
        return self.count > self.limit

    @property
    def wait_seconds(self) -> int:
        """Whole seconds until the minute is over, at least one."""
        return max(1, math.ceil((self.resets_at - self.now) / 1_000))

    def headers(self) -> dict[str, str]:
        """Return the rate-limit headers of every answer; ``X-RateLimit-Reset`` is in seconds since 1970."""
        fields = {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - self.count)),
            "X-RateLimit-Reset": str(math.ceil(self.resets_at / 1_000)),
        }
        if self.exceeded:
            fields["Retry-After"] = str(self.wait_seconds)
        return fields
