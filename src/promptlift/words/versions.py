"""Versions side by side on real users, as tables show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.schema.basis import as_seen_by
from promptlift.words.figures import percent
from promptlift.words.sentences import measured

if TYPE_CHECKING:
    from promptlift.schema.experiments import LiveArm

TITLES: Final = ("Version", "Weight", "Units", "Completed", "Points over the current version", "Result")


def in_words(arm: LiveArm) -> tuple[str, ...]:
    """Return what was measured of a version, under `TITLES`; its name is as somebody wrote it."""
    completed = difference = ""
    if (rate := arm.rate) is not None:
        shown, low, high = percent(*(value / 100.0 for value in (rate.rate, rate.low, rate.high)))
        completed = f"{shown} ({low} to {high}){as_seen_by(rate.basis)}"
    if (found := arm.difference) is not None and found.estimate is not None:
        difference = measured((found.estimate, found.low, found.high))
    return arm.name, percent(arm.weight)[0], f"{arm.units or 0:,}", completed, difference, result_of(arm)


def result_of(arm: LiveArm) -> str:
    """Return whether a version is better than the current one, and which metrics it harms."""
    if not arm.number:
        return "current version"
    harmed = [one.metric.replace("_", " ") for one in arm.guardrails or () if one.harmed]
    return "; ".join([arm.verdict or "cannot be told", *(["harms " + ", ".join(harmed)] if harmed else [])])
