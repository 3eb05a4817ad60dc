"""Picture of an experiment: how far each version is from the current one, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from matplotlib.dates import AutoDateLocator, DateFormatter

from promptlift.plots import theme
from promptlift.plots.estimates import signed_ticks
from promptlift.plots.legends import legend, legend_headroom, legend_rows, make_room
from promptlift.plots.periods import day_numbers
from promptlift.words.figures import counted, percent
from promptlift.words.names import distinct_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from promptlift.schema.experiments import LiveExperiment

__all__ = ["draw_experiment"]

# More bands than these hide each other; then only the newest interval of each version is drawn.
_MOST_BANDS: Final = 3
# Up to so many days, ticks have the time of day; up to a thousandth of them, seconds.
_MOST_DAYS: Final = 5


def draw_experiment(
    ax: Axes | None, experiment: LiveExperiment, *, title: str | None = None, color: Any = None, **style: Any
) -> Axes:
    """Draw the differences of an experiment over time with their confidence sequences, as described in ``plots.compare``."""
    names = distinct_lines([arm.name for arm in experiment.arms], 28)
    rows = [
        {**one.model_dump(), "name": name, "units": arm.units}
        for name, arm in zip(names, experiment.arms, strict=True)
        for one in arm.over_time or ()
        if one.low is not None
    ]
    table = pd.DataFrame(rows, columns=["name", "units", "until", "estimate", "low", "high"])
    table["surest"] = np.maximum(table["low"], -table["high"])
    table.attrs["promptlift"] = {"table": "live", "basis": experiment.basis, "sentence": experiment.sentence}
    ax = theme.new_axes(ax, 3.8)
    theme.frame_axes(ax, "y")
    ax.set_ylabel(f"Difference from {theme.plain(names[0], 20)}, points")
    off = experiment.sample_ratio is not None and experiment.sample_ratio.is_off
    current = experiment.arms[0]
    completed = "" if current.rate is None else f", {percent(current.rate.rate / 100.0)[0]} completed"
    notes = [f"{names[0]}: {counted(current.units or 0, 'unit')}{completed}."]
    if off:
        notes.append(
            "Grey: units do not fall into the versions by their weights, so no difference can be trusted."
        )
    if table.empty:
        ax.set_yticks([])
        lines = theme.lines_of(experiment.sentence or "", 60 * theme.inches_wide(ax), "large")
        theme.show_empty(ax, "\n".join(map(theme.escaped, lines)), ticks=False)
        return theme.finish(ax, table, theme.notes_of(table, *notes), title=title)
    groups, omitted, _ = theme.groups_of(ax, table, "name", "surest", "0.55" if off else color)
    if omitted:
        notes.append(f"Only the {len(groups)} versions that differ most surely are drawn.")
    counts = [int(group.rows["units"].iloc[0]) for group in groups]
    height = legend_rows(ax, groups, counts, "units")
    make_room(ax, height + 1)
    for place, group in enumerate(groups):
        at = day_numbers(group.rows["until"])
        value, low, high = group.rows[["estimate", "low", "high"]].to_numpy(np.float64).T
        ax.plot(at, value, color=group.color, linewidth=1.6)
        # Beside each other, so that all are seen.
        end = at[-1] + 0.012 * place * (at[-1] - at[0])
        ax.vlines(end, low[-1], high[-1], color=group.color, linewidth=1.6)
        shown: dict[str, Any] = {"marker": group.marker, "markersize": 6.0} | style
        ax.plot(end, value[-1], color=group.color, linestyle="none", **shown)
        if len(groups) <= _MOST_BANDS:
            ax.fill_between(at, low, high, color=group.color, alpha=0.18, linewidth=0)
    if experiment.ramp:
        notes.append(f"Since {percent(experiment.ramp[-1].share)[0]} got the new version.")
    ax.axhline(0.0, color=theme.foreground(), linewidth=1.0, alpha=0.8, zorder=1)
    # Early intervals are as wide as the scale; those of the second half decide.
    later = table[table["until"] >= table["until"].min() + (table["until"].max() - table["until"].min()) / 2]
    bottom, top = min(0.0, float(later["low"].min())), max(0.0, float(later["high"].max()))
    margin = 0.08 * (top - bottom)
    bottom, top = bottom - margin, top + margin
    ax.set_ylim(bottom, top + legend_headroom(ax, height, top - bottom))
    signed_ticks(ax, "y")
    ax.xaxis_date()
    days = day_numbers(table["until"])
    hours = (
        "" if np.ptp(days) > _MOST_DAYS else "\n%H:%M" if np.ptp(days) > _MOST_DAYS / 1_000 else "\n%H:%M:%S"
    )
    ax.xaxis.set_major_locator(AutoDateLocator(maxticks=7))  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(DateFormatter(f"%d %b{hours}"))  # type: ignore[no-untyped-call]
    legend(ax, groups, counts, "units")
    notes.append("Intervals: 95% confidence sequences, which hold together, however often one looks.")
    return theme.finish(ax, table, theme.notes_of(table, *notes), title=title)
