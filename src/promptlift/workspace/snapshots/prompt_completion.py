"""Task completion of the prompts of a snapshot, as the embedded service sends it with their list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.frames.layouts import CONVERSATIONS, INSIGHT_VALUES
from promptlift.schema.basis import weakest
from promptlift.snapshot.columns import frame_of
from promptlift.stats import wilson

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    Row = dict[str, Any]

_NEEDED = ("prompt_id", "status", "has_insights", "task_completed", "started_at", "basis")
COLUMNS = tuple(column for column in (*CONVERSATIONS, *INSIGHT_VALUES) if column.name in _NEEDED)
_WEEKS = 8


def completion_by_prompt(conversations: pa.Table) -> dict[str, Row]:
    """Return the completion of each prompt, by its id.

    Parameters
    ----------
    conversations
        With the columns of :data:`COLUMNS`.
    """
    import pandas as pd  # noqa: PLC0415  takes its time to load

    frame = frame_of(conversations, COLUMNS)
    end = frame["started_at"].max()
    if pd.isna(end):
        return {}
    last = end.floor("D") + pd.Timedelta(days=1)
    starts = [last - pd.Timedelta(weeks=number) for number in range(_WEEKS, 0, -1)]
    return {str(prompt_id): _completion(rows, starts) for prompt_id, rows in frame.groupby("prompt_id")}


def _completion(rows: pd.DataFrame, starts: list[pd.Timestamp]) -> Row:
    judged = rows[rows["task_completed"].notna() & (rows["status"] != "in_progress")]
    n, done = len(judged), int(judged["task_completed"].sum())
    low, high = (float(one) * 100 if n else None for one in wilson(done, n))
    weeks = []
    for start in starts:
        began = judged["started_at"]
        done_then = judged["task_completed"][(began >= start) & (began < start + (starts[1] - starts[0]))]
        weeks.append({"from": start.isoformat(), "judged": len(done_then), "completed": int(done_then.sum())})
    return {
        "conversations": len(rows),
        "withInsights": int(rows["has_insights"].sum()),
        "judged": n,
        "completed": done,
        "rate": done / n * 100 if n else None,
        "rateLow": low,
        "rateHigh": high,
        "basis": weakest(judged["basis"].dropna().unique()),
        "weeks": weeks,
    }
