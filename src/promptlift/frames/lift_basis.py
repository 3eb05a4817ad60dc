"""Whether given lifts are relative changes of two printed rates, their differences in points, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from promptlift.schema.events import Printed

if TYPE_CHECKING:
    from collections.abc import Sequence

RELATIVE: Final = "relative_completion"
POINTS: Final = "points_completion"
UNKNOWN: Final = "unknown"
LIFT_BASES: Final = (RELATIVE, POINTS, UNKNOWN)

_IN_POINTS: Final = "The lift is in percentage points, not in percent of the original."


@dataclass(frozen=True, slots=True)
class Basis:
    """The kind of a lift; ``None`` without a lift. The warning is empty if there is no problem."""

    name: str | None
    warning: str


class GivenLift(NamedTuple):
    """A lift in percent or points with the two rates given with it, unchanged."""

    lift: float | None
    rate: float | None
    original: float | None


def bases_of(given: Sequence[GivenLift], *, scale: float) -> list[Basis]:
    """Return the basis of the lifts of one optimization, all by the same rule.

    Within rounding, a small lift often fits both readings. Such a lift gets the reading of those in the same
    optimization that fit only one.

    Parameters
    ----------
    given
        The lifts of one optimization.
    scale
        The value that represents a rate of 1: 100 for percent, 1 for fractions.
    """
    fits = [_fits(one, scale) for one in given]
    decided = {basis for fit in fits if len(fit) == 1 for basis in fit}
    # unspecified: optimizations in which nothing decides. The API calls the lift a relative change.
    undecided = next(iter(decided)) if len(decided) == 1 else RELATIVE
    return [_basis(one, fit, undecided) for one, fit in zip(given, fits, strict=True)]


def _fits(given: GivenLift, scale: float) -> set[str]:
    """Return the readings under which the two rates give the lift, within rounding."""
    lift, rate, original = given
    if lift is None or rate is None or original is None or not _is_base(original):
        return set()
    p1, p0, said = Printed.of(rate), Printed.of(original), Printed.of(lift)
    points = Printed(100.0 * (p1.low - p0.high) / scale, 100.0 * (p1.high - p0.low) / scale)
    readings = {RELATIVE: _relative(p1, p0), POINTS: points}
    return {basis for basis, reading in readings.items() if said.meets(reading)}


def _is_base(original: float) -> bool:
    """Return whether a rate can be a base: it is not 0 within rounding."""
    return original > 0 and Printed.of(original).low > 0


def _relative(p1: Printed, p0: Printed) -> Printed:
    ratios = [one / other for one in (p1.low, p1.high) for other in (p0.low, p0.high)]
    return Printed(100.0 * (min(ratios) - 1), 100.0 * (max(ratios) - 1))


def _basis(given: GivenLift, fits: set[str], undecided: str) -> Basis:
    lift, rate, original = given
    if lift is None:
        return Basis(None, "")
    if rate is None or original is None or not _is_base(original):
        return Basis(UNKNOWN, "")
    if fits:
        name = next(iter(fits)) if len(fits) == 1 else undecided
        return Basis(name, _IN_POINTS if name == POINTS else "")
    hundredth = Printed.of(100.0 * lift)
    if lift and hundredth.meets(_relative(Printed.of(rate), Printed.of(original))):
        hint = "it looks like a fraction"
    else:
        hint = f"they give {100.0 * (rate / original - 1):+.1f}%"
    return Basis(UNKNOWN, f"The given rates do not reproduce the lift of {lift:+.4g}%: {hint}.")
