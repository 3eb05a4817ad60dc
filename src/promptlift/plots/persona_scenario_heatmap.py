"""Plot of simulated conversations by persona and scenario: where a variant helps and where it harms."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.patches import Rectangle

from promptlift.plots import theme
from promptlift.plots.estimates import ENDS, draw_differences, fit_points, points_axis, signed
from promptlift.plots.palette import PALETTE
from promptlift.words.figures import counted
from promptlift.words.names import columns_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["persona_scenario_heatmap"]

_PERSONAS = 6
_SCENARIOS = 14
# Space for the names of the personas above the cells, in rows, and characters per line.
_HEAD = 1.1
_LINE = 13
# Differences from here on have full colour.
_FULL = 60.0


def persona_scenario_heatmap(
    data: Any,
    *,
    variant_id: str | None = None,
    stage: Any = None,
    level: float = 0.95,
    cells: bool | None = None,
    title: str | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the difference of completion between a variant and the original by persona and by scenario.

    Where most cells have fewer than 5 pairs, the personas and the scenarios are two lists of dots with intervals.
    Otherwise each cell shows the difference in percentage points, and how many of its pairs the variant and the original
    completed. Cells with fewer than 5 pairs are hollow; cells without simulations are empty. The last column and the last
    row are totals.

    Parameters
    ----------
    data
        Simulated conversations, as for ``analysis.persona_scenario_heatmap``, or its result (which then sets these
        arguments).
    variant_id, stage, level
        As for ``analysis.persona_scenario_heatmap``.
    cells
        Whether to draw a cell for every persona and scenario; by default only where most have at least 5 pairs.
    title
        ``"auto"`` writes the finding in one sentence, another text is the title as it is; by default there is none.
    ax
        Axes to draw on; by default those of a new figure.
    style
        ``color``: a pair, for worse and for better.

    Returns
    -------
    Axes
        A cell lies at whole numbers, personas along x and scenarios along y, those with the most pairs first; at
        most 6 personas and 14 scenarios are drawn. Of dots, x is the difference in percentage points.

    Raises
    ------
    FrameError, ValueError
        Raised by ``analysis.persona_scenario_heatmap``.
    """
    options = {"variant_id": variant_id, "stage": stage, "level": level}
    table = theme.result_of(data, "persona_scenario_heatmap", **options)
    if not (_is_filled(table) if cells is None else cells):
        return theme.finish(*_draw_dots(ax, table, **style), title=title)
    scenarios = min(_SCENARIOS, int(table["part"].eq("scenario").sum()))
    wide = theme.WIDTH - 2.6
    width = wide if ax is None else None
    ax = theme.new_axes(ax, 2.3 + 0.48 * max(3, scenarios + 1))
    return theme.finish(ax, table, _draw(ax, table, **style), width=width, title=title)


def _draw(ax: Axes, table: pd.DataFrame, *, color: Any = None) -> list[str]:
    """Draw the result of ``analysis.persona_scenario_heatmap`` and return the notes under it."""
    facts = table.attrs["promptlift"]
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_xticks([])
    ax.set_yticks([])
    by_persona, by_scenario = (table[table["part"] == part] for part in ("persona", "scenario"))
    if by_persona.empty:
        theme.show_empty(ax, "No pairs of simulated conversations")
        return theme.notes_of(table)
    columns = {name: place for place, name in enumerate(by_persona["persona"].iloc[:_PERSONAS])}
    rows = {name: place for place, name in enumerate(by_scenario["scenario"].iloc[:_SCENARIOS])}
    right, bottom = len(columns) + 0.25, len(rows) + 0.25
    ax.set_xlim(-0.5, right + 0.5)
    ax.set_ylim(bottom + 0.5, -0.5 - _HEAD)
    worse, better = color or (
        PALETTE[3],
        PALETTE[0] if not theme.is_dark(ax) else PALETTE[5],
    )
    background = ax.get_facecolor()
    colors = LinearSegmentedColormap.from_list("difference", [worse, background, better])
    for cell in table.to_dict("records"):
        x = columns.get(cell["persona"]) if pd.notna(cell["persona"]) else right
        y = rows.get(cell["scenario"]) if pd.notna(cell["scenario"]) else bottom
        if x is not None and y is not None:
            _draw_cell(ax, x, y, cell, colors)
    _write_names(ax, rows, columns, right, bottom)
    shown = table[table["part"].eq("field") & table["persona"].isin(columns) & table["scenario"].isin(rows)]
    return theme.notes_of(table, *_notes(table, facts, shown, len(columns), len(rows)))


def _is_filled(table: pd.DataFrame) -> bool:
    """Return whether most cells have enough pairs to be shown; an empty table counts as having them."""
    fields = table[table["part"] == "field"]
    return fields.empty or bool(fields["n"].ge(theme.FEW).mean() >= 0.5)


