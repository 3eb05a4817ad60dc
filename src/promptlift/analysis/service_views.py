"""The numbers behind the service's own views: grouped issues, failing steps, the fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.mentions import check_top
from promptlift.analysis.periods import instant
from promptlift.analysis.reading import collect, facts_of, names_of, require, with_provenance
from promptlift.stats.intervals import rate
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from numpy.typing import NDArray


def top_issues(table: Any, *, top: int | None = 10) -> pd.DataFrame:
    """Order grouped issues by the completion that goes with them.

    Parameters
    ----------
    table
        As ``lift.views.top_issues(prompt_id)`` gives it.
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
        As ``lift.views.step_failures(prompt_id)`` gives it.
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
        As ``lift.views.fleet()`` gives it.
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


_HIGHER_IS_WORSE: Final = ("abandonment", "response_time", "length")
_FORMATS: Final = {
    "task_completion": "{:.1f} %",
    "sentiment": "{:+.2f}",
    "quality": "{:.1f}",
    "abandonment": "{:.1f} %",
    "response_time": "{:,.1f} s",
    "length": "{:,.1f} messages",
}


def production_metrics(table: Any) -> pd.DataFrame:
    """Compare every production metric before and after a text went live, with its test.

    Parameters
    ----------
    table
        As ``lift.optimizations[optimization_id].production_metrics()`` gives it.

    Returns
    -------
    DataFrame
        ``metric``, ``before``, ``after``, ``change`` (after less before), ``got_worse`` (whichever way is worse for the
        metric, however small), ``n_before``, ``n_after``, ``p`` (one-sided, adjusted over the six metrics and the windows),
        ``level`` (a ``p`` below it is harm) and ``regressed``.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    names = ["metric", "before", "after", "conversations_before", "conversations", "p", "level", "regressed"]
    frame = collect(table, require(table, names, of="production_metrics"))
    frame = frame.rename(columns={"conversations_before": "n_before", "conversations": "n_after"})
    change = frame["after"] - frame["before"]
    rising = frame["metric"].astype("str").isin(_HIGHER_IS_WORSE)
    frame.insert(3, "change", change)
    frame.insert(4, "got_worse", change.where(rising, -change) > 0)
    return with_provenance(frame.reset_index(drop=True), table, "production_metrics")


def metric_name(metric: Any) -> str:
    """Return the name of a metric as people read it; one that is not known keeps its own."""
    name = str(metric)
    return name.replace("_", " ").capitalize() if name in _FORMATS else name


def metric_text(metric: Any, value: float) -> str:
    """Format the value of a metric with its unit and a typographic minus."""
    return _FORMATS.get(str(metric), "{:.4g}").format(value).replace("-", "−")


def targets(table: Any) -> pd.DataFrame:
    """Order the targets of an optimization by how much they improved.

    Parameters
    ----------
    table
        As ``lift.optimizations[optimization_id].targets()`` gives it.

    Returns
    -------
    DataFrame
        ``target``, ``change`` (``improved``, ``worse``, ``unchanged``, ``unclear``), ``original_met`` and ``variant_met``
        (percent), ``difference`` in percentage points with ``difference_low`` and ``difference_high``, ``n_pairs``.

        ``attrs["promptlift"]`` has the hypothesis with whether it held, the level of the intervals, and whether it is a rehearsal.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    names = [
        *("target", "change", "original_met", "variant_met", "points", "points_low", "points_high"),
        *("interval_level", "n_pairs"),
    ]
    frame = collect(table, require(table, names, of="targets"))
    levels = frame.pop("interval_level").dropna()
    renamed = {
        "points": "difference",
        "points_low": "difference_low",
        "points_high": "difference_high",
    }
    frame = frame.rename(columns=renamed).sort_values(
        "difference", ascending=False, kind="stable", na_position="last"
    )
    return with_provenance(
        frame.reset_index(drop=True),
        table,
        "targets",
        hypothesis=facts_of(table).get("hypothesis"),
        rehearsal=facts_of(table).get("rehearsal"),
        level=float(levels.iloc[0]) if len(levels) else None,
    )


