"""Plot of segments: which conversations fail more often than the rest, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from promptlift.analysis.mentions import check_top
from promptlift.analysis.reading import agreement_of
from promptlift.analysis.sentences import outcome_name, score_rule, segment_in_words
from promptlift.plots import theme
from promptlift.plots.drill_down import lead_to_conversations
from promptlift.plots.estimates import (
    corrected_notes,
    draw_differences,
    ends_of,
    fit_points,
    has_corrected,
    points_axis,
)
from promptlift.plots.judge_versions import version_notes
from promptlift.schema.basis import may_say_clearly, may_tell
from promptlift.words.figures import known

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["segments"]

_NAME_WIDTH = 44


def segments(
    data: Any,
    *,
    outcome: str = "task_completed",
    by: str | Sequence[str] | None = None,
    pairs: bool | Sequence[tuple[str, str]] = False,
    tz: Any = "UTC",
    level: float = 0.95,
    labels: Any = None,
    top: int | None = 12,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw how much less or more often each segment succeeds than the rest, the surest on top.

    The line at 0 is the rest of a segment's column. "Lower" and "higher" are said only of segments that are clear after
    Holm's correction over the whole table, shown or not; an interval is one segment's own.

    Parameters
    ----------
    data
        Any table, as for ``analysis.segments``, or its result (which then sets these arguments).
    outcome, by, pairs, tz, level
        As for ``analysis.segments``.
    labels
        Labels of people, as for ``analysis.segments``: what the judge says is hollow then, and what labels make of it filled.
    top
        How many segments to draw; None draws all.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the difference in percentage points.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.segments``, or when ``top`` cannot be used.
    """
    check_top(top)
    options = {"by": by, "pairs": pairs, "tz": tz, "level": level, "labels": labels}
    table = theme.result_of(data, "segments", outcome=outcome, **options)
    shown = table.head(len(table) if top is None else top)
    ax = theme.new_axes(ax, 1.4 + 0.5 * max(2, len(shown)))
    facts = table.attrs["promptlift"]
    words = theme.plain(outcome_name(facts).replace("_", " "), 28)
    label = f"{words}, difference to the rest in percentage points{theme.at_level(facts['level'])}"
    if shown.empty:
        theme.frame_rows(ax, label)
        none = "No segments to compare" if may_tell(facts.get("basis")) else facts["summary"]
        theme.show_empty(ax, none, ticks=False)
        notes = []
    else:
        _draw_rows(ax, shown, label, **style)
        notes = [
            *corrected_notes(shown, "difference_points"),
            *_notes(table, len(shown)),
            *version_notes(facts),
        ]
    theme.finish(ax, table, theme.notes_of(table, *notes), title=title)
    return lead_to_conversations(ax, table, data)


def _draw_rows(ax: Axes, shown: pd.DataFrame, label: str, **style: Any) -> None:
    """Draw a row for each segment."""
    rows = np.arange(len(shown), dtype=np.float64)[::-1]
    ax.set_ylim(-0.45, len(shown) - 0.15)
    points_axis(ax, label, rows)
    draw_differences(ax, rows, shown, "n", value="difference_points", **style)
    fit_points(ax, shown[ends_of(shown, "difference_points")])
    records = shown.to_dict("records")
    names = theme.distinct_names([segment_in_words(row) for row in records], _NAME_WIDTH)
    for name, row, y in zip(names, records, rows, strict=True):
        said = "" if row["verdict"] == "unclear" else f" · {row['verdict']}"
        theme.name_row(ax, y, f"{name}{said}", _numbers(row), boxed=False)


def _numbers(row: Mapping[Any, Any]) -> str:
    if known(row.get("difference_points_corrected")):
        return f"{row['rate_corrected']:.0%} of {row['n']:,}"
    return f"{row['rate']:.0%} of {row['n']:,} vs {row['rate_rest']:.0%} of {row['n_rest']:,}"


def _notes(table: pd.DataFrame, shown: int) -> list[str]:
    facts = table.attrs["promptlift"]
    clear = int(table["verdict"].ne("unclear").sum())
    corrected = has_corrected(table, "difference_points")
    differ = "differs" if clear == 1 else "differ"
    if may_say_clearly(facts.get("basis"), agreement_of(facts)):
        differ = f"clearly {differ}"
    rule = score_rule(facts["level"], facts["n_tests"])
    if corrected:
        rule = f"p below {1.0 - facts['level']:.3g}, adjusted for {facts['n_tests']:,} comparisons"
    notes = [
        f"{'By labels, ' if corrected else ''}{clear:,} of {len(table):,} segments {differ}: {rule}. An observation, not a cause.",
    ]
    if shown < len(table):
        notes.append(f"Only the {shown:,} surest are shown.")
    if facts["smallest_findable_points"] is not None:
        notes.append(f"Drops of less than {facts['smallest_findable_points']:.0f} points may be missed.")
    merged = sum(map(len, facts["merged"].values()))
    if merged:
        notes.append(f"{merged:,} values with few conversations are merged.")
    return notes
