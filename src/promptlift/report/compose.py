"""From gathered conversations to a document: every number is one that ``promptlift.analysis`` gave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from promptlift import analysis
from promptlift.report import explanations, sections
from promptlift.report.differences import differences
from promptlift.report.document import Document, HeadlineGroup, Section
from promptlift.report.examples import find_examples
from promptlift.report.gather import GROUP
from promptlift.report.headlines import CARDS, headlines, side_by_side
from promptlift.report.optimizations import optimizations, rehearsal_notice
from promptlift.report.redaction import WITHHELD, redact, repeats
from promptlift.report.wording import count, day, plural
from promptlift.schema.inert import one_line

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from promptlift.report.document import Logo
    from promptlift.report.gather import Material
    from promptlift.report.period import Window

__all__ = ["compose"]

_TITLE_CHARS: Final = 120
_SAID_CHARS: Final = 4_000


def compose(
    material: Material,
    *,
    window: Window,
    now: datetime,
    title: str | None,
    logo: Logo | None,
    redacted: bool,
    examples: int,
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
    logo
        Picture beside the title.
    redacted
        Whether everything that was said in conversations is left out.
    examples
        How many conversations to show.
    """
    table = _harmless(material.conversations, redacted=redacted)
    material = replace(material, conversations=table)
    overview = analysis.prompt_overview(table, by=material.by)
    rows = _row_of_each(overview, material)
    analyser = overview.attrs["promptlift"].get("analyser")
    parts: list[Section | None] = []
    if len(rows) > CARDS:
        parts.append(side_by_side(rows))
    if material.compared:
        parts.append(differences(table, material))
    if len(table):
        parts += [
            sections.completion(table, material, rows),
            sections.sentiment(table, material, rows),
            sections.issues(table, material, quoted=not redacted),
        ]
    parts.append(optimizations(material, redacted=redacted))
    if len(table):
        parts.append(_examples(material, examples, redacted=redacted))
    parts += [
        explanations.how_to_read(compared=material.compared),
        explanations.how_measured(table, analyser, redacted=redacted),
        explanations.completeness(material, overview),
    ]
    return Document(
        title=one_line(title, 200) if title else _title(material),
        subtitle=_subtitle(material, len(table)),
        facts=tuple(_facts(material, window, overview)),
        notices=(
            *explanations.notices(material, analyser, period=window.words, redacted=redacted),
            *rehearsal_notice(material),
        ),
        headlines=tuple(
            HeadlineGroup(name if material.compared else "", headlines(row)) for name, row in rows
        ),
        sections=tuple(part for part in parts if part is not None),
        footer=explanations.footer(now),
        written_at=now,
        logo=logo,
    )


def _harmless(table: pd.DataFrame, *, redacted: bool) -> pd.DataFrame:
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
        cleaned.append(
            {**named, "title": _without_quotes(title, named.get("evidence")) if redacted else title}
        )
    return cleaned


def _without_quotes(title: str, evidence: Any) -> str:
    if isinstance(evidence, str) and repeats(title, evidence[:_SAID_CHARS]):
        return WITHHELD
    return redact(title)


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
    if redacted:
        words += (
            " What was said in them is left out of this report; who may read them finds them by their ids."
        )
    return Section("examples", "Examples", (words,), transcripts=tuple(found))
