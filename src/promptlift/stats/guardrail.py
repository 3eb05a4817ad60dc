"""Whether a winner of task completion harms sentiment or quality."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

GuardrailVerdict = Literal["harmed", "ok", "unknown"]

# Sentiment is -1 to 1, quality 0 to 100. A lower end above the margin means negligible harm.
GUARDRAIL_MARGINS: Final = {"sentiment": -0.1, "quality": -3.0}
# 95 % for both guardrails together.
_LEVEL: Final = 0.975


@dataclass(frozen=True, slots=True)
class Guardrail:
    """Difference of a second metric, variant minus original, over pairs.

    Attributes
    ----------
    name
        ``sentiment`` or ``quality``.
    verdict
        ``harmed``: the whole interval is below 0, the winner is withheld. ``ok``: the lower end is above the
        margin. ``unknown``: shown, not blocking.
    difference, low, high
        Mean difference and the ends of its interval; ``None`` where unknown.
    level
        Coverage of the interval.
    n, personas
        Pairs in which both arms have the metric, and the number of personas among them.
    """

    name: str
    verdict: GuardrailVerdict
    difference: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    personas: int


def guardrail(name: str, clusters: Iterable[tuple[int, float]], *, margin: float) -> Guardrail:
    """Judge paired differences by a t interval clustered by persona.

    Parameters
    ----------
    name
        Name of the metric.
    clusters
        One entry per persona: number of pairs, sum of their differences (variant minus original).
    margin
        Lower end above which the metric counts as unharmed, negative.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (rates never need it)

    rows = np.array([row for row in clusters if row[0]], np.float64).reshape(-1, 2)
    personas = len(rows)
    if personas == 0:
        return Guardrail(name, "unknown", None, None, None, _LEVEL, 0, 0)
    n = float(rows[:, 0].sum())
    mean = float(rows[:, 1].sum()) / n
    if personas == 1:
        return Guardrail(name, "unknown", mean, None, None, _LEVEL, int(n), 1)
    residuals = rows[:, 1] - rows[:, 0] * mean
    se = math.sqrt(personas / (personas - 1) * float(residuals @ residuals)) / n
    half = float(stdtrit(personas - 1, 0.5 + _LEVEL / 2.0)) * se
    verdict: GuardrailVerdict = "harmed" if mean + half < 0.0 else "ok" if mean - half > margin else "unknown"
    return Guardrail(name, verdict, mean, mean - half, mean + half, _LEVEL, int(n), personas)
