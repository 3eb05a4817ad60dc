"""What else differs between two groups: issues, topics, length and cost, and segments where the difference is another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.compare import compare
from promptlift.analysis.measures import MEASURES
from promptlift.analysis.mentions import find_mentions, judged_rows
from promptlift.analysis.periods import check_zone
from promptlift.analysis.reading import collect, names_of, require, with_provenance
from promptlift.analysis.segments import judged_outcomes, splits_of
from promptlift.analysis.sentences import other_difference_sentence
from promptlift.stats import compare_unpaired
from promptlift.stats.holm import holm
from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import NDArray

__all__ = ["MEASURES", "what_else"]

COLUMNS: Final = (
    "kind", "name", "verdict", "difference", "difference_low", "difference_high", "unit", "value", "value_control",
    "n", "n_control", "p", "p_holm",
)  # fmt: skip
_TEXTS: Final = ("kind", "name", "verdict", "unit")
_MOST_TITLES: Final = 20
_FEWEST_MENTIONS: Final = 5
_FEWEST_IN_A_CELL: Final = 20


def what_else(
    conversations: Any,
    *,
    by: str,
    variant: Any,
    control: Any,
    outcome: str = "task_completed",
    level: float = 0.95,
    tz: str | tzinfo = "UTC",
) -> pd.DataFrame:
    """Compute in what else two groups differ than in their completion.

    Parameters
    ----------
    conversations
        Table with ``by`` and whatever is there of ``issues``, ``topics``, length, tokens, cost, latency, tool calls and
        errors, quality, sentiment, and columns to split by.
    by
        Column of the group.
    variant, control
        The two groups.
    outcome
        Column of true and false whose difference may be another in a segment.
    level
        Coverage of each interval; ``1 - level`` bounds the chance of any false alarm in the table.
    tz
        Zone whose clock says the hour.

    Returns
    -------
    DataFrame
        One row a comparison, the surest first: ``kind`` (``issue``, ``topic``, ``measure``, ``segment``), ``name``,
        ``verdict`` (``higher``, ``lower``, ``unclear``), ``difference`` with its interval, its ``unit`` (``points`` or
        the measure), ``value`` and ``value_control`` (shares as fractions, means; of a segment the difference of the
        two groups inside and outside, in points), ``n``, ``n_control``, ``p``, and ``p_holm``, adjusted over the whole
        table. ``attrs["promptlift"]["sentences"]`` says each row.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When an argument cannot be used.
    """
    level, zone = check_level(level), check_zone(tz)
    require(conversations, [outcome], by=by)
    present = names_of(conversations)
    frame = collect(conversations, present)
    frame = frame[frame[by].isin([variant, control]).to_numpy(dtype=bool)].reset_index(drop=True)
    inside = (frame[by] == variant).to_numpy(dtype=bool, na_value=False)
    rows = [
        *(
            row
            for kind in ("issue", "topic")
            if f"{kind}s" in frame
            for row in _mentions(frame, inside, kind, level)
        ),
        *_measures(frame, by, variant, control, level),
        *_segments(frame, inside, by, outcome, level, zone),
    ]
    _decide(rows, level)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    dtypes = {
        name: "str" if name in _TEXTS else "int64" if name in ("n", "n_control") else "float64"
        for name in COLUMNS
    }
    table = table.astype(dtypes).sort_values("p", kind="stable", ignore_index=True)
    result = with_provenance(
        table,
        conversations,
        "what_else",
        by=by,
        outcome=outcome,
        level=level,
        variant=variant,
        control=control,
    )
    about = result.attrs["promptlift"]
    about["sentences"] = [other_difference_sentence(row, about) for row in table.to_dict("records")]
    return result


def _mentions(
    frame: pd.DataFrame, inside: NDArray[np.bool_], kind: str, level: float
) -> list[dict[str, Any]]:
    column = f"{kind}s"
    judged = judged_rows(frame, column)
    found = find_mentions(frame.loc[judged, column], column)
    side = inside[judged].astype(int)
    n0, n1 = np.bincount(side, minlength=2).tolist()
    counts = np.bincount(found.title * 2 + side[found.row], minlength=2 * len(found.titles)).reshape(-1, 2)
    total = counts.sum(axis=1)
    often = [at for at in np.argsort(-total, kind="stable") if total[at] >= _FEWEST_MENTIONS][:_MOST_TITLES]
    rows = []
    for at in often if n0 and n1 else []:
        x0, x1 = counts[at].tolist()
        test = compare_unpaired(x1, n1, x0, n0, level=level)
        ends = test.lift_points, test.lift_points_low, test.lift_points_high
        rows.append(_row(kind, found.titles[at], ends, "points", (x1 / n1, x0 / n0), (n1, n0), test.p))
    return rows


def _measures(frame: pd.DataFrame, by: str, variant: Any, control: Any, level: float) -> list[dict[str, Any]]:
    rows = []
    for name in MEASURES:
        if name not in frame or not pd.api.types.is_numeric_dtype(frame[name].dtype):
            continue
        finite = frame[np.isfinite(frame[name].to_numpy(np.float64, na_value=np.nan))]
        if finite.groupby(by, observed=True).size().reindex([variant, control]).fillna(0).min() < 2:
            continue
        row = compare(finite, by=by, outcome=name, control=control, kind="score", level=level).iloc[0]
        ends = tuple(row[f"difference{end}"] for end in ("", "_low", "_high"))
        means, sizes = (row["mean"], row["mean_control"]), (row["n"], row["n_control"])
        rows.append(_row("measure", name, ends, name, means, sizes, row["p"]))
    return rows


def _segments(
    frame: pd.DataFrame, inside: NDArray[np.bool_], by: str, outcome: str, level: float, zone: tzinfo
) -> list[dict[str, Any]]:
    """Compare the difference of the two groups within each segment with that in the rest of its column."""
    # What makes the groups cannot split them, and neither can what the length of a conversation brings about.
    others = frame.drop(columns=[by, *(name for name in MEASURES if name in frame)], errors="ignore")
    splits, done = splits_of(
        others, outcome=outcome, by=None, pairs=False, smallest=2 * _FEWEST_IN_A_CELL,
        bins=4, zone=zone,
    )  # fmt: skip
    known, _ = judged_outcomes(others, outcome)
    side = inside[known]
    rows = []
    for split in splits:
        for segment in split.segments[:1] if len(split.segments) == 2 and split.exclusive else split.segments:
            rest = split.known & ~segment.members
            cells = [(mask & group) for mask in (segment.members, rest) for group in (side, ~side)]
            n = np.array([cell.sum() for cell in cells])
            if n.min() < _FEWEST_IN_A_CELL:
                continue
            x = np.array([done[cell].sum() for cell in cells])
            name = f"{split.column} {segment.label}"
            rows.append(_interaction(name, x, n, level))
    return rows


def _interaction(name: str, x: NDArray[np.int64], n: NDArray[np.int64], level: float) -> dict[str, Any]:
    """Test whether a difference is another inside a segment: Wald's test with one success and one failure added."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415  (rates never need it)

    rate = (x + 1) / (n + 2)
    error = math.sqrt(float((rate * (1 - rate) / (n + 2)).sum()))
    within, outside = (100 * (x[0] / n[0] - x[1] / n[1]), 100 * (x[2] / n[2] - x[3] / n[3]))
    smoothed = (rate[0] - rate[1]) - (rate[2] - rate[3])
    p = 2.0 * float(ndtr(-abs(smoothed) / error))
    half = 100 * float(ndtri(0.5 + level / 2)) * error
    ends = (within - outside, 100 * smoothed - half, 100 * smoothed + half)
    return _row("segment", name, ends, "points", (within, outside), (int(n[:2].sum()), int(n[2:].sum())), p)


def _row(
    kind: str,
    name: str,
    ends: tuple[Any, ...],
    unit: str,
    values: tuple[Any, Any],
    sizes: tuple[Any, Any],
    p: Any,
) -> dict[str, Any]:
    difference, low, high = ends
    return {
        "kind": kind, "name": name, "difference": difference, "difference_low": low, "difference_high": high,
        "unit": unit, "value": values[0], "value_control": values[1], "n": sizes[0], "n_control": sizes[1], "p": p,
    }  # fmt: skip


def _decide(rows: list[dict[str, Any]], level: float) -> None:
    p = [1.0 if pd.isna(row["p"]) else float(row["p"]) for row in rows]
    for row, value, adjusted in zip(rows, p, holm(p).tolist() if p else [], strict=True):
        low, high = row["difference_low"], row["difference_high"]
        clear = adjusted < 1.0 - level and not pd.isna(low) and not low <= 0.0 <= high
        row["p"], row["p_holm"] = value, adjusted
        row["verdict"] = ("higher" if low > 0.0 else "lower") if clear else "unclear"
