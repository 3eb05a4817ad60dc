"""Plots of the lift of each variant with its interval, and of the confidence after each pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from promptlift.frames.headline import headlines_of
from promptlift.plots import theme, variant_captions
from promptlift.plots.estimates import draw_expected, mark_zero, signed_ticks
from promptlift.plots.fonts import make_readable
from promptlift.plots.legends import legend
from promptlift.plots.palette import MARKERS
from promptlift.schema.results import CONFIDENCE_METHODS

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from matplotlib.axes import Axes

__all__ = ["variant_confidence", "variant_lift"]

_PANELS_MAX: Final = 6
_ROWS_MAX: Final = 30
_LINES_MAX: Final = 6
_HEADINGS: Final = {
    "confirm": ("Confirmation", ": new conversations, evaluated after every pass"),
    "screen": (
        "Screening",
        ": different conversations, used only to choose the finalist; not comparable with the confirmation",
    ),
}


def variant_lift(
    variants: Any,
    *,
    equivalence: float | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    color: Any = None,
    **style: Any,
) -> Axes:
    """Draw the lift of each variant over the original as a forest plot.

    The line at 0 is the original. A filled dot has the interval that the service reports, with an arrow on a side without
    a bound; a hollow dot has no interval. The small diamond is the expected lift. Where scenarios come from logged conversations,
    the dot is the lift on their mix. The numbers at the right also have the lift on the tested mix, in which failed conversations are
    more frequent, and the lift on pairs that were measured after the decision. The winner is marked "winner". Variants of the screening
    have a panel of their own, because they were tested on other conversations.

    Parameters
    ----------
    variants
        The table of ``lift.variants`` or ``analysis.variant_lift``.
    equivalence
        Lifts within plus or minus this many percent make no practical difference; drawn as a grey band.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    color
        Colour of dots and whiskers.
    style
        Properties of the dots, such as ``marker``.

    Returns
    -------
    Axes
        With several panels, these are its ``child_axes``; x is shared.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.variant_lift``.
    """
    table = theme.result_of(variants, "variant_lift", equivalence=equivalence)
    facts = table.attrs["promptlift"]
    band = equivalence if equivalence is not None else facts.get("equivalence")
    drawn, panels, notes = _panels(headlines_of(table))
    rows = sum(len(panel) for panel in panels)
    ax = theme.new_axes(ax, 1.7 + 0.55 * max(2, rows) + 0.45 * (len(panels) - 1))
    theme.frame_rows(ax, variant_captions.axis_label(drawn))
    ax.set_title(variant_captions.title(table, facts), loc="left", fontsize="medium")
    if table.empty:
        theme.show_empty(ax, "No variants yet", ticks=False)
        return theme.finish(ax, table, theme.notes_of(table), title=title)
    low, high = _limits(drawn, band)
    ax.set_xlim(low, high)
    signed_ticks(ax)
    for place, (panel, rect) in enumerate(zip(panels, _rectangles(panels), strict=True)):
        where = ax if len(panels) == 1 else _panel_axes(ax, rect)
        tones = {"color": color or theme.palette(ax)[0], "ground": ax.get_facecolor()}
        _draw_panel(where, panel, (low, high), band, ax, tones | style)
        if len(panels) > 1:
            several, room = facts["n_optimizations"] > 1, theme.points_of_row(ax)
            _head(where, panel, room, several=several, first=place == 0)
    notes = theme.notes_of(table, *variant_captions.notes(drawn, facts, band), *notes)
    return theme.finish(ax, table, notes, title=title)


def _panels(table: pd.DataFrame) -> tuple[pd.DataFrame, list[pd.DataFrame], list[str]]:
    """Return the rows to draw, their panels of comparable rows, and notes about omitted ones."""
    notes = []
    unknown = table["lift"].isna()
    if unknown.any() and not unknown.all():
        names = ", ".join(theme.plain(name, 24) for name in table.loc[unknown, "name"].head(5))
        notes.append(f"No lift, because nothing was measured or the original completed nothing: {names}.")
    shown = table[~unknown] if not unknown.all() else table
    keys = ["optimization_id", "stage"]
    panels = [rows for _, rows in shown.groupby(keys, sort=False, dropna=False)]
    kept: list[pd.DataFrame] = []
    for panel in panels:
        if len(kept) < _PANELS_MAX and sum(map(len, kept)) + len(panel) <= _ROWS_MAX:
            kept.append(panel)
    if len(kept) < len(panels):
        notes.append(
            f"{len(kept)} of {len(panels)} groups are shown; choose one optimization to see the rest."
        )
    drawn = pd.concat(kept) if kept else shown
    return drawn, kept, notes


def _rectangles(panels: list[pd.DataFrame]) -> list[tuple[float, float, float, float]]:
    """Return the places of the panels from the top as fractions of the axes, with heights by number of rows."""
    gap = 0.45
    heights = [0.55 * len(panel) for panel in panels]
    whole = sum(heights) + gap * len(panels)
    found, top = [], 1.0
    for height in heights:
        top -= gap / whole
        found.append((0.0, top - height / whole, 1.0, height / whole))
        top -= height / whole
    return found


def _panel_axes(ax: Axes, rect: tuple[float, float, float, float]) -> Axes:
    panel = ax.inset_axes(rect)
    theme.frame_axes(panel, "x")
    panel.set_facecolor("none")
    panel.set_yticks([])
    panel.tick_params(bottom=False, labelbottom=False)
    for side in ("left", "bottom"):
        panel.spines[side].set_visible(False)
    panel.grid(visible=False)
    return panel


def _head(ax: Axes, panel: pd.DataFrame, room: float, *, several: bool, first: bool) -> None:
    stage, explanation = _HEADINGS.get(str(panel["stage"].iloc[0]), ("Stage not reported", ""))
    words = stage + explanation
    if theme.points_wide(words, "small", "bold") > room:
        words = stage
    if several:
        words = f"{theme.plain(panel['optimization_id'].iloc[0], 28)} · {stage}"
    if not first:
        ax.spines["top"].set(visible=True, color=theme.foreground(), alpha=0.3)
    text = ax.annotate(
        words, (0, 1), xycoords="axes fraction", xytext=(0, 3), textcoords="offset points",
        ha="left", va="bottom", fontsize="small", fontweight="bold", annotation_clip=False,
    )  # fmt: skip
    make_readable([text])


def _draw_panel(
    ax: Axes,
    panel: pd.DataFrame,
    limits: tuple[float, float],
    band: float | None,
    whole: Axes,
    style: dict[str, Any],
) -> None:
    low, high = limits
    ax.set_xlim(low, high)
    rows = np.arange(len(panel), dtype=np.float64)[::-1]
    ax.set_ylim(-0.45, len(panel) - 0.25)
    if band is not None:
        ax.axvspan(
            max(-band, low), min(band, high), color=theme.foreground(), alpha=0.1, linewidth=0, zorder=0
        )
    mark_zero(ax, rows)
    records = panel.to_dict("records")
    marks = [" · winner" if row["is_winner"] else "" for row in records]
    room = theme.points_of_row(whole)
    numbers = []
    for row, mark in zip(records, marks, strict=True):
        least = theme.points_wide(theme.plain(row["name"], theme.SHORTEST_NAME) + mark, "small")
        numbers.append(variant_captions.row_numbers(row, room - least))
    beside = [mark + text for mark, text in zip(marks, numbers, strict=True)]
    names = theme.fit_names(whole, list(panel["name"]), beside)
    for y, row, name, mark, text in zip(rows, records, names, marks, numbers, strict=True):
        _draw_row(ax, y, row, limits, **style)
        theme.name_row(ax, y, name + mark, text)
    make_readable(ax.texts)


def _draw_row(
    ax: Axes,
    y: float,
    row: Mapping[Hashable, Any],
    limits: tuple[float, float],
    *,
    color: Any,
    ground: Any,
    **style: Any,
) -> None:
    if pd.isna(row["lift"]):
        return
    sent = row["uncertainty_source"] == "service"
    if sent:
        ends = []
        for end, edge, arrow in (("low", limits[0], "<"), ("high", limits[1], ">")):
            value = row[f"lift_{end}"]
            outside = pd.isna(value) or not limits[0] <= value <= limits[1]
            ends.append(edge if outside else value)
            if outside:
                ax.plot(edge, y, arrow, markersize=6, color=color, clip_on=False, zorder=3)
        ax.hlines(y, ends[0], ends[1], color=color, alpha=0.75, linewidth=1.6)
    point: dict[str, Any] = {"marker": "o", "markersize": 6.0, "zorder": 4} | style | {"linestyle": "none"}
    face = color if sent else ground
    ax.plot(row["lift"], y, color=color, markerfacecolor=face, markeredgecolor=color, **point)
    if not pd.isna(row["lift_expected"]):
        draw_expected(ax, y, row["lift_expected"])


def _limits(shown: pd.DataFrame, band: float | None) -> tuple[float, float]:
    """Return the range of x: everything except bounds so far out that they would squeeze the rest."""
    inner = shown[["lift", "lift_expected"]].to_numpy(np.float64).ravel()
    inner = np.append(inner[np.isfinite(inner)], [0.0, *([] if band is None else [-1.5 * band, 1.5 * band])])
    low, high = float(inner.min()), float(inner.max())
    reach = 3.0 * max(high - low, 10.0)
    ends = shown[["lift_low", "lift_high"]].to_numpy(np.float64).ravel()
    ends = ends[np.isfinite(ends)]
    ends = ends[(ends >= low - reach) & (ends <= high + reach)]
    if len(ends):
        low, high = min(low, float(ends.min())), max(high, float(ends.max()))
    room = 0.06 * (high - low) or 1.0
    below, above = (room * (2 if shown[f"{end}_unbounded"].any() else 1) for end in ("low", "high"))
    return low - below, high + above


def variant_confidence(
    variants: Any, *, title: str | None = None, ax: Axes | None = None, color: Any = None, **style: Any
) -> Axes:
    """Draw the confidence after each pass, with the line that a winner must reach.

    A single dot is the final confidence of a service that reports none by pass.

    Parameters
    ----------
    variants
        The table of ``lift.variants`` or ``analysis.variant_confidence``.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    color
        Colour of the line.
    style
        Properties of the line, such as ``linewidth``.

    Returns
    -------
    Axes
        x is the pass of the confirmation, y the confidence from 0 to 1.

    Raises
    ------
    FrameError
        Raised by ``analysis.variant_confidence``.
    """
    table = theme.result_of(variants, "variant_confidence")
    facts = table.attrs["promptlift"]
    ax = theme.new_axes(ax, 3.6)
    theme.frame_axes(ax, "y")
    ax.set_ylim(0.0, 1.02)
    ax.set_ylabel("Confidence that the variant is better")
    ax.set_xlabel("Pass of the confirmation")
    known = table[table["confidence"].notna()]
    if known.empty:
        theme.show_empty(ax, "No confidence yet", ticks=False)
        return theme.finish(ax, table, theme.notes_of(table), title=title)
    runs = [rows for _, rows in known.groupby("optimization_id", sort=False, dropna=False)]
    notes = []
    if len(runs) > _LINES_MAX:
        notes.append(f"The first {_LINES_MAX} of {len(runs)} optimizations are shown.")
        runs = runs[:_LINES_MAX]
    tones = theme.palette(ax) if color is None else [color]
    groups = [
        theme.Group(
            rows,
            theme.plain(rows["optimization_id"].iloc[0], 28),
            tones[place % len(tones)],
            MARKERS[place % len(MARKERS)],
        )
        for place, rows in enumerate(runs)
    ]
    for group in groups:
        _draw_run(ax, group, style)
    _threshold_lines(ax, pd.concat(runs))
    if len(groups) > 1:
        legend(ax, groups, [len(rows) for rows in runs], "passes")
    if not facts.get("has_trace"):
        notes.append("The service reports only a final confidence, not one for each pass.")
        ax.set_xticks([])
        ax.set_xlabel("")
    last = runs[0].iloc[-1] if len(runs) == 1 else None
    if last is not None:
        ax.set_title(f"confidence {last['confidence']:.2f}", loc="left", fontsize="medium")
    method = facts.get("confidence_method")
    if method not in CONFIDENCE_METHODS:
        notes.append(
            "The service does not say how it defines confidence."
            if not method
            else f"Method: {theme.plain(method)}."
        )
    return theme.finish(ax, table, theme.notes_of(table, *notes), title=title)


def _draw_run(ax: Axes, group: theme.Group, style: dict[str, Any]) -> None:
    x = group.rows["look"].astype("float64").fillna(1.0).to_numpy()
    given: dict[str, Any] = {
        "linewidth": 1.6,
        "markersize": 5.5,
        "marker": group.marker,
        "zorder": 3,
        "clip_on": False,
    } | style
    first = not ax.lines
    ax.plot(x, group.rows["confidence"].to_numpy(), color=group.color, **given)
    most = max(float(x.max()) + 0.5, 2.5)
    ax.set_xlim(0.5, most if first else max(most, float(ax.get_xlim()[1])))
    ax.xaxis.set_major_locator(MaxNLocator(10, integer=True))


def _threshold_lines(ax: Axes, shown: pd.DataFrame) -> None:
    for threshold in sorted(shown["threshold"].dropna().unique()):
        ax.axhline(threshold, color=theme.foreground(), linestyle="--", linewidth=1.0, alpha=0.8, zorder=2)
        ax.annotate(
            f"a winner needs {threshold:.2f}", (0, threshold), xycoords=ax.get_yaxis_transform(),
            xytext=(3, 2), textcoords="offset points", ha="left", va="bottom", fontsize=7.5,
        )  # fmt: skip
