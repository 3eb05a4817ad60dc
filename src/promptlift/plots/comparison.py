"""Picture of variants against a control: differences with intervals, and the verdict in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, MaxNLocator

from promptlift import analysis
from promptlift.plots import style as look

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["compare", "draw_comparison"]

_VARIANTS_MAX = 20


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
    """Draw each variant's difference to the control with its interval, its numbers and its verdict.

    The line at 0 is the control. Points without an interval, and those of fewer than 5, are hollow. Verdicts
    are words: no colour says who won.

    Parameters
    ----------
    data
        Any table, as for ``analysis.compare``, or its answer (then the arguments are the answer's).
    by, pair, outcome, control, level, confidence_mode, repeats, kind
        As for ``analysis.compare``.
    value
        ``difference``, in percentage points or in the unit of the score, or ``lift``, in percent of the
        control's rate. A lift has an interval only in pairs; a small diamond is the lift to expect.
    ax
        Axes to draw on; a new figure without.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        The variant with the largest difference is on top. At most 20 are drawn, those with the most trials.

    Raises
    ------
    FrameError, ValueError
        As ``analysis.compare`` raises them, or when ``value`` is not there.
    """
    table = data
    if not _compared(data):
        table = analysis.compare(
            data,
            by=by,  # type: ignore[arg-type]  # None is refused there, with the words for it
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
        raise ValueError(f"There is no {value} of a {table.attrs['promptlift']['kind']}. Use 'difference'.")
    ax = look.new_axes(ax, 8.0, 1.4 + 0.55 * max(2, min(len(table), _VARIANTS_MAX)))
    return look.finish(ax, table, draw_comparison(ax, table, value, **style))


def _compared(data: Any) -> bool:
    attrs = data.attrs.get("promptlift") if isinstance(data, pd.DataFrame) else None
    return isinstance(attrs, dict) and attrs.get("table") == "compare" and "verdict" in data.columns


def draw_comparison(
    ax: Axes, table: pd.DataFrame, value: str = "difference", *, color: Any = None, **style: Any
) -> list[str]:
    """Draw the answer of ``analysis.compare`` and give the notes that belong under it."""
    facts = table.attrs["promptlift"]
    look.frame_axes(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    interval = f" ({100 * facts['level']:.4g} % interval)" if table[f"{value}_low"].notna().any() else ""
    ax.set_xlabel(_axis(facts, value) + interval)
    if table.empty:
        ax.set_xticks([])
        look.say_empty(ax, "No variants to compare")
        return look.notes_of(table)
    notes = [facts["rule"]]
    shown = table
    if len(table) > _VARIANTS_MAX:
        shown = table.nlargest(_VARIANTS_MAX, "n")
        notes.append(f"The {_VARIANTS_MAX} variants with the most trials, of {len(table)}, are shown.")
    shown = shown.sort_values(value, ascending=True, kind="stable", na_position="first").reset_index(
        drop=True
    )
    rows = np.arange(len(shown), dtype=np.float64)
    ax.set_ylim(-0.45, len(shown) - 0.15)
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:+.4g}" if tick else "0"))
    ax.axvline(0.0, color=look.foreground(), linewidth=1.0, alpha=0.8, zorder=1)
    _draw_points(ax, shown, rows, value, color or look.palette(ax)[0], style)
    if value == "lift":
        notes += _expected(ax, shown, rows)
    _set_limits(ax, shown, value)
    for row, y in zip(shown.to_dict("records"), rows, strict=True):
        said = row["verdict"] if pd.notna(row["verdict"]) else "not compared"
        _write(ax, 0, y, f"{look.plain(row['variant'], 34)}: {said}", "small")
        _write(ax, 1, y, _numbers(row, facts), 7.5)
    return look.notes_of(table, *notes, *_left_out(table, value))


def _draw_points(
    ax: Axes, shown: pd.DataFrame, rows: Any, value: str, color: Any, style: dict[str, Any]
) -> None:
    ends = [f"{value}_low", f"{value}_high"]
    bare = shown[ends].isna().any(axis=1).to_numpy()
    # An estimate without an interval looks as weak as one of a few trials.
    weak = np.where(bare, 0, shown["n"].to_numpy())
    look.draw_estimates(
        ax, rows, shown.assign(_weight=weak), value, "_weight", color=color, horizontal=True, **style
    )


def _expected(ax: Axes, shown: pd.DataFrame, rows: Any) -> list[str]:
    known = shown["lift_expected"].notna().to_numpy()
    if not known.any():
        return []
    ax.plot(
        shown.loc[known, "lift_expected"], rows[known],
        linestyle="none", marker="D", markersize=3.5, color=look.foreground(), alpha=0.75, zorder=4,
    )  # fmt: skip
    return ["Diamond: the lift to expect, drawn toward 0 by as much as it is uncertain."]


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
    control = look.plain(facts["control"], 28) if facts["control"] is not None else "the control"
    if value == "lift":
        return f"Lift over {control} in percent"
    outcome = look.plain(str(facts["outcome"]).replace("_", " "), 28)
    if facts["kind"] == "label":
        outcome = f"{outcome}: positive" if "positive" in facts["labels"] else outcome
    unit = "in percentage points" if facts["unit"] == "points" else "of means"
    return f"{outcome}, difference to {control} {unit}"


def _numbers(row: Mapping[Any, Any], facts: dict[str, Any]) -> str:
    """What stands at the right of a row: the two estimates, how many, and how sure."""
    mark = "mean" if facts["kind"] == "score" else "rate"
    parts = []
    if not pd.isna(row[mark]) and not pd.isna(row[f"{mark}_control"]):
        one, other = row[mark], row[f"{mark}_control"]
        parts.append(f"{one:.3g} against {other:.3g}" if mark == "mean" else f"{one:.1%} against {other:.1%}")
    if facts["paired"]:
        parts.append(f"{row['n_pairs']:,} pairs")
    else:
        parts.append(f"n = {row['n']:,} and {row['n_control']:,}")
    if not pd.isna(row.get("confidence", np.nan)):
        worse = row["verdict"] == "worse"
        sure = row["confidence_worse" if worse else "confidence"]
        parts.append(f"confidence {sure:.2f}{' that it is worse' if worse else ''}")
    elif not pd.isna(row["p_holm"]):
        parts.append(f"p {row['p_holm']:.2g}" if row["p_holm"] >= 0.001 else "p < 0.001")
    return " · ".join(parts)


def _left_out(table: pd.DataFrame, value: str) -> list[str]:
    notes = []
    dropped = int(table["n_dropped"].max())
    if dropped:
        notes.append(f"Up to {dropped:,} trials a variant without an outcome are not counted.")
    if table[f"{value}_low"].isna().all() and table[value].notna().any():
        notes.append("Hollow: no interval is known.")
    if table["warnings"].ne("").any():
        notes.append("Some variants carry warnings; see the column warnings.")
    return notes


def _write(ax: Axes, x: float, y: float, text: str, size: Any) -> None:
    ax.annotate(
        text, (x, y), xycoords=ax.get_yaxis_transform(), xytext=(0, 7), textcoords="offset points",
        ha="right" if x else "left", va="bottom", fontsize=size, annotation_clip=False,
    )  # fmt: skip
