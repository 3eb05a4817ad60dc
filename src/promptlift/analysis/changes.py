"""Which issues and topics became more or less frequent from one span of time to the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from promptlift.analysis.mentions import SEVERITIES, check_top, find_mentions, judged_rows
from promptlift.analysis.period_counts import NO_TIME, started, times_of
from promptlift.analysis.reading import collect, names_of, require, with_provenance
from promptlift.analysis.spans import Span, two_spans
from promptlift.stats import compare_unpaired
from promptlift.stats.holm import holm
from promptlift.stats.intervals import check_level, rate_and_interval

__all__ = ["issue_changes", "topic_changes"]


def issue_changes(
    conversations: Any,
    *,
    at: Any = None,
    window: Any = None,
    periods: Any = None,
    top: int | None = 10,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compute how the share of conversations with each issue changed, with Newcombe's interval.

    This shows that something changed between two spans of time, not why: the users may have changed too.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``issues`` and ``started_at`` or ``created_at``.
    at
        A time, such as that of an apply: what came before is compared with what came after. Times without a zone
        are UTC.
    window
        How long each span is, such as ``"30D"``: with ``at``, before and after it; alone, the last 30 days are
        compared with the 30 before them.
    periods
        Instead, two pairs of times, ``((from, to), (from, to))``; an end does not belong to its span.
    top
        How many issues to compare, the most frequent of both spans together; None compares all.
    level
        Coverage of each interval, and of the decision over all issues together.

    Returns
    -------
    DataFrame
        One row an issue, the most frequent first: ``issue``; ``n_before`` conversations with it of ``total_before``
        with insights, ``share_before`` with ``share_low_before`` and ``share_high_before`` (fractions, Wilson's
        interval), the same ending in ``_after``; ``difference`` of the shares in percentage points,
        ``difference_low``, ``difference_high``; Fisher's exact ``p``, ``p_holm`` adjusted over the rows, and
        ``change``: ``"more"``, ``"fewer"``, or ``"unclear"`` where chance explains it; ``severity``, the worst one
        named; ``example_id``, the last conversation that has it. ``attrs["promptlift"]`` says both spans.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When nothing says what to compare, or an argument cannot be used.
    """
    return _changes(conversations, "issues", "issue", (at, window, periods), top=top, level=level)


def topic_changes(
    conversations: Any,
    *,
    at: Any = None,
    window: Any = None,
    periods: Any = None,
    top: int | None = 10,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compute how the share of conversations about each topic changed, with Newcombe's interval.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``topics`` and ``started_at`` or ``created_at``.
    at, window, periods
        The two spans, as for ``issue_changes``.
    top
        How many topics to compare; None compares all.
    level
        Coverage of each interval, and of the decision over all topics together.

    Returns
    -------
    DataFrame
        As of ``issue_changes``, with ``topic`` first and without ``severity``.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When nothing says what to compare, or an argument cannot be used.
    """
    found = _changes(conversations, "topics", "topic", (at, window, periods), top=top, level=level)
    return found.drop(columns="severity")


def _changes(
    conversations: Any, column: str, label: str, spans: tuple[Any, Any, Any], *, top: int | None, level: float
) -> pd.DataFrame:
    level = check_level(level)
    check_top(top)
    columns = require(conversations, ["conversation_id", column])
    times = times_of(conversations)
    optional = [name for name in ("has_insights",) if name in names_of(conversations)]
    frame = collect(conversations, [*columns, *times, *optional])
    began = started(frame, times)
    dated = began != NO_TIME
    at, window, periods = spans
    earlier, later = two_spans(began[dated], at=at, window=window, periods=periods)
    judged = judged_rows(frame, column) & dated
    side = np.where(earlier.contains(began), 0, np.where(later.contains(began), 1, -1))
    kept = judged & (side >= 0)
    order = np.argsort(began[kept], kind="stable")
    frame, side = frame[kept].iloc[order], side[kept][order]
    found = find_mentions(frame[column], column)
    size = len(found.titles)
    n = np.bincount(found.title * 2 + side[found.row], minlength=2 * size).reshape(-1, 2)
    severity = np.full(size, -1)
    np.maximum.at(severity, found.title, found.severity)
    last = np.zeros(size, np.intp)
    last[found.title] = found.row
    both, worst = n.sum(axis=1).tolist(), severity.tolist()
    chosen = sorted(range(size), key=lambda i: (-both[i], -worst[i], found.titles[i]))[:top]
    totals = np.bincount(side, minlength=2)
    table = pd.DataFrame(
        {
            label: pd.Series([found.titles[i] for i in chosen], dtype="str"),
            **_numbers(n[chosen], totals, level),
            "severity": pd.Categorical.from_codes(
                severity[chosen], categories=pd.Index(SEVERITIES), ordered=True
            ),
            "example_id": pd.Series(frame["conversation_id"].to_numpy(object)[last[chosen]], dtype="str"),
        }
    )
    facts = {
        "by": None,
        "level": level,
        "n_titles": size,
        "n_before": int(totals[0]),
        "n_after": int(totals[1]),
        "n_undated": int((~dated).sum()),
        **_span_facts("before", earlier),
        **_span_facts("after", later),
    }
    return with_provenance(table, conversations, f"{label}_changes", **facts)


def _numbers(n: np.ndarray[Any, Any], totals: np.ndarray[Any, Any], level: float) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for place, name in enumerate(("before", "after")):
        count, total = n[:, place], np.full(len(n), totals[place])
        share, low, high = rate_and_interval(count, total, level=level)
        columns |= {f"n_{name}": count, f"total_{name}": total, f"share_{name}": share}
        columns |= {f"share_low_{name}": low, f"share_high_{name}": high}
    tests = [
        compare_unpaired(int(after), int(totals[1]), int(before), int(totals[0]), level=level)
        for before, after in n
    ]
    ends = {
        "difference": "lift_points",
        "difference_low": "lift_points_low",
        "difference_high": "lift_points_high",
    }
    for name, source in ends.items():
        columns[name] = np.array([getattr(test, source) for test in tests], np.float64)
    p = np.array([test.p for test in tests], np.float64)
    adjusted = holm(p)
    sign = np.where(np.nan_to_num(columns["difference"]) > 0, "more", "fewer")
    columns |= {"p": p, "p_holm": adjusted}
    columns["change"] = pd.Series(np.where(adjusted < 1 - level, sign, "unclear"), dtype="str")
    return columns


def _span_facts(name: str, span: Span) -> dict[str, str | None]:
    low, high = (None if end is None else end.isoformat() for end in span.ends)
    return {f"{name}_from": low, f"{name}_to": high}
