"""The sections about completion and sentiment: a figure each, with a table of its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.analysis.reading import basis_note
from promptlift.analysis.sentiments import FAR, NEAR, is_by_score
from promptlift.report.document import Chart, Column, Estimate, Figure, Part, Section, Table
from promptlift.report.formatting import count, percent
from promptlift.report.gather import PROMPT

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from promptlift.report.document import Width
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
        painter("trend", trend, "auto" if material.comparable else f"Task completion by {unit}"),
        f"Each point is a {unit}, its whisker the 95% interval; the bars below count conversations. "
        f"Hollow points have fewer than 5 conversations. A gap is a {unit} without conversations.",
        _trend_chart(trend, material, unit),
        is_half=True,
    )
    return Section(
        "completion",
        f"Task completion by {unit}",
        figures=(figure,),
        tables=(_trend_table(trend, material, freq),),
    )


def _trend_chart(trend: pd.DataFrame, material: Material, unit: str) -> Chart:
    groups = material.groups(trend)
    # Every group has a row for every period, in the same order.
    starts = tuple(start.to_pydatetime() for start in groups[0][1]["period_start"])
    series = tuple((name, estimates(rows, "rate")) for name, rows in groups)
    return Chart("line", f"Task completion by {unit}", unit.capitalize(), starts, series)


def _trend_table(trend: pd.DataFrame, material: Material, freq: str) -> Table:
    unit = _UNITS[freq]
    label = f"{unit.capitalize()}{'' if freq in {'h', 'D'} else ' from'}"
    start = Column("period_start", label, "time" if freq == "h" else "day")
    return Table.of(
        "completion",
        f"Task completion by {unit}",
        trend[trend[["n", "n_missing", "n_in_progress"]].any(axis=1)].to_dict("records"),
        (start, lambda row: row["period_start"].to_pydatetime()),
        *material.naming(PROMPT),
        (Column("rate", "Completed", "share", 95), lambda row: Estimate.of(row, "rate")),
        (Column("completed", "Conver\u00adsations", "part"), lambda row: Part.of(row, "completed", "n")),
        (Column("n_missing", "Not judged", "count"), lambda row: int(row["n_missing"])),
        (Column("n_in_progress", "In progress", "count"), lambda row: int(row["n_in_progress"])),
        folded=True,
    )


def sentiment(table: pd.DataFrame, material: Material) -> Section | None:
    """Return the section about sentiment; None when no conversation has one."""
    distribution = analysis.sentiment_distribution(table, by=material.by)
    if not distribution["n"].sum():
        return None
    said_of = {
        name: ", ".join(
            f"{percent(share)} {kind}" for share, kind in zip(rows["share"], rows["sentiment"], strict=True)
        )
        for name, rows in material.groups(distribution)
    }
    overall = "; ".join(f"{name}: {said_of[name]}" for name in material.names if name in said_of)
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
        painter("sentiment", distribution, "auto" if material.comparable else "Sentiment"),
        said,
        is_half=True,
    )
    shares = Table.of(
        "sentiment",
        "Sentiment",
        distribution.to_dict("records"),
        *material.naming(PROMPT),
        (Column("sentiment", "Sentiment"), lambda row: str(row["sentiment"])),
        (Column("share", "Share", "share", 95), lambda row: Estimate.of(row, "share")),
        (Column("n", "Conver\u00adsations", "part"), lambda row: Part.of(row, "n", "total")),
        folded=True,
    )
    return Section("sentiment", "Sentiment", figures=(figure,), tables=(shares,))


def estimates(table: pd.DataFrame, name: str) -> tuple[Estimate, ...]:
    """Return a column with its interval."""
    return tuple(Estimate.of(row, name) for row in table.to_dict("records"))


def painter(name: str, table: Any, title: str = "auto") -> Callable[[Width], str]:
    """Return what draws a table as the figure of this name, once a format asks for figures; ``"auto"`` is its finding."""

    def paint(width: Width) -> str:
        from promptlift.report.drawings import paint  # noqa: PLC0415  formats without figures load no matplotlib

        return paint(name, table, width, title)

    return paint
