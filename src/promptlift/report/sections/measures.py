"""The sections about completion and sentiment: a figure each, with a table of its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.analysis.reading import basis_note
from promptlift.analysis.sentiments import FAR, NEAR, is_by_score
from promptlift.report.document import Chart, Column, Estimate, Figure, Part, Section, Table
from promptlift.report.formatting import count, percent
from promptlift.report.gather import GROUP

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from promptlift.report.document import Cell, Kind, Width
    from promptlift.report.gather import Material

    Rows = list[tuple[str, dict[str, Any] | None]]

__all__ = ["completion", "estimates", "painter", "sentiment"]

_UNITS: Final = {"h": "hour", "D": "day", "W": "week", "MS": "month"}


def completion(trend: pd.DataFrame, material: Material, rows: Rows) -> Section | None:
    """Return the section about task completion over time; None when no outcome is known.

    Parameters
    ----------
    trend
        Result of ``analysis.completion_trend``.
    material
        The data of the report.
    rows
        Name of each prompt and its row of ``analysis.prompt_overview``.
    """
    if not trend["n"].sum():
        return None
    freq = trend.attrs["promptlift"]["freq"]
    unit = _UNITS[freq]
    overall = "; ".join(
        f"{name}: {percent(row['rate'])} of {count(row['n'])}" for name, row in rows if row is not None
    )
    figure = Figure(
        "trend",
        f"Share of conversations that completed their task by {unit}, with 95% intervals. Overall {overall}.",
        painter("paint_trend", trend),
        f"Each point is a {unit}, its whisker the 95% interval; the bars below count conversations. "
        f"Hollow points have fewer than 5 conversations. A gap is a {unit} without conversations.",
        _trend_chart(trend, material, unit),
    )
    return Section(
        "completion",
        f"Task completion by {unit}",
        figures=(figure,),
        tables=(_trend_table(trend, material, freq),),
    )


def _trend_chart(trend: pd.DataFrame, material: Material, unit: str) -> Chart:
    groups = (
        [(name, trend[trend[GROUP] == name]) for name in dict.fromkeys(trend[GROUP])]
        if material.compared
        else [(material.names[0], trend)]
    )
    # Every group has a row for every period, in the same order.
    starts = tuple(start.to_pydatetime() for start in groups[0][1]["period_start"])
    series = tuple((name, estimates(rows, "rate")) for name, rows in groups)
    return Chart("line", f"Task completion by {unit}", unit.capitalize(), starts, series)


def _trend_table(trend: pd.DataFrame, material: Material, freq: str) -> Table:
    unit = _UNITS[freq]
    start: Kind = "time" if freq == "h" else "day"
    columns = (
        Column(
            "period_start", unit.capitalize() if freq in {"h", "D"} else f"{unit.capitalize()} from", start
        ),
        *material.naming(Column("prompt", "Prompt")),
        Column("rate", "Completed", "share", 95),
        Column("completed", "Conver\u00adsations", "part"),
        Column("n_missing", "Not judged", "count"),
        Column("n_in_progress", "In progress", "count"),
    )
    cells: list[tuple[Cell, ...]] = [
        (
            row["period_start"].to_pydatetime(),
            *material.naming(row.get(GROUP)),
            Estimate.of(row, "rate"),
            Part(int(row["completed"]), int(row["n"])),
            int(row["n_missing"]),
            int(row["n_in_progress"]),
        )
        for row in trend.to_dict("records")
    ]
    return Table("completion", f"Task completion by {unit}", columns, tuple(cells), folded=True)


def sentiment(table: pd.DataFrame, material: Material) -> Section | None:
    """Return the section about sentiment; None when no conversation has one."""
    distribution = analysis.sentiment_distribution(table, by=material.by)
    if not distribution["n"].sum():
        return None
    overall = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{percent(share)} {kind}" for share, kind in zip(part["share"], part["sentiment"], strict=True)
        )
        for name in material.names
        if len(part := distribution[distribution[GROUP] == name] if material.compared else distribution)
    )
    shown, said = (
        "Share of conversations by sentiment",
        "The tone of whole conversations, not whether the task was completed.",
    )
    if is_by_score(table):
        shown = f"{finding(distribution)}: share of conversations"
        said += f" {basis_note(distribution.attrs['promptlift'])} Usual is at most {NEAR} from it, far more than {FAR}."
    figure = Figure(
        "sentiment",
        f"{shown}, with 95% intervals. {overall}.",
        painter("paint_sentiment", distribution),
        said,
    )
    columns = (
        *material.naming(Column("prompt", "Prompt")),
        Column("sentiment", "Sentiment"),
        Column("share", "Share", "share", 95),
        Column("n", "Conver\u00adsations", "part"),
    )
    cells: list[tuple[Cell, ...]] = [
        (
            *material.naming(row.get(GROUP)),
            str(row["sentiment"]),
            Estimate.of(row, "share"),
            Part(int(row["n"]), int(row["total"])),
        )
        for row in distribution.to_dict("records")
    ]
    shares = Table("sentiment", "Sentiment", columns, tuple(cells), folded=True)
    return Section("sentiment", "Sentiment", figures=(figure,), tables=(shares,))


def estimates(table: pd.DataFrame, name: str) -> tuple[Estimate, ...]:
    """Return a column with its interval."""
    return tuple(Estimate.of(row, name) for row in table.to_dict("records"))


def painter(name: str, table: pd.DataFrame) -> Callable[[Width], str]:
    """Return what draws a table by a function of `drawings`, once a format asks for figures."""

    def paint(width: Width) -> str:
        from promptlift.report import drawings  # noqa: PLC0415  formats without figures load no matplotlib

        svg: str = getattr(drawings, name)(table, width)
        return svg

    return paint