# Counted as they stand, not added up over the period.
_STOCKS = ("prompts",)
# Earlier in the period, one busy day would be taken for the month.
_ELAPSED_NEEDED = 0.1


def usage(table: Any, *, now: Any = None) -> pd.DataFrame:
    """Compare usage with its limits, and project it to the end of the period.

    The projection continues the average pace of the period so far. It has no interval, because a total does not
    show how the days differ; it ignores a change of pace, weekends and holidays. There is none in the first tenth of
    the period, and none for prompts, which are a current count and not a sum.

    Parameters
    ----------
    table
        Usage as ``lift.usage()`` gives it: ``resource``, ``used``, ``limit``, ``period_start``, ``period_end``.
    now
        The time to project from; by default when the table was read, else the present.

    Returns
    -------
    DataFrame
        One row per resource: ``resource``, ``used``, ``limit`` (missing: unlimited), ``used_share`` of the limit,
        ``elapsed`` share of the period, ``projected`` use at its end, ``projected_share`` of the limit, ``full_at``,
        when the limit is reached at this pace (missing when not within the period), ``running``, ``period_start``,
        ``period_end``. Shares are fractions and can be above 1; NaN where there is no limit or no projection.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``now`` is no time.
    """
    columns = require(table, ["resource", "used", "limit", "period_start", "period_end"], of="usage")
    running = [name for name in ("running",) if name in names_of(table)]
    frame = collect(table, [*columns, *running]).reset_index(drop=True)
    at = pd.Timestamp(_present(table) if now is None else instant(now, "now"), unit="us", tz="UTC")
    start, end = (pd.to_datetime(frame[name], utc=True).astype("datetime64[us, UTC]") for name in columns[3:])
    used, limit = (_numbers(frame[name]) for name in ("used", "limit"))
    elapsed = _numbers(((at - start) / (end - start)).clip(0.0, 1.0))
    flow = ~frame["resource"].isin(_STOCKS).to_numpy()
    ready = flow & (elapsed >= _ELAPSED_NEEDED)
    projected = np.full(len(used), np.nan)
    np.divide(used, elapsed, out=projected, where=ready)
    result = pd.DataFrame(
        {
            "resource": frame["resource"].astype("str"),
            "used": frame["used"].astype("Int64"),
            "limit": frame["limit"].astype("Int64"),
            "used_share": rate(used, limit),
            "elapsed": elapsed,
            "projected": projected,
            "projected_share": rate(projected, limit),
            "full_at": _full_at(start, at, used, limit, projected),
            "running": frame["running"].astype("Int64")
            if running
            else pd.array([None] * len(frame), dtype="Int64"),
            "period_start": start,
            "period_end": end,
        }
    )
    return with_provenance(result, table, "usage_projection", by=None, now=at.isoformat())


def _present(table: Any) -> int:
    """Return when the table was read, as it says, or now."""
    fetched = facts_of(table).get("fetched_at")
    return instant(fetched if fetched is not None else pd.Timestamp.now("UTC"), "fetched_at")


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    return np.asarray(column.astype("float64").to_numpy(na_value=np.nan), np.float64)


def _full_at(
    start: pd.Series[Any],
    now: pd.Timestamp,
    used: NDArray[np.float64],
    limit: NDArray[np.float64],
    projected: NDArray[np.float64],
) -> pd.Series[Any]:
    """Compute when the limit is reached at the pace so far; never before now, and only within the period."""
    pace = np.divide(limit, used, out=np.full(len(used), np.nan), where=(used > 0) & (projected >= limit))
    full = (start + (now - start) * pace).astype("datetime64[us, UTC]")
    # What is full already filled at an unknown time.
    later: pd.Series[Any] = full.mask(pd.Series(used >= limit))
    return later
