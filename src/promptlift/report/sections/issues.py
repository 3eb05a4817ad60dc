"""The section about issues: how often each occurs, completion with and without it, and the clearest quotation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from promptlift import analysis
from promptlift.report.document import Chart, Column, Estimate, Figure, Part, Section, Table
from promptlift.report.formatting import count
from promptlift.report.gather import GROUP
from promptlift.report.sections.headlines import CARDS
from promptlift.report.sections.measures import estimates, painter
from promptlift.schema.inert import shorten, visible
from promptlift.schema.insights import SEVERITIES
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import pandas as pd

    from promptlift.report.document import Cell
    from promptlift.report.gather import Material

    Quotes = dict[tuple[str | None, str], str]

__all__ = ["issues"]

_TOP: Final = 8
_QUOTE_CHARS: Final = 180
_MOST_COLUMNS: Final = 6
"""Most prompts that have a column each."""


def issues(table: pd.DataFrame, material: Material, *, quoted: bool) -> Section | None:
    """Return the section about issues; None when none was found.

    Parameters
    ----------
    table
        Conversations with issue titles that are safe to show.
    material
        The data of the report.
    quoted
        Whether to quote the conversations.
    """
    found = analysis.issues(table, by=material.by, top=_TOP)
    if not len(found):
        return None
    figure = Figure(
        "issues",
        f"The {found['issue'].nunique()} most frequent issues with their shares and 95% intervals; the table "
        "below has the numbers.",
        painter("paint_issues", found),
        "A conversation counts once for each issue. Tasks that fail more often with an issue do not show "
        "that the issue is the cause.",
        _chart(found, material),
    )
    quotes = _quotes(table) if quoted else None
    side_by_side = material.compared and len(material.names) <= _MOST_COLUMNS
    tables = [_issue_table(found, material, quotes, folded=side_by_side)]
    if side_by_side:
        # With more columns than that, a page has no room for the words beside the numbers.
        tables.insert(0, _by_prompt(found, quotes if len(material.names) <= CARDS else None))
    return Section("issues", "Issues", figures=(figure,), tables=tuple(tables))


# Where the verdicts may be counted against the issues.
_COMPLETED: Final = (
    Column("completed_with", "Completed with it", "part"),
    Column("completed_without", "Completed without", "part"),
)


def _chart(found: pd.DataFrame, material: Material) -> Chart:
    groups = (
        [(name, found[found[GROUP] == name]) for name in dict.fromkeys(found[GROUP])]
        if material.compared
        else [(material.names[0], found)]
    )
    series = tuple((name, estimates(rows, "share")) for name, rows in groups)
    titles = tuple(dict.fromkeys(found["issue"]))
    return Chart("bar", "Share of conversations with each issue", "Issue", titles, series)


def _issue_table(found: pd.DataFrame, material: Material, quotes: Quotes | None, *, folded: bool) -> Table:
    weighed = bool(found["n_rated"].notna().any())
    columns = (
        Column("issue", "Issue"),
        *material.naming(Column("prompt", "Prompt")),
        Column("severity", "Severity"),
        Column("share", "Share", "share", 95),
        Column("n", "Conver\u00adsations", "part"),
        *(_COMPLETED if weighed else ()),
        *_evidence_column(quotes),
    )
    cells: list[tuple[Cell, ...]] = []
    for row in found.to_dict("records"):
        prompt = row.get(GROUP)
        cells.append(
            (
                row["issue"],
                *material.naming(prompt),
                _severity(row["severity"], row["n_worst"], row["n"]),
                Estimate.of(row, "share"),
                Part(int(row["n"]), int(row["total"])),
                *(_completed(row) if weighed else ()),
                *_evidence(quotes, prompt, row["issue"]),
            )
        )
    return Table("issues", "Issues", columns, tuple(cells), folded=folded)


def _completed(row: Mapping[Hashable, Any]) -> tuple[Part, Part]:
    with_it = Part(int(row["completed"]), int(row["n_rated"]))
    return with_it, Part(int(row["completed_without"]), int(row["n_rated_without"]))


def _by_prompt(found: pd.DataFrame, quotes: Quotes | None) -> Table:
    """Return the shares with a column for each prompt."""
    prompts = list(dict.fromkeys(found[GROUP]))
    columns = (
        Column("issue", "Issue"),
        Column("severity", "Severity"),
        *(Column(f"share_{place}", label, "share", 95) for place, label in enumerate(prompts, 1)),
        *_evidence_column(quotes),
    )
    cells: list[tuple[Cell, ...]] = []
    for title, rows in found.groupby("issue", sort=False):
        of_prompt = rows.set_index(GROUP).loc[prompts]
        worst = rows["severity"].max()
        severe = rows.loc[rows["severity"] == worst, "n_worst"].sum()
        cells.append(
            (
                str(title),
                _severity(worst, severe, rows["n"].sum()),
                *estimates(of_prompt, "share"),
                *_evidence(quotes, None, str(title)),
            )
        )
    return Table("issues_by_prompt", "Share of each issue", columns, tuple(cells))


def _severity(worst: Any, n_worst: Any, n: Any) -> str:
    """Return the worst severity, and in how many conversations where it is not in all."""
    if not isinstance(worst, str):
        return "–"
    return worst if n_worst == n else f"{worst} in {count(n_worst)} of {count(n)}"


def _evidence_column(quotes: Quotes | None) -> tuple[Column, ...]:
    return () if quotes is None else (Column("evidence", "For example"),)


def _evidence(quotes: Quotes | None, prompt: Any, title: str) -> tuple[str, ...]:
    return () if quotes is None else (quotes.get((prompt, title), ""),)


def _quotes(table: pd.DataFrame) -> Quotes:
    """Return the clearest quotation of each issue, by prompt and (under ``None``) of all prompts.

    It is from the conversation in which the issue is most severe; among those, from one that ended without completing the
    task, and then from the one with the lowest sentiment: a reader who checks an example should find what it stands for.
    """
    best: dict[tuple[str | None, str], tuple[tuple[Any, ...], str]] = {}
    columns = ("conversation_id", GROUP, "status", "task_completed", "sentiment_score", "issues")
    for name, prompt, status, completed, sentiment, named in zip(
        *(table[column] for column in columns), strict=True
    ):
        for one in named if isinstance(named, list) else []:
            evidence = one.get("evidence")
            if not isinstance(evidence, str) or not evidence.strip():
                continue
            rank = (
                -_rank(one.get("severity")),
                status == "in_progress",
                is_missing(completed) or bool(completed),
                0.0 if is_missing(sentiment) else float(sentiment),
                # The same one every time, and no order favoured.
                hashlib.sha256(str(name).encode("utf-8", "replace")).digest(),
            )
            for key in ((None, one["title"]), (prompt, one["title"])):
                if key not in best or rank < best[key][0]:
                    best[key] = (rank, evidence)
    return {key: _quotation(evidence) for key, (_, evidence) in best.items()}


def _rank(severity: Any) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else -1


def _quotation(evidence: str) -> str:
    return f"“{shorten(' '.join(visible(evidence).split()), _QUOTE_CHARS)[0]}”"
