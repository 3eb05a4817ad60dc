"""Numbers in a sentence: as few digits as tell different numbers apart, and never a rounded 0 or 100.

>>> percent(0.002, 0.0004, 0.0112)
('0.2%', '0.04%', '1.1%')
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_DIGITS: Final = 4
_WHOLE: Final = (0.0, 100.0)
_MISSING: Final = ("NAType", "NaTType")


def is_missing(value: Any) -> bool:
    """Return whether a cell is empty."""
    if value is None or type(value).__name__ in _MISSING:
        return True
    return isinstance(value, float) and math.isnan(value)


def known(value: Any) -> bool:
    """Return whether a value of a table is known, and finite where it is a number."""
    return not is_missing(value) and not (isinstance(value, float) and not math.isfinite(value))


def figures(*values: float, ends: tuple[float, ...] = (0.0,)) -> tuple[str, ...]:
    """Format numbers with as few decimals as keep different ones different, larger ones with fewer, and none that is 0.

    Parameters
    ----------
    values
        Numbers, such as an estimate and the ends of its interval.
    ends
        Numbers that are shown only where they are exact: 0, and for percentages 100.
    """
    exact = [round(value, 9) for value in values]  # 100 × 0.575 is a little less than 57.5
    most = _digits(exact, ends)

    def text(value: float) -> str:
        # Two digits say how far a number is from an end; more only tell it from another.
        away = min(abs(value - end) for end in ends)
        enough = max(1 - math.floor(math.log10(away)), 0) if 0.0 < away < math.inf else 0
        for digits in range(min(enough, most), most):
            near = round(value, digits)
            if near not in ends and all(near != round(one, digits) for one in exact if one != value):
                return _text(value, digits)
        return _text(value, most)

    return tuple(map(text, exact))


def signed_figures(*values: float) -> tuple[str, ...]:
    """Format differences as `figures` does, with a plus or a typographic minus; 0 has no sign."""
    return tuple(
        text if text.startswith("−") or not text.strip("0.,") else f"+{text}" for text in figures(*values)
    )


def size_figures(value: float, *ends: float) -> tuple[str, ...]:
    """Format the size of a difference and the ends of its interval without signs, the end nearest to 0 first.

    Parameters
    ----------
    value
        The difference.
    ends
        The ends of an interval on the same side of 0; perhaps one of both, or none.
    """
    return figures(abs(value), *sorted(end if value > 0 else -end for end in ends))


def signed(value: float, digits: int = 1, unit: str = "") -> str:
    """Format a number with its sign, in a column of numbers that have as many digits; 0 has no sign.

    >>> signed(-0.04), signed(17.25, unit="%"), signed(float("inf"))
    ('0.0', '+17.2%', '+∞')
    """
    text = f"{value:+,.{digits}f}".replace("-", "−").replace("inf", "∞")
    return f"{text if text.strip('+−0.,') else text[1:]}{unit}"


def relative(change: float) -> str:
    """Format a change in percent with its sign, in a column of such numbers."""
    return signed(change, unit="%")


def points(shown: str) -> str:
    """Return a formatted number of percentage points with its unit."""
    return f"{shown} {'point' if shown.lstrip('+−') == '1' else 'points'}"


def percent(*fractions: float) -> tuple[str, ...]:
    """Format fractions as percentages, 0 and 100 only where they are exact."""
    return tuple(f"{text}%" for text in figures(*(100.0 * one for one in fractions), ends=_WHOLE))


def confidences(*values: float) -> tuple[str, ...]:
    """Format confidences with two digits, more where different ones would look alike or one would look certain."""
    digits = max(2, _digits([round(100.0 * value, 9) for value in values], _WHOLE) + 2)
    return tuple(f"{value:.{digits}f}" for value in values)


def of_p(p: Any) -> str:
    """Return a p-value in brackets after a space; empty where it is not known."""
    if not known(p):
        return ""
    return " (p below 0.001)" if p < 0.001 else f" (p {p:.2g})"


def counted(number: int, noun: str) -> str:
    """Format a number with its noun."""
    return f"{int(number):,} {noun}{'' if number == 1 else 's'}"


def _digits(values: Sequence[float], ends: tuple[float, ...]) -> int:
    for digits in range(_MOST_DIGITS):
        shown = [round(value, digits) for value in values]
        at_an_end = any(near in ends and near != value for near, value in zip(shown, values, strict=True))
        if len(set(shown)) == len(set(values)) and not at_an_end:
            return digits
    return _MOST_DIGITS


def _text(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}".replace("-", "−")
    text = text.rstrip("0").rstrip(".") if digits else text
    # A negative number that rounds to 0 has no sign.
    return text if text.strip("−0.,") else text.lstrip("−")
