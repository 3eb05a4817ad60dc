"""Plot of variants against a control: differences with intervals, and a verdict in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, MaxNLocator

from promptlift import analysis
from promptlift.plots import theme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["compare"]

_MAX = 20


def compare(
    data: Any,
    *,
    by: str | None = None,
    pair: Any = None,
    outcome: str = "task_completed",
    control: Any = None,
    level: float = 0.95,
    confidence_mode: Any = "moderate",
    repeats: Any = "refuse",
    kind: Any = None,
    value: Literal["difference", "lift"] = "difference",
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the difference of each variant to the control with its interval, numbers and verdict.

    The line at 0 is the control. Points without an interval, and those of fewer than 5, are hollow. Verdicts are
    words, never colours.

    Parameters
    ----------
    data
        Any table, as for ``analysis.compare``, or its result (which then sets these arguments).
    by, pair, outcome, control, level, confidence_mode, repeats, kind
        As for ``analysis.compare``.
    value
        ``difference``, in percentage points or in the unit of the score, or ``lift``, in percent of the
        control's rate. Only paired data give a lift an interval; a small diamond is the expected lift.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        The variant with the largest difference is on top. At most 20 are drawn, those with the most trials.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.compare``, or when there is no such ``value``.
    """
    table = data
    if not _compared(data):
        table = analysis.compare(
            data,
            by=by,  # type: ignore[arg-type]  # None is refused there, with an explanation
            pair=pair,
            outcome=outcome,
            control=control,
            level=level,
            confidence_mode=confidence_mode,
            repeats=repeats,
            kind=kind,
        )
    if value not in ("difference", "lift"):
        raise ValueError(f"value must be 'difference' or 'lift', not {value!r}.")
    if value not in table:
        raise ValueError(f"A {table.attrs['promptlift']['kind']} has no {value}. Use 'difference'.")
    ax = theme.new_axes(ax, 8.0, 1.4 + 0.55 * max(2, min(len(table), _MAX)))
    return theme.finish(ax, table, _draw(ax, table, value, **style))


def _compared(data: Any) -> bool:
    attrs = data.attrs.get("promptlift") if isinstance(data, pd.DataFrame) else None
    return isinstance(attrs, dict) and attrs.get("table") == "compare" and "verdict" in data.columns


def _draw(
    ax: Axes, table: pd.DataFrame, value: str = "difference", *, color: Any = None, **style: Any
) -> list[str]:
    """Draw the result of ``analysis.compare`` and return the notes under it."""
    facts = table.attrs["promptlift"]
    theme.frame_axes(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    interval = f" ({100 * facts['level']:.4g} % interval)" if table[f"{value}_low"].notna().any() else ""
    ax.set_xlabel(_axis(facts, value) + interval)
    if table.empty:
        ax.set_xticks([])
        theme.show_empty(ax, "No variants to compare")
        return theme.notes_of(table)
    notes = [facts["rule"]]
    shown = table
    if len(table) > _MAX:
        shown = table.nlargest(_MAX, "n")
        notes.append(f"Only the {_MAX} of {len(table)} variants with the most trials are shown.")
    shown = shown.sort_values(value, ascending=True, kind="stable", na_position="first").reset_index(
        drop=True
    )
    rows = np.arange(len(shown), dtype=np.float64)
    ax.set_ylim(-0.45, len(shown) - 0.15)
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:+.4g}" if tick else "0"))
    ax.axvline(0.0, color=theme.foreground(), linewidth=1.0, alpha=0.8, zorder=1)
    _draw_points(ax, shown, rows, value, color or theme.palette(ax)[0], style)
    if value == "lift":
        notes += _expected(ax, shown, rows)
    _set_limits(ax, shown, value)
    for row, y in zip(shown.to_dict("records"), rows, strict=True):
        verdict = row["verdict"] if pd.notna(row["verdict"]) else "not compared"
        _write(ax, 0, y, f"{theme.plain(row['variant'], 34)}: {verdict}", "small")
        _write(ax, 1, y, _numbers(row, facts), 7.5)
    return theme.notes_of(table, *notes, *_caveats(table, value))


def _draw_points(
    ax: Axes, shown: pd.DataFrame, rows: Any, value: str, color: Any, style: dict[str, Any]
) -> None:
    ends = [f"{value}_low", f"{value}_high"]
    no_interval = shown[ends].isna().any(axis=1).to_numpy()
    # An estimate without an interval is drawn like one of few trials.
    weak = np.where(no_interval, 0, shown["n"].to_numpy())
    theme.draw_estimates(
        ax, rows, shown.assign(_weight=weak), value, "_weight", color=color, horizontal=True, **style
    )


def _expected(ax: Axes, shown: pd.DataFrame, rows: Any) -> list[str]:
    known = shown["lift_expected"].notna().to_numpy()
    if not known.any():
        return []
    ax.plot(
        shown.loc[known, "lift_expected"], rows[known],
        linestyle="none", marker="D", markersize=3.5, color=theme.foreground(), alpha=0.75, zorder=4,
    )  # fmt: skip
    return ["Diamond: expected lift, shrunk toward 0 in proportion to its uncertainty."]


def _set_limits(ax: Axes, shown: pd.DataFrame, value: str) -> None:
    seen = shown[[value, f"{value}_low", f"{value}_high"]].to_numpy(np.float64)
    seen = seen[np.isfinite(seen)]
    if not len(seen):
        ax.set_xlim(-1.0, 1.0)
        return
    low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
    margin = 0.05 * (high - low) or 1.0
    ax.set_xlim(low - margin, high + margin)


def _axis(facts: dict[str, Any], value: str) -> str:
    control = theme.plain(facts["control"], 28) if facts["control"] is not None else "the control"
    if value == "lift":
        return f"Lift over {control} in percent"
    outcome = theme.plain(str(facts["outcome"]).replace("_", " "), 28)
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
    if facts["paired"]:
        parts.append(f"{row['n_pairs']:,} pairs")
    else:
        parts.append(f"n = {row['n']:,} and {row['n_control']:,}")
    if not pd.isna(row.get("confidence", np.nan)):
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


def _write(ax: Axes, x: float, y: float, text: str, size: Any) -> None:
    ax.annotate(
        text, (x, y), xycoords=ax.get_yaxis_transform(), xytext=(0, 7), textcoords="offset points",
        ha="right" if x else "left", va="bottom", fontsize=size, annotation_clip=False,
    )  # fmt: skip
