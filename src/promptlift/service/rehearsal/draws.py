"""Random numbers that follow from a seed and from texts, the same in every process and every version of Python."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Draws"]

_Choice = TypeVar("_Choice")

_RANGE: Final = float(2**64)


class Draws:
    """A stream of numbers that belongs to a key.

    Parameters
    ----------
    key
        Seed and texts. Their borders count: ``("a", "bc")`` is not ``("ab", "c")``.
    """

    def __init__(self, *key: str | int) -> None:
        hashed = hashlib.blake2b(digest_size=32)
        for part in key:
            raw = str(part).encode("utf-8", "surrogatepass")
            hashed.update(struct.pack("<Q", len(raw)))
            hashed.update(raw)
        self._state = hashed.digest()
        self._left = self._state

    def uniform(self) -> float:
        """Return a number from 0 to below 1."""
        if len(self._left) < 8:
            self._state = self._left = hashlib.blake2b(self._state, digest_size=32).digest()
        number = int.from_bytes(self._left[:8], "little")
        self._left = self._left[8:]
        return min(number / _RANGE, 1.0 - 2.0**-53)

    def between(self, low: float, high: float) -> float:
        """Return a number from ``low`` to ``high``."""
        return low + (high - low) * self.uniform()

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""
        return low + int(self.uniform() * (high - low + 1))

    def normal(self) -> float:
        """Return a standard normal number (Box and Muller)."""
        return math.sqrt(-2.0 * math.log(1.0 - self.uniform())) * math.cos(2.0 * math.pi * self.uniform())

    def one_of(self, choices: Sequence[_Choice]) -> _Choice:
        """Return one of the choices."""
        return choices[int(self.uniform() * len(choices))]

    def shuffled(self, items: Sequence[_Choice]) -> list[_Choice]:
        """Return the items in random order."""
        left = list(items)
        return [left.pop(int(self.uniform() * len(left))) for _ in range(len(left))]