def _draw_dots(
    ax: Axes | None, table: pd.DataFrame, *, color: Any = None
) -> tuple[Axes, pd.DataFrame, list[str]]:
    """Draw the personas and the scenarios below each other and return the axes, the table and the notes."""
    facts = table.attrs["promptlift"]
    parts = {
        part: table[table["part"] == part].iloc[:most]
        for part, most in (("all", 1), ("persona", _PERSONAS), ("scenario", _SCENARIOS))
    }
    ax = theme.new_axes(ax, 1.6 + 0.42 * (sum(map(len, parts.values())) + 2))
    points_axis(ax, f"Difference of task completion in percentage points{theme.at_level(facts['level'])}")
    tone = color[1] if isinstance(color, list | tuple) else color
    y = 0.0
    drawn: list[pd.DataFrame] = []
    for part, rows in parts.items():
        if part != "all":
            y -= 0.9
            theme.write_in_row(ax, 0, y, f"By {part}", size="small", above=0).set_fontweight("bold")
            y -= 1.0
        at = y - np.arange(len(rows), dtype=np.float64)
        draw_differences(ax, at, rows, "n", color=tone)
        names = ["all pairs"] if part == "all" else list(rows[part])
        numbers = [_pairs_in_words(row) for row in rows.to_dict("records")]
        theme.write_rows(ax, at, names, [""] * len(rows), numbers)
        y = float(at[-1])
        drawn.append(rows[ENDS])
    fit_points(ax, *drawn)
    ax.set_ylim(y - 0.4, 0.9)
    few = int(table["part"].eq("field").sum())
    why = (
        f"Most of the {few} pairs of a persona and a scenario have fewer than {theme.FEW} conversations each."
    )
    notes = _common_notes(table, facts, len(parts["persona"]), len(parts["scenario"]))
    return ax, table, theme.notes_of(table, why, *notes)


def _pairs_in_words(row: dict[Any, Any]) -> str:
    return f"{row['rate']:.0%} against {row['rate_control']:.0%} · {counted(row['n'], 'pair')}"


def _draw_cell(ax: Axes, x: float, y: float, cell: dict[Any, Any], colors: Any) -> None:
    tone = colors(0.5 + 0.5 * float(np.clip(cell["difference"] / _FULL, -1, 1)))
    few = cell["n"] < theme.FEW
    edge = theme.foreground()
    face, line = ("none", (0, (2, 2))) if few else (tone, "solid")
    box = Rectangle(
        (x - 0.47, y - 0.46), 0.94, 0.92, facecolor=face, edgecolor=edge, linewidth=0.5, linestyle=line
    )
    ax.add_patch(box)
    ink = edge
    if not few:
        red, green, blue = to_rgb(tone)
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
    ax.text(x, y - 0.13, signed(cell["difference"], ".0f"), ha="center", va="center", fontsize=9, color=ink,
            alpha=0.75 if few else 1.0)  # fmt: skip
    counts = f"{cell['completed']:,} : {cell['completed_control']:,} of {cell['n']:,}"
    ax.text(
        x, y + 0.22, counts, ha="center", va="center", fontsize=6.0, color=ink, alpha=0.75 if few else 1.0
    )


def _write_names(
    ax: Axes, rows: dict[str, int], columns: dict[str, int], right: float, bottom: float
) -> None:
    """Write the names as texts instead of tick labels, because they may need other fonts."""
    names = _wrapped(list(rows), 28, 2)
    for name, y in [*zip(names, rows.values(), strict=True), ("all scenarios", bottom)]:
        ax.annotate(
            name, (-0.5, y), xytext=(-5, 0), textcoords="offset points", ha="right",
            va="center", fontsize="small", fontweight="bold" if y == bottom else None, annotation_clip=False,
        )  # fmt: skip
    names = _wrapped(list(columns), _LINE, 3)
    for name, x in [*zip(names, columns.values(), strict=True), ("all personas", right)]:
        ax.text(
            x, -0.56, name,
            ha="center", va="bottom", fontsize="small", fontweight="bold" if x == right else None,
        )  # fmt: skip


def _wrapped(names: list[str], width: int, most: int) -> list[str]:
    """Break names into lines, cut so that different names stay different: words leave lines of which some is empty."""
    columns = most * width
    lines = [_lines(name, width, most) for name in theme.distinct_names(names, columns)]
    while len(set(lines)) < len(names) and columns > width:
        columns -= 2
        lines = [_lines(name, width, most) for name in theme.distinct_names(names, columns)]
    return lines


def _lines(text: str, width: int, most: int) -> str:
    if columns_of(text) > 1.5 * len(text):
        width //= 2
    return "\n".join(textwrap.wrap(text, width, max_lines=most, placeholder="…"))


def _notes(
    table: pd.DataFrame, facts: dict[str, Any], shown: pd.DataFrame, columns: int, rows: int
) -> list[str | None]:
    everything = table[table["part"] == "all"].iloc[0]
    difference, low, high = (signed(everything[name], ".1f") for name in ENDS)
    interval = f"{100 * facts['level']:.4g} % interval {low} to {high}, n = {everything['n']:,} pairs"
    notes: list[str | None] = [
        f"Difference of task completion in percentage points; all: {difference} ({interval})."
    ]
    notes.append("Below it: completed with the variant : with the original, out of all pairs of the cell.")
    if shown["n"].lt(theme.FEW).any():
        notes.append(f"Hollow: fewer than {theme.FEW} pairs.")
    notes.append(f"Some of the {len(shown)} cells differ by chance alone.")
    return [*notes, *_common_notes(table, facts, columns, rows)]


def _common_notes(table: pd.DataFrame, facts: dict[str, Any], columns: int, rows: int) -> list[str | None]:
    """Return the notes about what is shown at all."""
    notes: list[str | None] = []
    personas, scenarios = (int(table["part"].eq(part).sum()) for part in ("persona", "scenario"))
    if columns < personas or rows < scenarios:
        notes.append(
            f"Shown: {columns} of {personas} personas, {rows} of {scenarios} scenarios, those with the most pairs."
        )
    if "screen" in facts["stages"]:
        notes.append("Includes the screening, which favours variants that were lucky in it.")
    if facts["n_dropped"]:
        notes.append(f"Not counted: {facts['n_dropped']:,} pairs without an outcome on both sides.")
    return notes
