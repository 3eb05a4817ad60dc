"""Marks where the version of a judge changes: rates before and after are those of two judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.plots import theme
from promptlift.plots.periods import day_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["mark_versions", "verdict_label", "version_notes"]

_NAME_CHARS: Final = 40


def verdict_label(facts: dict[str, Any]) -> str | None:
    """Return the label of the axis of a judge's verdicts; ``None`` where the table is not of verdicts."""
    if "judge" not in facts:
        return None
    return f"Yes to {_name(facts)}"


def mark_versions(ax: Axes, facts: dict[str, Any]) -> None:
    """Draw a dashed line at the start of each period in which the version of the judge changes, with the versions."""
    changes = facts.get("judge_changes", ())
    if not changes:
        return
    at = day_numbers(pd.DatetimeIndex([pd.Timestamp(one["at"]) for one in changes]))
    for day, change in zip(at, changes, strict=True):
        line = ax.axvline(day, color=theme.foreground(), linestyle="--", linewidth=1.0, alpha=0.7, zorder=1)
        line.set_gid("judge-version")
        ax.annotate(
            f"v{change['before']} → v{change['after']}",
            (day, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -3),
            textcoords="offset points",
            ha="left",
            va="top",
            fontsize="small",
            color=theme.foreground(),
        )


def version_notes(facts: dict[str, Any]) -> list[str]:
    """Return the notes that say which versions of a judge are drawn."""
    versions = facts.get("judge_versions", [])
    if "judge" not in facts or not versions:
        return []
    if len(versions) == 1:
        return [f"As the judge {_name(facts)} says, version {versions[0]}."]
    said = " and ".join([", ".join(map(str, versions[:-1])), str(versions[-1])])
    where = "Dashed: another version begins; rates before and after are those of two judges."
    if not facts.get("judge_changes"):
        where = "The versions are mixed in every period."
    return [f"As the judge {_name(facts)} says, versions {said}. {where}"]


def _name(facts: dict[str, Any]) -> str:
    return f"“{theme.plain(facts['judge'], _NAME_CHARS)}”"
