"""Decide when an endpoint counts as down, from what its requests came to and a clock that is handed in."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Circuit"]


@dataclass(slots=True)
class Circuit:
    """Notices an endpoint that answers nothing any more.

    It is down when ``failures`` requests in a row had no answer and ``seconds`` passed since the first of them. One
    answer, whatever it says, starts both anew; down is down for good. With 15 % of the requests failing at random,
    20 in a row happen once in 10^16.

    Attributes
    ----------
    failures
        Requests in a row without an answer.
    seconds
        Time that they must have taken: a restart of the endpoint, and a limit of requests a minute, are shorter.
    """

    failures: int = 20
    seconds: float = 75.0
    _failed: int = field(default=0, init=False)
    _since: float = field(default=0.0, init=False)
    _down: bool = field(default=False, init=False)

    @property
    def down(self) -> bool:
        """Whether to stop asking."""
        return self._down

    def told(self, *, answered: bool, now: float) -> None:
        """Take what one request came to.

        Parameters
        ----------
        answered
            Whether the endpoint answered it at all.
        now
            Seconds on any steady clock.
        """
        if answered:
            self._failed = 0
            return
        if self._failed == 0:
            self._since = now
        self._failed += 1
        if self._failed >= self.failures and now - self._since >= self.seconds:
            self._down = True
