"""From gathered conversations to a document: every number is one that ``promptlift.analysis`` gave."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from promptlift import analysis
from promptlift.report import drawings, explanations
from promptlift.report.document import (
    Column,
    Document,
    Headline,
    HeadlineGroup,
    Section,
    Table,
)
from promptlift.report.examples import find_examples
from promptlift.report.gather import GROUP
from promptlift.report.inert import one_line, shorten, visible
from promptlift.report.redaction import redact
from promptlift.report.wording import count, day, interval, percent, plural, signed

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from promptlift.report.gather import Material
    from promptlift.report.period import Window

__all__ = ["compose"]

_CARDS: Final = 4
_TOP: Final = 8
_TITLE_CHARS: Final = 120
_QUOTE_CHARS: Final = 180
_NUMBER: Final = "number"


def compose(
    material: Material, *, window: Window, now: datetime, title: str | None, redacted: bool, examples: int
) -> Document:
    """Make the document.

    Parameters
    ----------
    material
        What was gathered.
    window
        Its period.
    now
        Time that the report bears.
    title
        Title, or ``None`` for one from the prompt's name.
    redacted
        Whether personal data that a pattern finds is taken out of quotes.
    examples
        How many conversations to show.
    """
    table = _drawable(material.conversations, redacted=redacted)
    overview = analysis.prompt_overview(table, by=material.by)
    rows = _row_of_each(overview, material)
    sections = [
        _completion(table, material, overview),
        _sentiment(table, material, overview),
        _issues(table, material, redacted=redacted),
        _examples(material, examples, redacted=redacted),
    ]
    if not len(table):
        sections = []
    analyser = overview.attrs["promptlift"].get("analyser")
    headlines = tuple(HeadlineGroup(name if material.compared else "", _headlines(row)) for name, row in rows)
    if len(headlines) > _CARDS:
        sections.insert(0, _side_by_side(headlines))
        headlines = ()
    return Document(
        title=one_line(title, 200) if title else _title(material),
        subtitle=_subtitle(material, len(table)),
        facts=tuple(_facts(material, window, overview)),
        notices=explanations.notices(material, analyser, period=window.words),
        headlines=headlines,
        sections=(
            *(section for section in sections if section is not None),
            explanations.how_to_read(compared=material.compared),
            explanations.how_measured(table, analyser, redacted=redacted),
            explanations.completeness(material, overview),
        ),
        footer=explanations.footer(now),
    )


def _drawable(table: pd.DataFrame, *, redacted: bool) -> pd.DataFrame:
    """Make the titles of issues harmless before they become labels of pictures."""
    cleaned = table.assign(issues=[_clean_issues(cell, redacted=redacted) for cell in table["issues"]])
    cleaned.attrs = table.attrs
    return cleaned


def _clean_issues(cell: Any, *, redacted: bool) -> Any:
    if not isinstance(cell, list):
        return cell
    cleaned = []
    for one in cell:
        named = one if isinstance(one, dict) else {"title": one}
        title = one_line(named.get("title") or "", _TITLE_CHARS) or "(no title)"
        cleaned.append({**named, "title": redact(title) if redacted else title})
    return cleaned


def _row_of_each(overview: pd.DataFrame, material: Material) -> list[tuple[str, dict[str, Any] | None]]:
    records = overview.to_dict("records")
    if not material.compared:
        return [(material.names[0], {str(k): v for k, v in records[0].items()})]
    found = {record[GROUP]: {str(k): v for k, v in record.items()} for record in records}
    return [(name, found.get(name)) for name in material.names]


def _title(material: Material) -> str:
    return "Prompts compared" if material.compared else material.names[0]


def _subtitle(material: Material, rows: int) -> str:
    what = " · ".join(material.names) if material.compared else "How this prompt performs"
    return f"{what} · {plural(rows, 'conversation')}"


def _facts(material: Material, window: Window, overview: pd.DataFrame) -> list[tuple[str, str]]:
    dated = overview[overview["first_at"].notna()]
    facts = []
    if window.words:
        facts.append(("Period", window.words))
    if len(dated):
        first, last = day(dated["first_at"].min()), day(dated["last_at"].max())
        facts.append(("Conversations", first if first == last else f"{first} to {last}"))
    if not material.compared:
        prompt = material.prompts[material.names[0]]
        for label, name in (("Model", "llm_model"), ("Status", "status"), ("Objective", "objective")):
            text = one_line(prompt.get(name), 300) if isinstance(prompt.get(name), str) else ""
            if text:
                facts.append((label, text))
    return facts


def _headlines(row: dict[str, Any] | None) -> tuple[Headline, ...]:
    if row is None or row["conversations"] == 0:
        return (Headline("Conversations", "0", "none to report"),)
    return (
        _rate(
            "Completed their task", row["rate"], row["rate_low"], row["rate_high"], row["n"], row["completed"]
        ),
        _mood(row),
        _rate(
            "Negative in tone",
            row["negative_share"],
            row["negative_low"],
            row["negative_high"],
            row["negative"] + row["neutral"] + row["positive"],
            row["negative"],
        ),
        Headline(
            "Conversations",
            count(row["conversations"]),
            f"{count(row['ended'])} ended, {count(row['in_progress'])} in progress; "
            f"{count(row['with_insights'])} with insights",
        ),
    )


def _rate(label: str, share: float, low: float, high: float, n: int, hits: int) -> Headline:
    if n == 0:
        return Headline(label, "–", "no conversation with insights yet")
    few = " – very few" if n < 5 else ""
    words = f"{interval(low, high)} (95% interval), {count(hits)} of {count(n)}{few}"
    return Headline(label, percent(share), words, float(share), float(low), float(high))


def _mood(row: dict[str, Any]) -> Headline:
    n, mean, low, high = (row[f"sentiment_{part}"] for part in ("n", "mean", "low", "high"))
    label = "Mean sentiment, −1 to 1"
    if n == 0:
        return Headline(label, "–", "no conversation with insights yet")
    if math.isnan(low):
        return Headline(label, signed(mean), f"n = {count(n)}: too few for an interval", (mean + 1) / 2)
    words = f"{interval(low, high, signed)} (95% interval), n = {count(n)}"
    return Headline(label, signed(mean), words, (mean + 1) / 2, (low + 1) / 2, (high + 1) / 2)


def _side_by_side(groups: tuple[HeadlineGroup, ...]) -> Section:
    labels = tuple(dict.fromkeys(number.label for group in groups for number in group.numbers))
    rows = []
    for group in groups:
        cells = {number.label: f"{number.value} ({number.detail})" for number in group.numbers}
        rows.append((group.name, *(cells.get(label, "–") for label in labels)))
    columns = (Column("Prompt"), *(Column(label) for label in labels))
    return Section("headline", "Headline numbers", tables=(Table("", columns, tuple(rows)),))


def _completion(table: pd.DataFrame, material: Material, overview: pd.DataFrame) -> Section:
    # Without any time there is nothing to put on an axis; the rate stands at the top.
    trend = analysis.completion_trend(table, freq="auto", by=material.by)
    unit = {"h": "hour", "D": "day", "W": "week", "MS": "month"}[trend.attrs["promptlift"]["freq"]]
    said = "; ".join(
        f"{name}: {percent(row['rate'])} of {count(row['n'])}"
        for name, row in _row_of_each(overview, material)
        if row is not None
    )
    figure = drawings.draw_trend(
        trend,
        alt=f"Share of conversations that completed their task by {unit}, with 95% intervals. Overall {said}.",
        caption=f"Each point is a {unit}; the whisker is its 95% interval, the bars below count conversations. "
        f"Hollow points rest on fewer than 5 conversations. A gap is a {unit} without any.",
    )
    return Section("completion", f"Task completion by {unit}", figures=(figure,))


def _sentiment(table: pd.DataFrame, material: Material, overview: pd.DataFrame) -> Section:
    spread = analysis.sentiment_distribution(table, by=material.by)
    said = "; ".join(
        f"{name}: {percent(row['negative_share'])} negative, {percent(row['neutral_share'])} neutral, "
        f"{percent(row['positive_share'])} positive"
        for name, row in _row_of_each(overview, material)
        if row is not None
    )
    figure = drawings.draw_sentiment(
        spread,
        alt=f"Share of conversations by sentiment, with 95% intervals. {said}.",
        caption="How conversations sound as a whole, not whether the task was done.",
    )
    return Section("sentiment", "Sentiment", figures=(figure,))


def _issues(table: pd.DataFrame, material: Material, *, redacted: bool) -> Section:
    found = analysis.issues(table, by=material.by, top=_TOP)
    if not len(found):
        return Section("issues", "Issues", ("No issues were found in these conversations.",))
    figure = drawings.draw_issues(
        found,
        alt=f"The {found['issue'].nunique()} most frequent issues with their shares and 95% intervals; the table "
        "below has the numbers.",
        caption="A conversation counts once for each issue. That tasks fail more often with an issue does not say "
        "that the issue is why.",
    )
    return Section(
        "issues", "Issues", figures=(figure,), tables=(_issue_table(found, table, material, redacted),)
    )


def _issue_table(found: pd.DataFrame, table: pd.DataFrame, material: Material, redacted: bool) -> Table:  # noqa: FBT001
    quotes = _quotes(table, set(found["example_id"].dropna()), redacted=redacted)
    rows: list[tuple[str, ...]] = []
    last = ""
    for row in found.to_dict("records"):
        quote = quotes.get((str(row["example_id"]), row["issue"]), "") if row["n"] else ""
        fared = f"{count(row['completed'])} of {count(row['n_rated'])}" if row["n_rated"] else "–"
        rest = (
            f"{count(row['completed_without'])} of {count(row['n_rated_without'])}"
            if row["n_rated_without"]
            else "–"
        )
        severity = row["severity"] if isinstance(row["severity"], str) else "–"
        cells = (
            severity,
            f"{percent(row['share'])} ({interval(row['share_low'], row['share_high'])})",
            f"{count(row['n'])} of {count(row['total'])}",
            fared,
            rest,
            quote,
        )
        # A title stands once for all its prompts.
        title = "" if rows and row["issue"] == last else row["issue"]
        last = row["issue"]
        rows.append((title, *((row[GROUP],) if material.compared else ()), *cells))
    columns = (
        Column("Issue"),
        *((Column("Prompt"),) if material.compared else ()),
        Column("Severity"),
        Column("Share (95% interval)", _NUMBER),
        Column("Conver\u00adsations", _NUMBER),
        Column("Completed with it", _NUMBER),
        Column("Completed without", _NUMBER),
        Column("For example"),
    )
    return Table("", columns, tuple(rows))


def _quotes(table: pd.DataFrame, ids: set[str], *, redacted: bool) -> dict[tuple[str, str], str]:
    """Evidence of each issue in its example conversation."""
    chosen = table[table["conversation_id"].isin(ids)]
    quotes: dict[tuple[str, str], str] = {}
    for conversation_id, issues in zip(chosen["conversation_id"], chosen["issues"], strict=True):
        for one in issues if isinstance(issues, list) else []:
            evidence = one.get("evidence")
            if isinstance(evidence, str) and evidence.strip():
                text = visible(evidence)
                text = shorten(" ".join((redact(text) if redacted else text).split()), _QUOTE_CHARS)[0]
                quotes.setdefault((str(conversation_id), one["title"]), f"“{text}”")
    return quotes


def _examples(material: Material, wanted: int, *, redacted: bool) -> Section | None:
    if wanted == 0:
        return None
    found = find_examples(material, wanted, redacted=redacted)
    if not found:
        return Section("examples", "Examples", ("No transcript of an ended conversation could be shown.",))
    failed = sum(one.outcome == "failed" for one in found)
    words = (
        f"{plural(failed, 'conversation')} that did not complete the task and {count(len(found) - failed)} that did, "
        "as the analyser judged them. They are drawn by a fixed rule that prefers different issues; their number says "
        "nothing about how often either happens."
    )
    return Section("examples", "Examples", (words,), transcripts=tuple(found))
