"""Compose the document of a report from its data; every number comes from ``promptlift.analysis``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from promptlift import analysis
from promptlift.analysis.reading import basis_of
from promptlift.analysis.sentences import trend_sentence
from promptlift.analysis.sentiments import is_by_score
from promptlift.report.document import Document, HeadlineGroup, Section
from promptlift.report.formatting import day
from promptlift.report.gather import GROUP, records, text_of
from promptlift.report.redaction import WITHHELD, redact, repeats
from promptlift.report.sections import explanations, measures
from promptlift.report.sections.comparisons import (
    Answer,
    against_the_period_before,
    between_prompts,
    without_words,
)
from promptlift.report.sections.corrected import corrected, corrected_sentences
from promptlift.report.sections.examples import example_conversations
from promptlift.report.sections.headlines import CARDS, headlines, side_by_side
from promptlift.report.sections.issues import issues
from promptlift.report.sections.live import live
from promptlift.report.sections.next_steps import next_steps, where_it_fails
from promptlift.report.sections.optimizations import optimizations, rehearsal_notice
from promptlift.schema.basis import may_tell
from promptlift.schema.inert import one_line
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from promptlift.report.document import Logo
    from promptlift.report.gather import Material
    from promptlift.report.period import Window

__all__ = ["compose"]

_TITLE_CHARS: Final = 120
_TOP_ISSUES: Final = 8
_EVIDENCE_CHARS: Final = 4_000
_EMPTY: Final = {
    "completion": "task completion (no ended conversation is judged)",
    "sentiment": "sentiment (no conversation has insights)",
    "issues": "issues (none was found)",
    "optimizations": "optimizations (none was run)",
    "examples": "examples (no transcript of an ended conversation)",
}


def compose(
    material: Material,
    *,
    window: Window,
    now: datetime,
    title: str | None = None,
    logo: Logo | None = None,
    redacted: bool = False,
    examples: int = 6,
) -> Document:
    """Compose the document.

    Parameters
    ----------
    material
        The data of the report.
    window
        Its period.
    now
        Time of the report.
    title
        Title, or ``None`` to use the name of the prompt.
    logo
        Image next to the title.
    redacted
        Whether to omit everything that was said in conversations.
    examples
        Number of example conversations.
    """
    table = _with_safe_titles(material.conversations, redacted=redacted)
    material = replace(material, conversations=table)
    if material.earlier is not None:
        material = replace(material, earlier=_with_safe_titles(material.earlier, redacted=redacted))
    overview = analysis.prompt_overview(table, by=material.by, labels=material.labels)
    rows = _row_of_each(overview, material)
    judged, by_score = overview.attrs["promptlift"], is_by_score(table)
    trend = analysis.completion_trend(table, freq="auto", by=material.by)
    answers = _answers(material, window, rows, trend, redacted=redacted)
    parts = [
        side_by_side(rows, by_score=by_score) if len(rows) > CARDS else None,
        *(one.section for one in answers),
    ]
    parts.append(corrected(rows, material))
    shown = example_conversations(material, examples, redacted=redacted)
    found: dict[str, Section | None] = {}
    segments = None
    if len(table):
        found["completion"] = measures.completion(trend, material, rows)
        found["sentiment"] = measures.sentiment(table, material)
        named = analysis.issues(table, by=material.by, top=_TOP_ISSUES)
        found["issues"] = issues(table, named, material, quoted=not redacted)
        segments = where_it_fails(without_words(table) if redacted else table, material, judged)
        parts.append(next_steps(named, segments, material, judged))
    found |= {"optimizations": optimizations(material, redacted=redacted), "examples": shown}
    optimized = found["optimizations"]
    parts += [section for section in found.values() if section not in (shown, optimized)]
    parts += [segments, live(material, redacted=redacted), optimized]
    parts += [
        explanations.how_to_read(compared=material.compared),
        explanations.how_measured(
            table, judged, [one.rule for one in answers if one.rule][:1], redacted=redacted
        ),
        explanations.completeness(material, overview, _left_out(found, material, examples)),
        shown,
    ]
    return Document(
        title=one_line(title, 200)
        if title
        else "Prompts compared"
        if material.compared
        else material.names[0],
        subtitle=f"{' · '.join(material.names) if material.compared else 'How this prompt performs'} · "
        f"{counted(len(table), 'conversation')}",
        answer=tuple(sentence for one in answers for sentence in one.sentences),
        facts=tuple(_facts(material, window, overview)),
        notices=(
            *explanations.notices(material, judged, period=window.words, redacted=redacted),
            *rehearsal_notice(material),
        ),
        headlines=tuple(
            HeadlineGroup(
                name if material.compared else "",
                headlines(
                    row, by_score=by_score, by_words=not may_tell(basis_of(table[table[GROUP] == name]))
                ),
            )
            for name, row in rows
        ),
        sections=tuple(part for part in parts if part is not None),
        footer=explanations.footer(now),
        written_at=now,
        logo=logo,
    )


def _left_out(found: dict[str, Section | None], material: Material, examples: int) -> list[str]:
    """Return what to say about sections that would be empty; those that nobody could expect are not mentioned."""
    if not len(material.conversations):
        return []
    unexpected = {"optimizations": material.optimizations is None, "examples": examples == 0}
    return [
        _EMPTY[name] for name, section in found.items() if section is None and not unexpected.get(name, False)
    ]


def _answers(
    material: Material,
    window: Window,
    rows: list[tuple[str, dict[str, Any] | None]],
    trend: pd.DataFrame,
    *,
    redacted: bool,
) -> list[Answer]:
    """Return what opens the report: how prompts differ or one of them does, and the period against the one before."""
    if not any(row is not None and row["n"] for _, row in rows):
        return []
    found, facts = [], trend.attrs["promptlift"]
    row = rows[0][1]
    if material.compared:
        found.append(between_prompts(material, redacted=redacted))
    elif row is not None:
        found.append(Answer(corrected_sentences(row, facts["basis"])))
    if window.previous is not None:
        words = window.previous.words
        found.append(against_the_period_before(material, words, redacted=redacted))
    elif not material.compared:
        trends = facts.get("trends") or ()
        found.append(Answer(tuple(trend_sentence(one, basis=facts["basis"]) for one in trends)))
    return found


def _with_safe_titles(table: pd.DataFrame, *, redacted: bool) -> pd.DataFrame:
    """Return the table with titles of issues and topics that are safe as labels of figures and names of segments."""
    shown: dict[str, str] = {}
    cleaned = table.assign(issues=[_clean_issues(cell, shown, redacted=redacted) for cell in table["issues"]])
    if "topics" in table:
        cleaned["topics"] = [
            [_title(str(topic), shown) for topic in cell] if isinstance(cell, list) else cell
            for cell in table["topics"]
        ]
    cleaned.attrs = table.attrs
    return cleaned


def _title(given: str, shown: dict[str, str]) -> str:
    """Return a title as it is shown; each is made once."""
    if given not in shown:
        shown[given] = one_line(given, _TITLE_CHARS) or "(no title)"
    return shown[given]


def _clean_issues(cell: Any, shown: dict[str, str], *, redacted: bool) -> Any:
    """Return the issues of a conversation with their titles as they are shown."""
    if not isinstance(cell, list):
        return cell
    cleaned = []
    for one in cell:
        named = one if isinstance(one, dict) else {"title": one}
        title, evidence = _title(str(named.get("title") or ""), shown), named.get("evidence")
        if redacted:
            is_quote = isinstance(evidence, str) and repeats(title, evidence[:_EVIDENCE_CHARS])
            title = WITHHELD if is_quote else redact(title)
        cleaned.append({**named, "title": title})
    return cleaned


def _row_of_each(overview: pd.DataFrame, material: Material) -> list[tuple[str, dict[str, Any] | None]]:
    rows = records(overview)
    if not material.compared:
        return [(material.names[0], rows[0])]
    by_name = {row[GROUP]: row for row in rows}
    return [(name, by_name.get(name)) for name in material.names]


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
            text = one_line(text_of(prompt.get(name)), 300)
            if text:
                facts.append((label, text))
    return facts
