"""Picture of what simulations promised beside what production shows after the apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift import analysis
from promptlift.plots import style as look
from promptlift.plots.differences import ENDS, draw_differences, fit_points, points_axis, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_promises", "simulated_against_production"]

_MAX = 12
NO_INTERVAL = "interval unavailable: the service reports no sample size"


def simulated_against_production(
    variants: Any,
    conversations: Any = None,
    *,
    versions: Any = None,
    applied_at: Any = None,
    window: Any = None,
    level: float = 0.95,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw the predicted change of completion of each applied variant beside the change in production.

    Round: the simulation, as measured; the diamond is what it let expect. Square: production after the apply
    against before, which is observational. Hollow points are of fewer than 5, or have no interval.

    Parameters
    ----------
    variants
        Variants or optimizations, as for ``analysis.simulated_vs_production``, or its answer (then the
        arguments are the answer's).
    conversations, versions, applied_at, window, level
        As for ``analysis.simulated_vs_production``.
    ax
        Axes to draw on; a new figure without.
    style
        ``color`` (one, or a pair for simulation and production), and properties of the points.

    Returns
    -------
    Axes
        x is the change in percentage points; the latest apply is on top. At most 12 are drawn.

    Raises
    ------
    FrameError, ValueError
        As ``analysis.simulated_vs_production`` raises them.
    """
    table = variants
    if not look.precomputed(variants, "simulated_vs_production"):
        table = analysis.simulated_vs_production(
            variants, conversations, versions=versions, applied_at=applied_at, window=window, level=level
        )
    ax = look.new_axes(ax, 8.5, 1.5 + 1.0 * max(1.5, min(len(table), _MAX)))
    return look.finish(ax, table, draw_promises(ax, table, **style))


def draw_promises(ax: Axes, table: pd.DataFrame, *, color: Any = None, **style: Any) -> list[str]:
    """Draw the answer of ``analysis.simulated_vs_production`` and give the notes that belong under it."""
    facts = table.attrs["promptlift"]
    points_axis(ax, "Change of task completion, percentage points")
    if table.empty:
        ax.set_xticks([])
        look.say_empty(ax, "No variant was applied")
        return look.notes_of(table)
    shown = table.iloc[-_MAX:].reset_index(drop=True)
    rows = np.arange(len(shown), dtype=np.float64) * 2.4
    tones = list(color) if isinstance(color, list | tuple) else [color or tone for tone in look.palette(ax)]
    simulated = pd.DataFrame(
        dict(zip(ENDS, (shown["predicted"], shown["predicted_low"], shown["predicted_high"]), strict=True))
    ).assign(_n=shown["predicted_n"].fillna(look.FEW))
    draw_differences(ax, rows + 1, simulated, "_n", color=tones[0], **style)
    observed = shown[ENDS].assign(_n=np.minimum(shown["n_before"], shown["n_after"]))
    draw_differences(ax, rows, observed, "_n", color=tones[1 % len(tones)], **({"marker": "s"} | style))
    expected = shown["predicted_expected"].to_numpy(np.float64)
    ax.plot(
        expected, rows + 1, linestyle="none", marker="D", markersize=3.5, color=look.foreground(), alpha=0.75,
        zorder=4,
    )  # fmt: skip
    fit_points(ax, simulated[ENDS], observed[ENDS], expected)
    ax.set_ylim(-0.4, rows[-1] + 1.9)
    room = max(14, int((look.inches_wide(ax) - 3.2) * 12))
    for row, y in zip(shown.to_dict("records"), rows, strict=True):
        name = row["name"] if pd.notna(row["name"]) else row["variant_id"]
        look.name_row(
            ax,
            y + 1,
            f"{look.plain(name, room)}, applied {row['applied_at']:%d %b %Y}: simulated",
            _promised(row),
        )
        look.name_row(ax, y, "in production (observational)", _observed(row))
    return look.notes_of(table, *_notes(shown, table, facts))


def _promised(row: dict[Any, Any]) -> str:
    if pd.isna(row["predicted"]):
        return "nothing predicted"
    parts = [f"{signed(row['predicted'], '.1f')} measured"]
    if pd.notna(row["predicted_expected"]):
        parts.append(f"{signed(row['predicted_expected'], '.1f')} expected")
    if pd.notna(row["predicted_n"]):
        parts.append(f"{row['predicted_n']:,.0f} pairs")
    if pd.isna(row["predicted_low"]):
        parts.append(NO_INTERVAL if pd.isna(row["predicted_n"]) else "interval not given")
    return " · ".join(parts)


def _observed(row: dict[Any, Any]) -> str:
    sides = []
    for side in ("before", "after"):
        rate, n = row[f"rate_{side}"], row[f"n_{side}"]
        sides.append(f"{'–' if pd.isna(rate) else f'{rate:.1%}'} (n = {n:,}) {side}")
    told = ", ".join(sides)
    return f"{told} · cut at text {row['cut_by']}" if pd.notna(row["cut_by"]) else told


def _notes(shown: pd.DataFrame, table: pd.DataFrame, facts: dict[str, Any]) -> list[str | None]:
    levels = shown["predicted_level"].dropna().unique()
    left_out = int(facts["n_not_applied"])
    notes: list[str | None] = [
        f"Simulated: {', '.join(f'{100 * level:.4g}' for level in levels)} % interval."
        if len(levels)
        else None
    ]
    notes.append(
        f"Production: {100 * facts['level']:.4g} % interval, observational: who wrote in, and what about, may have "
        "changed with the text."
    )
    if shown["predicted_expected"].notna().any():
        notes.append("Diamond: the change to expect, drawn toward 0 by as much as it is uncertain.")
    if shown["predicted_low"].isna().any():
        notes.append("Hollow: fewer than 5, or no interval is known.")
    if shown["predicted_basis"].eq("lift").any():
        notes.append("The lift was turned into points with the rate before.")
    if not facts["cuts_known"]:
        notes.append("Other changes of the text are not known, so nothing is cut at them.")
    if left_out:
        notes.append(f"Not applied: {left_out:,} variants.")
    if len(table) > len(shown):
        notes.append(f"The latest {len(shown)} of {len(table)} applies are shown.")
    return notes
