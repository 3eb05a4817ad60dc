"""Decide how long to wait for one answer, from how long the last ones took."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Patience"]

_KNOWN: Final = 32
_ENOUGH: Final = 8


@dataclass
class Patience:
    """Waits as long as it must for an unknown endpoint, and far shorter for a fast one that hangs now and then.

    The limit holds until a few answers for the purpose are known. From then on it is ``times`` the slowest of the last
    ones, at least ``shortest``, and doubles with every time-out of the same call up to the limit: what truly takes
    long gets its time in the end. Safe from several threads.

    Attributes
    ----------
    limit
        Seconds at most.
    shortest
        Seconds at least, unless the limit is lower.
    times
        How much longer than the slowest known answer one may take.
    """

    limit: float
    shortest: float = 20.0
    times: float = 6.0
    _took: dict[str, deque[float]] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def told(self, purpose: str, seconds: float) -> None:
        """Take how long a whole answer took."""
        with self._lock:
            self._took.setdefault(purpose, deque(maxlen=_KNOWN)).append(seconds)

    def seconds(self, purpose: str, *, timeouts: int = 0) -> float:
        """Give how long to wait for the next answer.

        Parameters
        ----------
        purpose
            What it is for: a judgement takes another time than a greeting.
        timeouts
            Time-outs of the same call so far.
        """
        if self.limit <= self.shortest:
            return self.limit
        with self._lock:
            known = self._took.get(purpose, ())
            usual = self.times * max(known) if len(known) >= _ENOUGH else self.limit
        return min(self.limit, max(self.shortest, usual) * 2.0 ** min(timeouts, 20))
