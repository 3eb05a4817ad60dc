"""The look of every plot: colours, markers, weak estimates, notes, legends, empty axes."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.analysis.reading import basis_note, facts_of
from promptlift.plots.fonts import MISSING, make_readable
from promptlift.plots.palette import MARKERS, PALETTE, PALETTE_ON_DARK, slots_of
from promptlift.words.names import distinct_lines, in_a_sentence, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation, Text
    from numpy.typing import NDArray

# A column that only the result of an analysis has, where the workspace has a table of the same name.
_RESULT_COLUMNS = {
    "benchmark": "acceptable",
    "production_metrics": "got_worse",
    "targets": "difference",
}
FEW = 5
# Of every figure, in inches.
WIDTH = 8.5
SHORTEST_NAME = 16
# Size of the numbers in a row, in points.
NUMBERS = 7.5
MAX_GROUPS = 6
_REHEARSAL = (
    "Rehearsal: produced by a built-in stand-in for a language model; it says nothing about a real prompt."
)


@dataclass(frozen=True)
class Group:
    """One group: its rows, its name in the legend, its colour and its marker."""

    rows: pd.DataFrame
    name: str | None
    color: Any
    marker: str = MARKERS[0]


def plain(text: Any, width: int = 40) -> str:
    """Return a text from outside as one line, cut to ``width``, without mathematics or control characters."""
    return escaped(in_a_sentence(one_line(text, width)))


def distinct_names(names: Sequence[Any], width: int) -> list[str]:
    """Return names as `plain` does, but cut by what tells them apart, so that different names stay different."""
    return [escaped(in_a_sentence(name)) for name in distinct_lines(names, width)]


def escaped(line: str) -> str:
    """Return a text that matplotlib does not read as mathematics."""
    return line.replace("$", r"\$") or "(empty)"


def new_axes(ax: Axes | None, height: float) -> Axes:
    """Return ``ax``, or the axes of a new figure of this height in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # noqa: PLC0415  (callers with axes of their own may not want a window toolkit)

    figure, new = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    hold_width(figure)
    return new


def hold_width(figure: Figure) -> None:
    """Keep a notebook from cutting the margins off, so that all plots are equally wide there."""
    frame = Rectangle((0, 0), 1, 1, transform=figure.transFigure, fill=False, linewidth=0)
    figure.add_artist(frame)


def background(ax: Axes) -> tuple[float, float, float, float]:
    """Return the colour behind a drawing: that of the axes, or of the figure where the axes are transparent."""
    own = to_rgba(ax.get_facecolor())
    figure = ax.get_figure(root=True)
    return own if own[3] > 0 or figure is None else to_rgba(figure.get_facecolor())


def is_dark(ax: Axes) -> bool:
    """Return whether the background is closer to black than to white."""
    red, green, blue, opacity = background(ax)
    return opacity > 0 and 0.299 * red + 0.587 * green + 0.114 * blue < 0.5


def palette(ax: Axes) -> tuple[str, ...]:
    """Return the colours of the groups in order, lighter ones first on a dark background."""
    return PALETTE_ON_DARK if is_dark(ax) else PALETTE


def result_of(data: Any, name: str, *others: Any, **options: Any) -> pd.DataFrame:
    """Return ``data`` when it is already the result of the analysis of this name, else compute it."""
    if isinstance(data, pd.DataFrame) and facts_of(data).get("table") == name:
        column = _RESULT_COLUMNS.get(name)
        if column is None or column in data.columns:
            return data
    result: pd.DataFrame = getattr(analysis, name)(data, *others, **options)
    return result


def at_level(level: float | None) -> str:
    """Return the coverage of intervals as the end of a label; empty where it is not known."""
    return "" if level is None else f" ({100 * level:.4g}% interval)"


def foreground() -> Any:
    """Return the text colour of the current matplotlib style."""
    return mpl.rcParams["text.color"]


def groups_of(
    ax: Axes, table: pd.DataFrame, by: str | None, size: str, color: Any = None
) -> tuple[list[Group], str | None, NDArray[np.bool_]]:
    """Split a result into the groups that fit into a plot.

    Parameters
    ----------
    ax
        Axes to draw on.
    table
        Result of an analysis.
    by
        The group column, or None.
    size
        Column whose sum ranks the groups.
    color
        Colour, a list of colours, or a mapping from group to colour; None takes the palette, where each name has its
        own place.

    Returns
    -------
    groups, note, shown
        The groups, in the table's order; what is omitted, or None; which rows are shown.
    """
    colors = palette(ax)
    if by is None:
        return [Group(table, None, color or colors[0])], None, np.ones(len(table), bool)
    codes, names = pd.factorize(table[by], use_na_sentinel=False)
    sizes = np.bincount(codes, weights=table[size].to_numpy(), minlength=len(names))
    kept = sorted(np.argsort(-sizes, kind="stable")[:MAX_GROUPS])
    note = None
    if len(names) > MAX_GROUPS:
        note = f"Only the {MAX_GROUPS} largest of {len(names)} groups are shown."
    groups = []
    shown_names = distinct_names([names[code] for code in kept], 28)
    slots = slots_of([str(names[code]) for code in kept], len(colors))
    for place, code in enumerate(kept):
        given = color.get(names[code]) if isinstance(color, Mapping) else color
        if isinstance(given, Sequence) and not isinstance(given, str):
            given = given[place % len(given)]
        own_color, marker = given or colors[slots[place]], MARKERS[slots[place] % len(MARKERS)]
        groups.append(Group(table[codes == code], shown_names[place], own_color, marker))
    return groups, note, np.isin(codes, kept)


