"""Plot of a benchmark: every arm against the reference, or what arms cost for what they complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from promptlift import analysis
from promptlift.plots import theme
from promptlift.plots.estimates import (
    draw_differences,
    draw_estimates,
    ends_of,
    fit_points,
    mark_zero,
    points_axis,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["benchmark"]


def benchmark(
    data: Any,
    *,
    prices: Mapping[str, Mapping[str, float]] | None = None,
    value: Literal["difference", "cost"] = "difference",
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the arms of a benchmark.

    Parameters
    ----------
    data
        The table of ``bench.arms()``, or the result of ``analysis.benchmark``.
    prices
        Prices by model, as for ``analysis.benchmark``.
    value
        ``difference``: task completion against the reference in percentage points, with intervals of the pairs and a line at the
        margin. ``cost``: task completion by the cost of a conversation, with Wilson intervals.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``, and properties of the points, such as ``marker``.

    Returns
    -------
    Axes
        Verdicts are words, never colours alone: ``better``, ``worse``, ``not worse`` (a loss of the margin or more is excluded) or
        ``unclear``.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.benchmark``, or when there is no such ``value``.
    """
    if value not in ("difference", "cost"):
        raise ValueError(f"value must be 'difference' or 'cost', not {value!r}.")
    # Prices count anew also what is already a result.
    table = (
        analysis.benchmark(data, prices=prices) if prices is not None else theme.result_of(data, "benchmark")
    )
    ax = theme.new_axes(ax, 1.4 + 0.55 * max(2, len(table)) if value == "difference" else 4.2)
    draw = _draw_differences if value == "difference" else _draw_costs
    return theme.finish(ax, table, draw(ax, table, **style), title=title)


def _draw_differences(ax: Axes, table: pd.DataFrame, **style: Any) -> list[str]:
    facts = table.attrs["promptlift"]
    arms = zip(table["is_reference"].astype(bool), theme.distinct_names(list(table["name"]), 28), strict=True)
    name = next((name for is_reference, name in arms if is_reference), "the reference")
    label = f"Task completion, difference to {name} in percentage points{theme.at_level(facts.get('level'))}"
    if table.empty:
        theme.frame_rows(ax, label)
        theme.show_empty(ax, "Nothing is measured yet", ticks=False)
        return theme.notes_of(table)
    shown = table.sort_values(["difference", "arm"], ascending=[True, False], na_position="last")
    shown = shown.assign(
        difference=shown["difference"].where(~shown["is_reference"].astype(bool), 0.0),
        n_pairs=shown["n_pairs"].fillna(shown["n"]),
    ).sort_values("difference", kind="stable", na_position="first")
    rows = np.arange(len(shown), dtype=np.float64)
    ax.set_ylim(-0.45, len(shown) - 0.15)
    points_axis(ax, label, rows)
    notes = []
    if facts.get("margin"):
        margin = -float(facts["margin"])
        mark_zero(ax, rows, at=margin, color=theme.palette(ax)[3])
        notes.append(
            f"The other line: {signed(margin)} points, the margin. Not worse: a score test for pairs, adjusted over the arms, excludes a "
            "loss of the margin or more."
        )
    draw_differences(ax, rows, shown, "n_pairs", **style)
    fit_points(
        ax, shown[["difference", "difference_low", "difference_high"]], [-float(facts.get("margin") or 0)]
    )
    records = shown.to_dict("records")
    verdicts, numbers = [f": {_verdict(row)}" for row in records], [_numbers(row) for row in records]
    theme.write_rows(ax, rows, list(shown["name"]), verdicts, numbers, most=60, boxed=False)
    return theme.notes_of(table, *notes, *_caveats(table))


def _draw_costs(ax: Axes, table: pd.DataFrame, **style: Any) -> list[str]:
    priced = table["cost_per_conversation"].notna().all() and not table.empty
    cost = table["cost_per_conversation"] if priced else table["input_tokens"] + table["output_tokens"]
    theme.frame_axes(ax, "y")
    in_currency = "Cost of a conversation, in the currency of the prices"
    ax.set_xlabel(in_currency if priced else "Tokens of a conversation")
    ax.set_ylabel("Task completion in percent")
    if table.empty:
        theme.show_empty(ax, "Nothing is measured yet", ticks=False)
        return theme.notes_of(table)
    percent = table.assign(**{name: 100.0 * table[name] for name in ends_of(table, "task_completion")})
    color = style.pop("color", None) or theme.palette(ax)[0]
    draw_estimates(ax, cost, percent, "task_completion", "n", color=color, **style)
    most = float(cost.max())
    ax.set_xlim(0.0, 1.08 * most if most > 0 else 1.0)
    low, high = ax.get_ylim()
    low, high = max(low, -2.0), min(high, 102.0)
    ax.set_ylim(low, high)
    names = theme.distinct_names(list(table["name"]), 40)
    for row, x, name in zip(percent.to_dict("records"), cost, names, strict=True):
        said = f"{name}: {_verdict(row)}"
        # On the sides where there is room for it: at the top it would run into the title.
        side = -1 if x > most / 2 else 1
        is_high = row["task_completion"] > low + 0.85 * (high - low)
        ax.annotate(
            f"{said}, the cheapest" if row["is_cheapest"] else said,
            (x, row["task_completion"]), xytext=(6 * side, -4 if is_high else 4), textcoords="offset points",
            ha="right" if side < 0 else "left", va="top" if is_high else "bottom", fontsize=7.5, annotation_clip=False,
        )  # fmt: skip
    without = (
        "Not every arm has a price, so tokens are shown; those of different models do not cost the same."
    )
    return theme.notes_of(table, None if priced else without, *_caveats(table))


def _verdict(row: Mapping[Any, Any]) -> str:
    if row["is_reference"]:
        return "reference"
    if pd.isna(row["verdict"]):
        return "not compared"
    if row["verdict"] == "unclear" and row["not_worse"]:
        return "not worse"
    return str(row["verdict"])


def _numbers(row: Mapping[Any, Any]) -> str:
    """Return the numbers at the right of a row: completion, its cost, and pairs."""
    parts = [] if pd.isna(row["task_completion"]) else [f"{row['task_completion']:.1%}"]
    if not pd.isna(row["cost_per_conversation"]):
        parts.append(f"{row['cost_per_conversation']:.3g} a conversation")
    parts.append(f"{int(row['n_pairs']):,} {'cells' if row['is_reference'] else 'pairs'}")
    return " · ".join(parts)


def _caveats(table: pd.DataFrame) -> list[str]:
    facts = table.attrs["promptlift"]
    notes = list(facts.get("notes") or [])
    if not facts.get("final"):
        notes.append("The benchmark has not completed.")
    if len(table) and table["tokens_estimated"].fillna(value=False).any():
        notes.append("Tokens are an estimate: the endpoint did not count them.")
    return notes
