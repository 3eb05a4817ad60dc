"""Marks where the version or the model of a judge changes: rates before and after are those of two judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.plots import theme
from promptlift.plots.periods import day_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["mark_versions", "verdict_label", "version_notes"]

_NAME_CHARS: Final = 40


def verdict_label(facts: dict[str, Any]) -> str | None:
    """Return the label of the axis of a judge's verdicts; ``None`` where the table is not of verdicts."""
    if "judge" not in facts:
        return None
    return f"Yes to {_name(facts)}"


def mark_versions(ax: Axes, facts: dict[str, Any]) -> None:
    """Draw a dashed line at the start of each period in which the version of the judge or its model changes."""
    changes = facts.get("judge_changes", ())
    if not changes:
        return
    at = day_numbers(pd.DatetimeIndex([pd.Timestamp(one["at"]) for one in changes]))
    for day, change in zip(at, changes, strict=True):
        line = ax.axvline(day, color=theme.foreground(), linestyle="--", linewidth=1.0, alpha=0.7, zorder=1)
        line.set_gid("judge-version")
        ax.annotate(
            _words(change), (day, 1.0), xycoords=("data", "axes fraction"), xytext=(3, -3), textcoords="offset points",
            ha="left", va="top", fontsize="small", color=theme.foreground(),
        )  # fmt: skip


def version_notes(facts: dict[str, Any]) -> list[str]:
    """Return the notes that say which versions and models of a judge are drawn."""
    versions, models = facts.get("judge_versions", []), facts.get("judge_models", [])
    if "judge" not in facts or not versions:
        return []
    said = f"As the judge {_name(facts)} says, version{'s' * (len(versions) > 1)} {_listed(versions)}"
    if len(models) > 1:
        said += f", by {_listed(models)}"
    changing = [name for name, some in (("version", versions), ("model", models)) if len(some) > 1]
    if not changing:
        return [f"{said}."]
    if "judge_changes" not in facts:
        where = "Their verdicts are mixed here, as if they were those of one judge."
    elif facts["judge_changes"]:
        where = (
            f"Dashed: another {' or '.join(changing)} begins; rates before and after are those of two judges."
        )
    else:
        where = f"The {' and '.join(f'{name}s' for name in changing)} are mixed in every period."
    return [f"{said}. {where}"]


def _listed(names: Sequence[Any]) -> str:
    texts = [theme.plain(str(one), _NAME_CHARS) for one in names]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _words(change: dict[str, str]) -> str:
    before, after = (f"v{theme.plain(change[name], _NAME_CHARS)}" for name in ("before", "after"))
    # Names of models are long: one below the other.
    return f"{before} → {after}" if "(" not in before + after else f"{before}\n→ {after}"


def _name(facts: dict[str, Any]) -> str:
    return f"“{theme.plain(facts['judge'], _NAME_CHARS)}”"
