"""Numbers and names in a sentence: as few digits as tell different numbers apart, and never a rounded 0 or 100."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.distinct import distinct_lines
from promptlift.analysis.one_line import one_line
from promptlift.analysis.reading import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "amount",
    "known",
    "name_in_title",
    "names_in_title",
    "percent",
    "percent_digits",
    "signed_amounts",
]

_MOST_DIGITS: Final = 3


def known(value: Any) -> bool:
    """Whether a value of a table is known, and finite where it is a number."""
    return not is_missing(value) and not (isinstance(value, float) and not math.isfinite(value))


def name_in_title(text: Any, width: int) -> str:
    """Return a name as one line, cut to ``width`` columns."""
    return one_line(text, width) or "(empty)"


def names_in_title(names: Sequence[Any], width: int) -> list[str]:
    """Return names as `name_in_title` does, but cut by what tells them apart."""
    return [name or "(empty)" for name in distinct_lines(names, width)]


def amount(*values: float, up: bool) -> tuple[str, ...]:
    """Format a size and the ends of its interval without signs, the end nearest to 0 first.

    Parameters
    ----------
    values
        The number, and perhaps the ends of an interval that lies on one side of 0.
    up
        Whether the number is above 0; otherwise all are turned round.
    """
    sizes = [value if up else -value for value in values]
    sizes = [sizes[0], *sorted(sizes[1:])]
    digits = _digits(sizes, ends=(0.0,))
    return tuple(_text(size, digits) for size in sizes)


def signed_amounts(*values: float, plus: bool = True) -> tuple[str, ...]:
    """Format differences with a typographic minus and, unless ``plus`` is false, a plus; 0 has no sign."""
    digits = _digits(values, ends=(0.0,))
    texts = [_text(value, digits) for value in values]
    return tuple(
        text if not plus or text.startswith("−") or not text.strip("0.") else f"+{text}" for text in texts
    )


def percent(*fractions: float) -> tuple[str, ...]:
    """Format fractions as percentages."""
    digits = percent_digits(*fractions)
    return tuple(f"{_text(100.0 * fraction, digits)}%" for fraction in fractions)


def percent_digits(*fractions: float) -> int:
    """Return how many decimals percentages need so that different ones look different."""
    return _digits([100.0 * fraction for fraction in fractions], ends=(0.0, 100.0))


def _digits(values: Any, ends: tuple[float, ...]) -> int:
    different = {round(value, 6) for value in values}
    for digits in range(_MOST_DIGITS):
        same = len({round(value, digits) for value in values}) < len(different)
        rounded_off = any(round(value, digits) == end != round(value, 6) for value in values for end in ends)
        if not same and not rounded_off:
            return digits
    return _MOST_DIGITS


def _text(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}".replace("-", "−")
    # A negative number that rounds to 0 has no sign.
    return text if text.strip("−0.,") else text.lstrip("−")
