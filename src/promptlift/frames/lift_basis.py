"""Whether a given lift is the relative change of two printed rates, their difference in points, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

RELATIVE: Final = "relative_completion"
POINTS: Final = "points_completion"
UNKNOWN: Final = "unknown"
LIFT_BASES: Final = (RELATIVE, POINTS, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Basis:
    """The kind of a lift; ``None`` where there is no lift. The warning is empty when all is well."""

    name: str | None
    warning: str


@dataclass(frozen=True, slots=True)
class _Range:
    """A number as printed: every number that rounds to it."""

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> _Range:
        half = _half_a_digit(value)
        return cls(value - half, value + half)

    def meets(self, other: _Range) -> bool:
        return self.low <= other.high and other.low <= self.high


def _half_a_digit(value: float) -> float:
    """Return half of the last digit that was printed: 73.3 stands for 73.25 to 73.35."""
    mantissa, _, exponent = repr(float(value)).partition("e")
    decimals = len(mantissa.rpartition(".")[2]) if not mantissa.endswith(".0") else 0
    # Numbers with all their digits are exact up to the rounding of arithmetic.
    return max(0.5 * 10.0 ** (int(exponent or 0) - decimals), 1e-9 * max(1.0, abs(value)))


def basis_of(lift: float | None, rate: float | None, original: float | None, *, scale: float) -> Basis:
    """Recompute a lift from the two rates that were printed with it, within their rounding.

    Parameters
    ----------
    lift
        As given, in percent.
    rate, original
        Task completion of the variant and the original as given.
    scale
        What a rate of 1 is given as: 100 for percent, 1 for fractions.
    """
    if lift is None:
        return Basis(None, "")
    if rate is None or original is None or original <= 0:
        return Basis(UNKNOWN, "")
    p1, p0, given = _Range.of(rate), _Range.of(original), _Range.of(lift)
    points = _Range(100.0 * (p1.low - p0.high) / scale, 100.0 * (p1.high - p0.low) / scale)
    if p0.low <= 0:
        return Basis(UNKNOWN, "")
    ratios = [one / other for one in (p1.low, p1.high) for other in (p0.low, p0.high)]
    relative = _Range(100.0 * (min(ratios) - 1), 100.0 * (max(ratios) - 1))
    if given.meets(relative):
        return Basis(RELATIVE, "")
    if given.meets(points):
        return Basis(POINTS, "The lift is in percentage points, not in percent of the original.")
    measured = 100.0 * (rate / original - 1)
    hundredth = _Range.of(100.0 * lift)
    if lift and hundredth.meets(relative):
        hint = "it looks like a fraction"
    else:
        hint = f"they give {measured:+.1f} %"
    return Basis(UNKNOWN, f"The given rates do not reproduce the lift of {lift:+.4g} %: {hint}.")
