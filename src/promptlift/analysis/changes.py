"""Which issues and topics became more or less frequent from one span of time to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, count_by, is_remote, open_table, with_instant
from promptlift.analysis.long_mentions import (
    EXAMPLE,
    SEVERITY,
    TITLE,
    check_engines,
    needs_long_table,
)
from promptlift.analysis.mentions import Mentioned, check_top, count_mentioned
from promptlift.analysis.period_counts import times_of
from promptlift.analysis.periods import Span, two_spans
from promptlift.analysis.reading import count_by_key, require, with_provenance
from promptlift.schema.insights import SEVERITIES
from promptlift.stats import compare_unpaired
from promptlift.stats.differences import FEWEST
from promptlift.stats.intervals import check_level, rate_and_interval
from promptlift.stats.multiplicity import holm

if TYPE_CHECKING:
    from numpy.typing import NDArray


def changes(
    conversations: Any,
    *,
    of: Literal["issues", "topics"] = "issues",
    mentions: Any = None,
    at: Any = None,
    window: Any = None,
    periods: Any = None,
    top: int | None = 10,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compute how the share of conversations with each issue or topic changed, with the interval of Miettinen and Nurminen.

    This shows that something changed between two spans of time, not why: the users may have changed too.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``issues`` or ``topics``, and ``started_at`` or ``created_at``.
    of
        The column that is compared.
    mentions
        The issues or topics as a long table instead of the lists, as for ``issues`` and ``topics``.
    at
        A time, such as that of an apply: what came before is compared with what came after. Times without a zone
        are UTC.
    window
        How long each span is, such as ``"30D"``: with ``at``, before and after it; alone, the last 30 days are
        compared with the 30 before them.
    periods
        Instead, two pairs of times, ``((from, to), (from, to))``; an end does not belong to its span.
    top
        How many issues or topics to compare, the most frequent of both spans together; None compares all.
    level
        Coverage of each interval, and of the decision over all rows together.

    Returns
    -------
    DataFrame
        One row per issue or topic, the most frequent first: ``issue`` or ``topic``; ``n_before`` conversations with it of
        ``total_before`` with insights, ``share_before`` with ``share_low_before`` and ``share_high_before`` (fractions,
        Wilson's interval), the same ending in ``_after``; ``difference`` of the shares in percentage points,
        ``difference_low``, ``difference_high``; ``p`` of the score test that the interval inverts, ``p_holm`` adjusted over
        the rows, and ``change``: ``"more"``, ``"fewer"``, or ``"unclear"`` where chance explains it or a span has fewer
        than 10 conversations; ``severity``, the worst one named (issues only); ``example_id``, the last conversation that
        has it. ``attrs["promptlift"]`` has both spans.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When neither ``at``, ``window`` nor ``periods`` is given, or an argument cannot be used.
    """
    if of not in ("issues", "topics"):
        raise ValueError(f"of must be 'issues' or 'topics', not {of!r}")
    level = check_level(level)
    check_top(top)
    label, spans = of.removesuffix("s"), (at, window, periods)
    if mentions is not None:
        check_engines(conversations, mentions, "mentions")
    elif is_remote(conversations):
        needs_long_table(conversations, of)
    tally = _count(conversations, mentions, of, spans)
    both, worst = tally.n.sum(axis=1).tolist(), tally.severity.tolist()
    chosen = sorted(range(len(both)), key=lambda i: (-both[i], -worst[i], tally.titles[i]))[:top]
    table = pd.DataFrame(
        {
            label: pd.Series([tally.titles[i] for i in chosen], dtype="str"),
            **_numbers(tally.n[chosen], tally.totals, level),
            "severity": pd.Categorical.from_codes(
                tally.severity[chosen], categories=pd.Index(SEVERITIES), ordered=True
            ),
            "example_id": pd.Series(tally.example[chosen], dtype="str"),
        }
    )
    if of == "topics":
        table = table.drop(columns="severity")
    facts = {
        "of": of,
        "by": None,
        "level": level,
        "n_titles": len(tally.titles),
        "n_tests": len(table),
        "n_before": int(tally.totals[0]),
        "n_after": int(tally.totals[1]),
        "n_undated": tally.n_undated,
        **_span_facts("before", tally.spans[0]),
        **_span_facts("after", tally.spans[1]),
    }
    return with_provenance(table, conversations, "changes", **facts)


@dataclass(frozen=True)
class _Tally:
    """Counts by title in both spans, the worst severity of each title (-1: none), and the last conversation with it."""

    titles: list[str]
    n: NDArray[np.int64]
    severity: NDArray[np.intp]
    example: NDArray[np.object_]
    totals: NDArray[np.int64]
    n_undated: int
    spans: tuple[Span, Span]


def _count(conversations: Any, mentions: Any, column: str, spans: tuple[Any, Any, Any]) -> _Tally:
    """Count the mentions of both spans, where the tables live."""
    require(conversations, ["conversation_id", *([column] if mentions is None else [])])
    frame = with_instant(open_table(conversations), times_of(conversations), "_began")
    began = nw.col("_began")
    about = count_by(frame, [], last=began.max(), dated=began.count()).iloc[0]
    last = np.array([about["last"]], np.int64) if about["dated"] else np.zeros(0, np.int64)
    at, window, periods = spans
    earlier, later = two_spans(last, at=at, window=window, periods=periods)
    inside = [(began >= span.low) & (began < span.high) for span in (earlier, later)]
    side = nw.when(inside[0]).then(nw.lit(0)).otherwise(nw.when(inside[1]).then(nw.lit(1)))
    table = frame.with_columns(_side=side).filter(~nw.col("_side").is_null()).sort("_began").to_native()
    found = count_mentioned(table, mentions, column, ["_side"], latest="_began")
    return _tally(found, int(about[ROWS] - about["dated"]), (earlier, later))


def _tally(counted: Mentioned, n_undated: int, spans: tuple[Span, Span]) -> _Tally:
    """Count mentions in the order of their times."""
    found = counted.found
    title, titles = pd.factorize(found[TITLE])
    n = np.zeros((len(titles), 2), np.int64)
    np.add.at(n, (title, found["_side"].to_numpy(np.intp)), found[ROWS].to_numpy(np.int64))
    severity = np.full(len(titles), -1)
    np.maximum.at(severity, title, found[SEVERITY].to_numpy(np.intp))
    example = np.full(len(titles), None, dtype=object)
    example[title] = found[EXAMPLE].to_numpy(dtype=object)
    totals = count_by_key(
        counted.everyone["_side"].to_numpy(np.intp), 2, counted.everyone[ROWS].to_numpy(np.int64)
    )
    return _Tally(list(map(str, titles)), n, severity, example, totals, n_undated, spans)


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
    clear = (adjusted < 1 - level) & (totals.min() >= FEWEST)
    columns["change"] = pd.Series(np.where(clear, sign, "unclear"), dtype="str")
    return columns


def _span_facts(name: str, span: Span) -> dict[str, str | None]:
    low, high = (None if end is None else end.isoformat() for end in span.ends)
    return {f"{name}_from": low, f"{name}_to": high}
