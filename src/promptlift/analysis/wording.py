"""Numbers and names in a sentence: as few digits as tell different numbers apart, and never a rounded 0 or 100."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.distinct import distinct_lines
from promptlift.analysis.one_line import in_a_sentence, one_line
from promptlift.analysis.reading import is_missing
from promptlift.stats.differences import FEWEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "TOO_FEW",
    "figures",
    "known",
    "name_in_title",
    "names_in_title",
    "outcome_name",
    "percent",
    "percent_digits",
    "points",
    "score_rule",
    "signed_figures",
    "size_figures",
]

TOO_FEW: Final = f"fewer than {FEWEST} in a group are too few for a verdict"
_MOST_DIGITS: Final = 4
_WHOLE: Final = (0.0, 100.0)


def known(value: Any) -> bool:
    """Whether a value of a table is known, and finite where it is a number."""
    return not is_missing(value) and not (isinstance(value, float) and not math.isfinite(value))


def outcome_name(facts: Mapping[str, Any]) -> str:
    """Return what the outcome of a comparison is called: its column, or the name of the judge whose verdict it is."""
    return str(facts.get("judge") or facts["outcome"])


def score_rule(level: float, n_tests: int) -> str:
    """Return in words how two unpaired rates are decided, and how their interval belongs to it."""
    adjusted = f", adjusted for {n_tests:,} comparisons" if n_tests > 1 else ""
    return (
        f"p of the score test below {1.0 - level:.3g}{adjusted}, with at least {FEWEST} in each group; the interval of one "
        "difference inverts this test (Miettinen and Nurminen, corrected for skewness)"
    )


def name_in_title(text: Any, width: int) -> str:
    """Return a name as one line, cut to ``width`` columns."""
    return in_a_sentence(one_line(text, width)) or "(empty)"


def names_in_title(names: Sequence[Any], width: int) -> list[str]:
    """Return names as `name_in_title` does, but cut by what tells them apart."""
    return [in_a_sentence(name) or "(empty)" for name in distinct_lines(names, width)]


def figures(*values: float, ends: tuple[float, ...] = (0.0,)) -> tuple[str, ...]:
    """Format numbers alike, with as few decimals as keep different ones different.

    Parameters
    ----------
    values
        Numbers, such as an estimate and the ends of its interval.
    ends
        Numbers that are shown only where they are exact: 0, and for percentages 100.
    """
    digits = _digits(values, ends)
    return tuple(_text(value, digits) for value in values)


def signed_figures(*values: float, plus: bool = True) -> tuple[str, ...]:
    """Format differences as `figures` does, with a typographic minus and, unless ``plus`` is false, a plus; 0 has no sign."""
    return tuple(
        text if not plus or text.startswith("−") or not text.strip("0.,") else f"+{text}"
        for text in figures(*values)
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


def points(shown: str) -> str:
    """Return a formatted number of percentage points with its unit."""
    return f"{shown} {'point' if shown.lstrip('+−') == '1' else 'points'}"


def percent(*fractions: float) -> tuple[str, ...]:
    """Format fractions as percentages, 0 and 100 only where they are exact."""
    return tuple(f"{text}%" for text in figures(*(100.0 * one for one in fractions), ends=_WHOLE))


def percent_digits(*fractions: float) -> int:
    """Return how many decimals percentages need so that different ones look different."""
    return _digits([100.0 * fraction for fraction in fractions], _WHOLE)


def _digits(values: Sequence[float], ends: tuple[float, ...]) -> int:
    exact = [round(value, 9) for value in values]
    for digits in range(_MOST_DIGITS):
        shown = [round(value, digits) for value in exact]
        at_an_end = any(near in ends and near != value for near, value in zip(shown, exact, strict=True))
        if len(set(shown)) == len(set(exact)) and not at_an_end:
            return digits
    return _MOST_DIGITS


def _text(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}".replace("-", "−")
    # A negative number that rounds to 0 has no sign.
    return text if text.strip("−0.,") else text.lstrip("−")
