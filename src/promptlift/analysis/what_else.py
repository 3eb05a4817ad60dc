"""What else differs between two groups: issues, topics, length and cost, and segments where the difference is another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.compare import compare
from promptlift.analysis.engines import ROWS
from promptlift.analysis.long_mentions import TITLE
from promptlift.analysis.measures import MEASURES
from promptlift.analysis.mentions import count_mentioned
from promptlift.analysis.periods import check_zone
from promptlift.analysis.reading import (
    JUDGED,
    basis_of,
    count_by_key,
    rows_with,
    with_provenance,
)
from promptlift.analysis.segments import splits_of
from promptlift.analysis.sentences import other_difference_sentence
from promptlift.schema.basis import may_tell
from promptlift.stats import compare_unpaired
from promptlift.stats.differences import FEWEST
from promptlift.stats.intervals import check_level
from promptlift.stats.multiplicity import holm

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import NDArray

COLUMNS: Final = (
    "kind", "name", "verdict", "difference", "difference_low", "difference_high", "unit", "value", "value_control",
    "n", "n_control", "p", "p_holm",
)  # fmt: skip
_TEXTS: Final = ("kind", "name", "verdict", "unit")
_MOST_TITLES: Final = 20
_FEWEST_MENTIONS: Final = 5
_FEWEST_IN_A_CELL: Final = 20


def what_else(
    conversations: pd.DataFrame,
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
        One row per comparison, the surest first (no topics between prompts that each have their own): ``kind`` (``issue``, ``topic``, ``measure``, ``segment``), ``name``,
        ``verdict`` (``higher``, ``lower``, ``unclear``), ``difference`` with its interval, its ``unit`` (``points`` or
        the measure), ``value`` and ``value_control`` (shares as fractions, means; of a segment the difference of the
        two groups inside and outside, in points), ``n``, ``n_control``, ``p``, and ``p_holm``, adjusted over the whole
        table. ``attrs["promptlift"]["sentences"]`` says each row.
    """
    level, zone = check_level(level), check_zone(tz)
    two = _Two(rows_with(conversations, by, [variant, control]), by, variant, control, outcome, level)
    topics = [] if _have_own_topics(two) else _mentions(two, "topic")
    rows = [*_mentions(two, "issue"), *topics, *_measures(two), *_segments(two, zone)]
    _decide(rows, level)
    table = _table(rows)
    result = with_provenance(
        table,
        conversations,
        "what_else",
        by=by,
        outcome=outcome,
        level=level,
        variant=variant,
        control=control,
        n_tests=len(table),
    )
    about = result.attrs["promptlift"]
    about["sentences"] = [other_difference_sentence(row, about) for row in table.to_dict("records")]
    return result


@dataclass(frozen=True)
class _Two:
    """The conversations of the two groups, and how to compare them."""

    table: pd.DataFrame
    by: str
    variant: Any
    control: Any
    outcome: str
    level: float


def _have_own_topics(two: _Two) -> bool:
    """Return whether the groups have topics that cannot be compared: the service finds those of each prompt by itself."""
    if not {"prompt_id", "analyser"} <= {*two.table} or not two.table["analyser"].eq("lexicon").any():
        return False
    variant, control = (
        {*two.table.loc[two.table[two.by] == side, "prompt_id"]} for side in (two.variant, two.control)
    )
    return variant.isdisjoint(control)


