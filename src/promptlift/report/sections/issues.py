"""The section about issues: how often each occurs, completion with and without it, and the clearest quotation."""

from __future__ import annotations

import hashlib
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from promptlift.report.document import Chart, Column, Estimate, Figure, Part, Section, Table
from promptlift.report.formatting import count
from promptlift.report.gather import GROUP, PROMPT
from promptlift.report.sections.headlines import CARDS
from promptlift.report.sections.measures import estimates, painter
from promptlift.schema.inert import shorten, visible
from promptlift.schema.insights import SEVERITIES
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from promptlift.report.document import Field
    from promptlift.report.gather import Material

    Quotes = dict[tuple[str | None, str], str]

__all__ = ["issues"]

_QUOTE_CHARS: Final = 180
_MOST_COLUMNS: Final = 6
"""Most prompts that have a column each."""


def issues(table: pd.DataFrame, found: pd.DataFrame, material: Material, *, quoted: bool) -> Section | None:
    """Return the section about issues; None when none was found.

    Parameters
    ----------
    table
        Conversations with issue titles that are safe to show.
    found
        Their ``analysis.issues``.
    material
        The data of the report.
    quoted
        Whether to quote the conversations.
    """
    if not len(found):
        return None
    figure = Figure(
        "issues",
        f"The {found['issue'].nunique()} most frequent issues with their shares and 95% intervals; the table "
        "below has the numbers.",
        painter("issues", found),
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


def _chart(found: pd.DataFrame, material: Material) -> Chart:
    series = tuple((name, estimates(rows, "share")) for name, rows in material.groups(found))
    titles = tuple(dict.fromkeys(found["issue"]))
    return Chart("bar", "Share of conversations with each issue", "Issue", titles, series)


def _issue_table(found: pd.DataFrame, material: Material, quotes: Quotes | None, *, folded: bool) -> Table:
    # Where the verdicts may be counted against the issues.
    weighed: tuple[Field, ...] = (
        (
            Column("completed_with", "Completed with it", "part"),
            lambda row: Part.of(row, "completed", "n_rated"),
        ),
        (
            Column("completed_without", "Completed without", "part"),
            lambda row: Part.of(row, "completed_without", "n_rated_without"),
        ),
    )
    return Table.of(
        "issues",
        "Issues",
        found.to_dict("records"),
        (Column("issue", "Issue"), itemgetter("issue")),
        *material.naming(PROMPT),
        (Column("severity", "Severity"), lambda row: _severity(row["severity"], row["n_worst"], row["n"])),
        (Column("share", "Share", "share", 95), lambda row: Estimate.of(row, "share")),
        (Column("n", "Conver\u00adsations", "part"), lambda row: Part.of(row, "n", "total")),
        *(weighed if found["n_rated"].notna().any() else ()),
        *_evidence(quotes, lambda row: (row.get(GROUP), row["issue"])),
        folded=folded,
    )


def _by_prompt(found: pd.DataFrame, quotes: Quotes | None) -> Table:
    """Return the shares with a column for each prompt."""
    prompts = list(dict.fromkeys(found[GROUP]))
    issues = [(str(title), rows.set_index(GROUP)) for title, rows in found.groupby("issue", sort=False)]
    return Table.of(
        "issues_by_prompt",
        "Share of each issue",
        issues,
        (Column("issue", "Issue"), itemgetter(0)),
        (Column("severity", "Severity"), lambda issue: _worst(issue[1])),
        *(
            (
                Column(f"share_{place}", name, "share", 95),
                lambda issue, name=name: Estimate.of(issue[1].loc[name], "share"),
            )
            for place, name in enumerate(prompts, 1)
        ),
        *_evidence(quotes, lambda issue: (None, issue[0])),
    )


def _worst(rows: pd.DataFrame) -> str:
    worst = rows["severity"].max()
    return _severity(worst, rows.loc[rows["severity"] == worst, "n_worst"].sum(), rows["n"].sum())


def _severity(worst: Any, n_worst: Any, n: Any) -> str:
    """Return the worst severity, and in how many conversations where it is not in all."""
    if not isinstance(worst, str):
        return "–"
    return worst if n_worst == n else f"{worst} in {count(n_worst)} of {count(n)}"


def _evidence(quotes: Quotes | None, key: Callable[[Any], Any]) -> tuple[Field, ...]:
    return (
        () if quotes is None else ((Column("evidence", "For example"), lambda row: quotes.get(key(row), "")),)
    )


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
            severity = one.get("severity")
            rank = (
                -(SEVERITIES.index(severity) if severity in SEVERITIES else -1),
                status == "in_progress",
                is_missing(completed) or bool(completed),
                0.0 if is_missing(sentiment) else float(sentiment),
                # The same one every time, and no order favoured.
                hashlib.sha256(str(name).encode("utf-8", "replace")).digest(),
            )
            for key in ((None, one["title"]), (prompt, one["title"])):
                if key not in best or rank < best[key][0]:
                    best[key] = (rank, evidence)
    return {
        key: f"“{shorten(' '.join(visible(evidence).split()), _QUOTE_CHARS)[0]}”"
        for key, (_, evidence) in best.items()
    }
