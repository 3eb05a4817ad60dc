"""The sections about completion, sentiment and issues: a figure each, with a table of its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from unicodedata import east_asian_width

from promptlift import analysis
from promptlift.report.document import Column, Estimate, Figure, Part, Section, Table
from promptlift.report.formatting import count, percent
from promptlift.report.gather import GROUP
from promptlift.schema.inert import shorten, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from promptlift.report.document import Cell, Kind
    from promptlift.report.gather import Material

    Rows = list[tuple[str, dict[str, Any] | None]]

__all__ = ["completion", "issues", "painter", "sentiment"]

TOP: Final = 8
_QUOTE_CHARS: Final = 180
# Characters of average width that fit next to the counts in the figure of issues.
_LABEL_WIDTH: Final = 84.0
_BROAD: Final = frozenset("=+~<>@#%&mw_−—–…")
_UNITS: Final = {"h": "hour", "D": "day", "W": "week", "MS": "month"}


def completion(trend: pd.DataFrame, material: Material, rows: Rows) -> Section:
    """Return the section about task completion over time, from ``analysis.completion_trend``."""
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
    )
    return Section(
        "completion",
        f"Task completion by {unit}",
        figures=(figure,),
        tables=(_trend_table(trend, material, freq),),
    )


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
            Estimate(row["rate"], row["rate_low"], row["rate_high"]),
            Part(int(row["completed"]), int(row["n"])),
            int(row["n_missing"]),
            int(row["n_in_progress"]),
        )
        for row in trend.to_dict("records")
    ]
    return Table("completion", f"Task completion by {unit}", columns, tuple(cells), folded=True)


def sentiment(table: pd.DataFrame, material: Material, rows: Rows) -> Section:
    """Return the section about sentiment."""
    distribution = analysis.sentiment_distribution(table, by=material.by)
    overall = "; ".join(
        f"{name}: {percent(row['negative_share'])} negative, {percent(row['neutral_share'])} neutral, "
        f"{percent(row['positive_share'])} positive"
        for name, row in rows
        if row is not None
    )
    figure = Figure(
        "sentiment",
        f"Share of conversations by sentiment, with 95% intervals. {overall}.",
        painter("paint_sentiment", distribution),
        "The tone of whole conversations, not whether the task was completed.",
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
            Estimate(row["share"], row["share_low"], row["share_high"]),
            Part(int(row["n"]), int(row["total"])),
        )
        for row in distribution.to_dict("records")
    ]
    shares = Table("sentiment", "Sentiment", columns, tuple(cells), folded=True)
    return Section("sentiment", "Sentiment", figures=(figure,), tables=(shares,))


def issues(table: pd.DataFrame, material: Material, *, quoted: bool) -> Section:
    """Return the section about issues: how often each occurs, and task completion with and without it.

    Parameters
    ----------
    table
        Conversations with issue titles that are safe to show.
    material
        The data of the report.
    quoted
        Whether to quote the conversations.
    """
    found = analysis.issues(table, by=material.by, top=TOP)
    if not len(found):
        return Section("issues", "Issues", ("No issues were found in these conversations.",))
    figure = Figure(
        "issues",
        f"The {found['issue'].nunique()} most frequent issues with their shares and 95% intervals; the table "
        "below has the numbers.",
        painter("paint_issues", found.assign(issue=_labels(found["issue"]))),
        "A conversation counts once for each issue. Tasks that fail more often with an issue do not show "
        "that the issue is the cause.",
    )
    quotes = _quotes(table, set(found["example_id"].dropna())) if quoted else None
    return Section("issues", "Issues", figures=(figure,), tables=(_issue_table(found, material, quotes),))


def _issue_table(found: pd.DataFrame, material: Material, quotes: dict[tuple[str, str], str] | None) -> Table:
    columns = (
        Column("issue", "Issue"),
        *material.naming(Column("prompt", "Prompt")),
        Column("severity", "Severity"),
        Column("share", "Share", "share", 95),
        Column("n", "Conver\u00adsations", "part"),
        Column("completed_with", "Completed with it", "part"),
        Column("completed_without", "Completed without", "part"),
        *(() if quotes is None else (Column("evidence", "For example"),)),
    )
    cells: list[tuple[Cell, ...]] = []
    for row in found.to_dict("records"):
        quote = quotes.get((str(row["example_id"]), row["issue"]), "") if quotes and row["n"] else ""
        cells.append(
            (
                row["issue"],
                *material.naming(row.get(GROUP)),
                row["severity"] if isinstance(row["severity"], str) else "–",
                Estimate(row["share"], row["share_low"], row["share_high"]),
                Part(int(row["n"]), int(row["total"])),
                Part(int(row["completed"]), int(row["n_rated"])),
                Part(int(row["completed_without"]), int(row["n_rated_without"])),
                *(() if quotes is None else (quote,)),
            )
        )
    return Table("issues", "Issues", columns, tuple(cells))


def _quotes(table: pd.DataFrame, ids: set[str]) -> dict[tuple[str, str], str]:
    """Return the evidence of each issue in its example conversation."""
    chosen = table[table["conversation_id"].isin(ids)]
    quotes: dict[tuple[str, str], str] = {}
    for conversation_id, named in zip(chosen["conversation_id"], chosen["issues"], strict=True):
        for one in named if isinstance(named, list) else []:
            evidence = one.get("evidence")
            if isinstance(evidence, str) and evidence.strip():
                text = shorten(" ".join(visible(evidence).split()), _QUOTE_CHARS)[0]
                quotes.setdefault((str(conversation_id), one["title"]), f"“{text}”")
    return quotes


def _labels(titles: pd.Series[str]) -> list[str]:
    """Cut titles to fit into the figure, but keep them distinct."""
    labels: dict[str, str] = {}
    for title in titles.unique():
        label = _cut(title)
        labels[title] = label if label not in labels.values() else f"{label} ({len(labels) + 1})"
    return [labels[title] for title in titles]


def _cut(title: str) -> str:
    left = _LABEL_WIDTH
    for place, char in enumerate(title):
        wide = east_asian_width(char) in "WF"
        left -= 2.0 if wide else 1.6 if char.isupper() or char in _BROAD else 1.0
        if left < 0:
            return f"{title[:place].rstrip()}…"
    return title


def painter(name: str, table: pd.DataFrame) -> Callable[[], str]:
    """Return what draws a table by a function of `drawings`, once a format asks for figures."""

    def paint() -> str:
        from promptlift.report import drawings  # noqa: PLC0415  formats without figures load no matplotlib

        svg: str = getattr(drawings, name)(table)
        return svg

    return paint
