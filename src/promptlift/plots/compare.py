"""Plot of variants against a control: differences with intervals, and a verdict in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.sentences import outcome_name
from promptlift.plots import theme
from promptlift.plots.drill_down import lead_to_conversations
from promptlift.plots.estimates import (
    corrected_notes,
    draw_differences,
    ends_of,
    fit_points,
    points_axis,
)
from promptlift.plots.judge_versions import version_notes
from promptlift.plots.live import draw_experiment
from promptlift.schema.basis import may_tell
from promptlift.schema.experiments import LiveExperiment
from promptlift.words.sentences import observed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from promptlift.analysis.reading import By

__all__ = ["compare"]

_MAX = 20


def compare(
    data: Any,
    *,
    by: By = None,
    pair: Any = None,
    outcome: str = "task_completed",
    control: Any = None,
    level: float = 0.95,
    labels: Any = None,
    kind: Any = None,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the difference of each variant to the control with its interval, numbers and verdict.

    The line at 0 is the control. Points without an interval, and those of fewer than 5, are hollow. Verdicts are
    words, never colours: only the same items with each variant have a "winner", groups that were observed are "higher", "lower" or
    "unclear".

    Of an experiment on real users (``lift.live``) it draws the difference of each version from the current one over time, with its
    confidence sequence; grey where the units do not fall into the versions by their weights.

    Parameters
    ----------
    data
        Any table, as for ``analysis.compare``, or its result (which then sets these arguments); or an experiment, which takes none of
        them.
    by, pair, outcome, control, level, kind
        As for ``analysis.compare``.
    labels
        Labels of people, as for ``analysis.compare``: what the judge says is hollow then, and what labels make of it filled.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        x is the difference in percentage points, or in the unit of the score; the largest is on top. At most 20 are drawn, those
        with the most trials. Of an experiment, x is time in matplotlib days and y the difference in percentage points; at most 6
        versions are drawn.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.compare``.
    """
    experiment = getattr(data, "state", data)
    if isinstance(experiment, LiveExperiment):
        return draw_experiment(ax, experiment, title=title, **style)
    options = {"pair": pair, "outcome": outcome, "control": control, "level": level, "labels": labels}
    table = theme.result_of(data, "compare", by=by, kind=kind, **options)
    ax = theme.new_axes(ax, 1.4 + 0.55 * max(2, min(len(table), _MAX)))
    theme.finish(ax, table, _draw(ax, table, **style), title=title)
    return lead_to_conversations(ax, table, data)


def _draw(ax: Axes, table: pd.DataFrame, **style: Any) -> list[str]:
    """Draw the result of ``analysis.compare`` and return the notes under it."""
    facts = table.attrs["promptlift"]
    value = "difference" if facts["unit"] == "score" else "difference_points"
    level = facts["level"] if table[f"{value}_low"].notna().any() else None
    label = _axis(facts, list(table["variant"])) + theme.at_level(level)
    if table.empty:
        theme.frame_rows(ax, label)
        theme.show_empty(ax, "No variants to compare", ticks=False)
        return theme.notes_of(table)
    notes = [facts["rule"]] if may_tell(facts.get("basis")) else []
    shown = table
    if len(table) > _MAX:
        shown = table.nlargest(_MAX, "n")
        notes.append(f"Only the {_MAX} of {len(table)} variants with the most trials are shown.")
    shown = shown.sort_values(value, ascending=True, kind="stable", na_position="first")
    rows = np.arange(len(shown), dtype=np.float64)
    ax.set_ylim(-0.45, len(shown) - 0.15)
    points_axis(ax, label, rows)
    draw_differences(ax, rows, shown, "n", value=value, **style)
    notes += [*corrected_notes(shown, value), *version_notes(facts)]
    fit_points(ax, shown[ends_of(shown, value)])
    records = shown.to_dict("records")
    verdicts = [f": {_verdict(row, facts)}" for row in records]
    numbers = [_numbers(row, facts) for row in records]
    theme.write_rows(ax, rows, list(shown["variant"]), verdicts, numbers, most=60, boxed=False)
    return theme.notes_of(table, *notes, *_caveats(table, value))


def _verdict(row: Mapping[Any, Any], facts: Mapping[str, Any]) -> str:
    if pd.isna(row["verdict"]):
        return "not compared"
    verdict = str(row["verdict"]) or "cannot be told"
    return verdict if facts["paired"] or facts["kind"] == "label" else observed(verdict)


def _axis(facts: dict[str, Any], variants: Sequence[Any]) -> str:
    # Told apart from the variants: long names may start alike.
    known = facts["control"] is not None
    control = theme.distinct_names([facts["control"], *variants], 28)[0] if known else "the control"
    outcome = theme.plain(outcome_name(facts).replace("_", " "), 28)
    if facts["kind"] == "label":
        outcome = f"{outcome}: positive" if "positive" in facts["labels"] else outcome
    unit = "in percentage points" if facts["unit"] == "points" else "of means"
    return f"{outcome}, difference to {control} {unit}"


def _numbers(row: Mapping[Any, Any], facts: dict[str, Any]) -> str:
    """Return the numbers at the right of a row: both estimates, sample sizes, confidence."""
    column = "mean" if facts["kind"] == "score" else "rate"
    parts = []
    if not pd.isna(row[column]) and not pd.isna(row[f"{column}_control"]):
        one, other = row[column], row[f"{column}_control"]
        parts.append(f"{one:.3g} vs {other:.3g}" if column == "mean" else f"{one:.1%} vs {other:.1%}")
    if not pd.isna(row.get("rate_corrected", np.nan)) and not pd.isna(row["rate_control_corrected"]):
        parts = [
            f"{row['rate_corrected']:.1%} vs {row['rate_control_corrected']:.1%}",
            *(f"uncorrected {part}" for part in parts),
        ]
    if facts["paired"]:
        parts.append(f"{row['n_pairs']:,} pairs")
    else:
        parts.append(f"n = {row['n']:,} and {row['n_control']:,}")
    # Of a corrected difference the test of the labels decides.
    corrected = not pd.isna(row.get("difference_points_corrected", np.nan))
    if not corrected and not pd.isna(row.get("confidence", np.nan)):
        worse = row["verdict"] == "worse"
        confidence = row["confidence_worse" if worse else "confidence"]
        parts.append(f"confidence {confidence:.2f}{' that it is worse' if worse else ''}")
    elif not pd.isna(row["p_holm"]):
        parts.append(f"p {row['p_holm']:.2g}" if row["p_holm"] >= 0.001 else "p < 0.001")
    return " · ".join(parts)


def _caveats(table: pd.DataFrame, value: str) -> list[str]:
    notes = []
    dropped = int(table["n_dropped"].max())
    if dropped:
        notes.append(f"Up to {dropped:,} trials per variant have no outcome and are not counted.")
    if table[f"{value}_low"].isna().all() and table[value].notna().any():
        notes.append("Hollow: no interval.")
    if table["warnings"].ne("").any():
        notes.append("Some variants have warnings; see the column warnings.")
    return notes