def _mentions(two: _Two, kind: str) -> list[dict[str, Any]]:
    column = f"{kind}s"
    if column not in two.table:
        return []
    counted = count_mentioned(two.table, None, column, [two.by])
    title, different = pd.factorize(counted.found[TITLE])
    titles = list(map(str, different))
    counts = _by_side(counted.found, two, title, len(titles))
    ((n0, n1),) = _by_side(counted.everyone, two, np.zeros(len(counted.everyone), np.intp), 1).tolist()
    total = counts.sum(axis=1).tolist()
    often = sorted(range(len(titles)), key=lambda at: (-total[at], titles[at]))[:_MOST_TITLES]
    rows = []
    for at in (at for at in often if total[at] >= _FEWEST_MENTIONS and n0 and n1):
        x0, x1 = counts[at].tolist()
        test = compare_unpaired(x1, n1, x0, n0, level=two.level)
        ends = test.lift_points, test.lift_points_low, test.lift_points_high
        rows.append(_row(kind, titles[at], ends, "points", (x1 / n1, x0 / n0), (n1, n0), test.p))
    return rows


def _by_side(counted: pd.DataFrame, two: _Two, place: NDArray[np.intp], places: int) -> NDArray[np.int64]:
    """Count conversations by their place, of the control and of the variant."""
    side = (counted[two.by] == two.variant).to_numpy(dtype=bool, na_value=False)
    return count_by_key(2 * place + side, 2 * places, counted[ROWS].to_numpy(np.int64)).reshape(-1, 2)


def _measures(two: _Two) -> list[dict[str, Any]]:
    rows = []
    for name in MEASURES:
        # What a word list judged has no direction.
        told = name not in JUDGED or may_tell(basis_of(two.table, name))
        if name not in two.table or not told or not pd.api.types.is_numeric_dtype(two.table[name].dtype):
            continue
        finite = two.table[np.isfinite(two.table[name].to_numpy(np.float64, na_value=np.nan))]
        sizes = finite[two.by].value_counts()
        if len(sizes) < 2 or sizes.min() < 2:
            continue
        options: Any = {"by": two.by, "control": two.control, "kind": "score", "level": two.level}
        row = compare(finite, outcome=name, **options).iloc[0]
        ends = tuple(row[f"difference{end}"] for end in ("", "_low", "_high"))
        means, sizes = (row["mean"], row["mean_control"]), (row["n"], row["n_control"])
        rows.append(_row("measure", name, ends, name, means, sizes, row["p"]))
    return rows


def _segments(two: _Two, zone: tzinfo) -> list[dict[str, Any]]:
    """Compare the difference of the two groups within each segment with that in the rest of its column."""
    if not may_tell(basis_of(two.table, two.outcome)):
        return []
    # What makes the groups cannot split them, and neither can what the length of a conversation brings about.
    found = splits_of(
        two.table, outcome=two.outcome, by=None, pairs=False, zone=zone, side=(two.by, two.variant), without=(two.by, *MEASURES),
    )  # fmt: skip
    rows = []
    for split in found.splits:
        for segment in split.segments:
            # Inside and in the rest, the variant before the control.
            cells = np.concatenate([segment.counts[::-1], (split.totals - segment.counts)[::-1]])
            n, x = cells.sum(axis=1), cells[:, 1]
            if n.min() < _FEWEST_IN_A_CELL:
                continue
            rows.append(_interaction(f"{split.column} {segment.label}", x, n, two.level))
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


def _table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the comparisons as a table, the surest first."""
    dtypes = {
        name: "str" if name in _TEXTS else "int64" if name in ("n", "n_control") else "float64"
        for name in COLUMNS
    }
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype(dtypes)
    return table.sort_values(["p", "kind", "name"], ignore_index=True)


def _decide(rows: list[dict[str, Any]], level: float) -> None:
    p = [1.0 if pd.isna(row["p"]) else float(row["p"]) for row in rows]
    for row, value, adjusted in zip(rows, p, holm(p).tolist() if p else [], strict=True):
        low, high = row["difference_low"], row["difference_high"]
        clear = adjusted < 1.0 - level and not pd.isna(low) and not low <= 0.0 <= high
        clear = clear and min(row["n"], row["n_control"]) >= FEWEST
        row["p"], row["p_holm"] = value, adjusted
        row["verdict"] = ("higher" if low > 0.0 else "lower") if clear else "unclear"
