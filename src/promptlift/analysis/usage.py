"""Usage of the billing period against its limits, and where it ends at the pace so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.reading import collect, facts_of, names_of, require, with_provenance
from promptlift.analysis.spans import instant
from promptlift.stats.intervals import rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["usage"]

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
        One row a resource: ``resource``, ``used``, ``limit`` (missing: unlimited), ``used_share`` of the limit,
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
