"""Numbers as they were printed: every number that rounds to what is there."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Printed"]


@dataclass(frozen=True, slots=True)
class Printed:
    """The range of numbers that round to a printed one: 73.3 stands for 73.25 to 73.35."""

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> Printed:
        """Return the range of a number as it was given."""
        half = _half_a_digit(value)
        return cls(value - half, value + half)

    def meets(self, other: Printed) -> bool:
        """Whether both may stand for the same number."""
        return self.low <= other.high and other.low <= self.high


def _half_a_digit(value: float) -> float:
    mantissa, _, exponent = repr(float(value)).partition("e")
    decimals = len(mantissa.rpartition(".")[2]) if not mantissa.endswith(".0") else 0
    # Numbers with all their digits are exact up to the rounding of arithmetic.
    return max(0.5 * 10.0 ** (int(exponent or 0) - decimals), 1e-9 * max(1.0, abs(value)))