def frame_axes(ax: Axes, grid: Literal["x", "y"]) -> None:
    """Remove the decoration and add a light grid."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(visible=True, axis=grid, color=foreground(), alpha=0.15, linewidth=0.6)
    ax.set_axisbelow(True)


def frame_rows(ax: Axes, label: str) -> None:
    """Frame axes whose rows have their names above them: a grid and a label for x, nothing on y."""
    frame_axes(ax, "x")
    ax.spines["left"].set_visible(False)
    ax.set_yticks([])
    ax.set_xlabel(label)


def notes_of(table: pd.DataFrame, *more: str | None) -> list[str]:
    """Return the notes under a plot: what is omitted, which analyser judged, and whether it was a rehearsal."""
    facts = facts_of(table)
    rehearsal = _REHEARSAL if facts.get("rehearsal") else None
    return [note for note in (*more, basis_note(facts), rehearsal) if note]


def not_counted(kinds: Mapping[str, int]) -> str | None:
    """Return a note about the conversations of each kind that are not counted; None when there are none."""
    parts = [f"{count:,} {kind}" for kind, count in kinds.items() if count]
    return f"Not counted: {', '.join(parts)}." if parts else None


def name_row(ax: Axes, y: float, left: str, right: str = "", *, above: float = 7, boxed: bool = True) -> None:
    """Write the name of a row above it and its numbers at the right, because margins cannot hold long names.

    Parameters
    ----------
    ax
        Axes with the rows along y.
    y
        Position of the row.
    left, right
        The texts.
    above
        Distance above the row, in points.
    boxed
        Whether the texts hide what is drawn behind them.
    """
    for x, text, size in ((0, left, "small"), (1, right, NUMBERS)):
        if text:
            write_in_row(ax, x, y, text, size=size, above=above, boxed=boxed)


def write_in_row(
    ax: Axes, x: float, y: float, text: str, *, size: Any = NUMBERS, above: float = 7, boxed: bool = False
) -> Annotation:
    """Write a text above a row, at the left (0) or at the right (1) end of the axes, and return it."""
    box = {"facecolor": background(ax), "edgecolor": "none", "alpha": 0.75, "pad": 0.6} if boxed else None
    return ax.annotate(
        text, (x, y), xycoords=ax.get_yaxis_transform(), xytext=(0, above), textcoords="offset points",
        ha="right" if x else "left", va="bottom", fontsize=size, annotation_clip=False, bbox=box,
    )  # fmt: skip


def write_rows(
    ax: Axes,
    rows: Iterable[float],
    names: Sequence[Any],
    verdicts: Sequence[str],
    numbers: Sequence[str],
    *,
    most: int = 80,
    **style: Any,
) -> None:
    """Write the name and the verdict of each row above it and its numbers at the right, names cut so that they fit.

    Parameters
    ----------
    ax
        Axes with the rows along y.
    rows
        Position of each row.
    names
        Names from outside; different ones stay different.
    verdicts, numbers
        What follows the name, and what is at the right.
    most
        Columns of the longest name.
    style
        As for `name_row`.
    """
    beside = [verdict + text for verdict, text in zip(verdicts, numbers, strict=True)]
    fitting = fit_names(ax, names, beside, most=most)
    for y, name, verdict, text in zip(rows, fitting, verdicts, numbers, strict=True):
        name_row(ax, y, name + verdict, text, **style)


def mark_rehearsal(ax: Axes, table: pd.DataFrame) -> None:
    """Mark a plot of rehearsal data above its right corner; other plots stay as they are."""
    if facts_of(table).get("rehearsal"):
        ax.annotate(
            "REHEARSAL", (1, 1), xycoords="axes fraction", xytext=(0, 6), textcoords="offset points",
            ha="right", va="bottom", fontsize=8, fontweight="bold", annotation_clip=False,
            bbox={"boxstyle": "square,pad=0.3", "fill": False, "edgecolor": foreground(), "linewidth": 1.0},
        )  # fmt: skip


def finish(
    ax: Axes,
    table: pd.DataFrame,
    notes: Sequence[str],
    *,
    title: str | None = None,
    width: float | None = None,
) -> Axes:
    """Finish a plot: write its title, mark a rehearsal, find fonts for all texts, write the notes.

    Parameters
    ----------
    ax
        The axes.
    table
        The result that was drawn.
    notes
        Sentences under the axes.
    title
        The title: ``"auto"`` for the finding of the table, another text as it is, or None to leave it as it is.
    width
        Their width in inches; by default that of the axes before the layout.
    """
    write_title(ax, table, title, width=width)
    mark_rehearsal(ax, table)
    text = " ".join([*notes, *([MISSING] if make_readable(texts_of(ax)) else [])])
    if text:
        width = inches_wide(ax) if width is None else width
        ax.annotate(
            "\n".join(textwrap.wrap(text, max(40, int(width * 21)))),
            xy=(0, 0), xycoords=("axes fraction", ax.xaxis.label), xytext=(0, -3), textcoords="offset points",
            va="top", ha="left", fontsize=7, alpha=0.8, annotation_clip=False,
        )  # fmt: skip
    return ax


def fit_names(ax: Axes, names: Sequence[Any], beside: Sequence[str], *, most: int = 80) -> list[str]:
    """Cut names so that each fits into its row beside other text, and different names stay different.

    Parameters
    ----------
    ax
        Axes with the rows along y.
    names
        Names from outside.
    beside
        What else is written in the row of each.
    most
        Columns of the longest name.
    """
    room = points_of_row(ax) - np.array([points_wide(text, "small") for text in beside])
    columns = min(most, max(SHORTEST_NAME, int(min(room, default=0) / 4)))
    fitting = distinct_names(names, columns)
    while columns > SHORTEST_NAME and any(
        points_wide(name, "small") > space for name, space in zip(fitting, room, strict=True)
    ):
        columns = max(SHORTEST_NAME, int(0.9 * columns))
        fitting = distinct_names(names, columns)
    return fitting


def points_of_row(ax: Axes) -> float:
    """Return how many points the texts of a row may take: in a figure of its own, axes without labels on y get its margins too."""
    figure = ax.get_figure(root=True)
    if figure is None or figure.get_layout_engine() is None or len(figure.axes) > 1:
        return 72 * inches_wide(ax) - 14
    return 72 * float(figure.get_figwidth()) - 20


def points_wide(text: str, size: Any, weight: str = "normal") -> float:
    """Return the width of one line in points, without drawing it."""
    with warnings.catch_warnings():
        # A letter that the font lacks is as wide as the box in its place.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        font = FontProperties(family=mpl.rcParams["font.family"], size=size, weight=weight)
        return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def write_title(ax: Axes, table: pd.DataFrame, title: str | None, *, width: float | None = None) -> None:
    """Write the title above the left corner; ``"auto"`` writes the finding of the table, in lines that fit."""
    if title is None:
        return
    if title == "auto":
        room = (inches_wide(ax) if width is None else width) - (
            1.2 if facts_of(table).get("rehearsal") else 0
        )
        title = escaped("\n".join(lines_of(finding(table), 72 * room, "medium", "bold")))
    make_readable([ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")])


def lines_of(text: str, room: float, size: Any, weight: str = "normal") -> list[str]:
    """Break a text into lines that fit into so many points, about equally long."""
    # Drawn at few dots an inch, letters are wider than measured.
    room *= 0.96
    columns = max(20, int(1.1 * len(text) * room / max(points_wide(text, size, weight), 1.0)))
    lines = textwrap.wrap(text, columns)
    while columns > 20 and any(points_wide(line, size, weight) > room for line in lines):
        columns -= 2
        lines = textwrap.wrap(text, columns)
    # As few columns as give as few lines: no word stands alone in the last one.
    count = len(lines)
    while columns > 20 and len(textwrap.wrap(text, columns - 1)) == count:
        columns -= 1
    return [in_a_sentence(line) for line in textwrap.wrap(text, columns)]


def texts_of(ax: Axes) -> list[Text]:
    """Return the texts on the axes that may come from outside, which tick labels do not."""
    box = ax.get_legend()
    return [*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label, *([] if box is None else box.get_texts())]


def inches_wide(ax: Axes) -> float:
    """Return the width of the axes in inches, as far as it is known before drawing."""
    figure = ax.get_figure(root=True)
    return float(ax.get_position().width * figure.get_figwidth()) if figure is not None else 6.0


def show_empty(ax: Axes, text: str = "No conversations", *, ticks: bool = True) -> None:
    """Write in the middle of the axes that there is nothing to draw; ``ticks`` keeps those of x."""
    if not ticks:
        ax.set_xticks([])
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", fontsize="large", alpha=0.7)
