"""The numbers behind the service's own views: grouped issues, failing steps, the fleet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from promptlift.analysis.mentions import check_top
from promptlift.analysis.reading import collect, require, with_provenance
from promptlift.words.figures import is_missing

__all__ = ["fleet", "step_failures", "top_issues"]


def top_issues(table: Any, *, top: int | None = 10) -> pd.DataFrame:
    """Order grouped issues by the completion that goes with them.

    Parameters
    ----------
    table
        As ``lift.top_issues(prompt_id)`` gives it.
    top
        How many rows to keep; ``None`` keeps all.

    Returns
    -------
    DataFrame
        ``issue``, ``n``, ``impact``, ``share_pct``, ``completion_with_pct``, ``completion_without_pct``,
        ``impact_points`` with ``impact_points_low`` and ``impact_points_high``, and ``lost_points``: the share times the
        impact: how many points of completion go with the issue, and not because of it; NaN where the service gave no impact in points.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``top`` is no count.
    """
    names = [
        *("issue", "n", "impact", "share_pct", "completion_with_pct", "completion_without_pct"),
        *("impact_points", "impact_points_low", "impact_points_high"),
    ]
    frame = collect(table, require(table, names, of="top_issues"))
    frame["lost_points"] = np.maximum(0.0, -frame["impact_points"] * frame["share_pct"] / 100.0)
    result = _best(frame.sort_values(["lost_points", "n"], ascending=False, kind="stable"), top)
    return with_provenance(result, table, "top_issues", top=top)


def step_failures(table: Any, *, top: int | None = 10) -> pd.DataFrame:
    """Compute which share of all failures first went wrong in each step.

    Parameters
    ----------
    table
        As ``lift.step_failures(prompt_id)`` gives it.
    top
        How many rows to keep; ``None`` keeps all.

    Returns
    -------
    DataFrame
        ``step``, ``n`` that reached it, ``failed``, ``failure_pct`` with ``failure_pct_low`` and ``failure_pct_high``,
        ``failures_pct`` of all failures, ``main_kind`` (what went wrong most often there), ``median_turn``.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``top`` is no count.
    """
    names = [
        *("step", "n", "failed", "failure_pct", "failure_low_pct", "failure_high_pct"),
        *("kinds", "median_turn"),
    ]
    frame = collect(table, require(table, names, of="step_failures"))
    frame = frame.rename(
        columns={"failure_low_pct": "failure_pct_low", "failure_high_pct": "failure_pct_high"}
    )
    failed = frame["failed"].astype("float64")
    whole = failed.sum()
    frame["failures_pct"] = 100.0 * failed / whole if whole else np.nan
    frame["main_kind"] = pd.array(
        [_most_frequent(kinds) for kinds in frame.pop("kinds")],
        dtype="str",
    )
    result = _best(frame.sort_values(["failed", "n"], ascending=False, kind="stable"), top)
    return with_provenance(result, table, "step_failures", top=top)


def _most_frequent(kinds: Any) -> str | None:
    """Return the kind with the largest count; engines give records in which the kinds of other rows have no count."""
    counted = {} if is_missing(kinds) else {kind: n for kind, n in dict(kinds).items() if n is not None}
    return max(counted, key=lambda kind: counted[kind]) if counted else None


def fleet(table: Any, *, top: int | None = 20) -> pd.DataFrame:
    """Order the prompts of an account by rank, and say which may be the best or the worst.

    Parameters
    ----------
    table
        As ``lift.fleet()`` gives it.
    top
        How many rows to keep; ``None`` keeps all.

    Returns
    -------
    DataFrame
        ``prompt_id``, ``name``, ``rank``, ``rank_low``, ``rank_high``, ``completion_pct`` with ``completion_pct_low`` and
        ``completion_pct_high``, ``n``, ``failed``, ``may_be_best`` and ``may_be_worst``: whether the data allow the first
        or the last place.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``top`` is no count.
    """
    names = [
        *("prompt_id", "name", "rank", "rank_low", "rank_high"),
        *("completion_pct", "completion_low_pct", "completion_high_pct", "n", "failed"),
    ]
    frame = collect(table, require(table, names, of="fleet"))
    frame = frame.rename(
        columns={"completion_low_pct": "completion_pct_low", "completion_high_pct": "completion_pct_high"}
    )
    frame["may_be_best"] = frame["rank_low"] == 1
    frame["may_be_worst"] = frame["rank_high"] >= len(frame)
    result = _best(frame.sort_values(["rank", "n"], ascending=[True, False], kind="stable"), top)
    return with_provenance(result, table, "fleet", top=top)


def _best(frame: pd.DataFrame, top: int | None) -> pd.DataFrame:
    check_top(top)
    return frame.head(len(frame) if top is None else top).reset_index(drop=True)
