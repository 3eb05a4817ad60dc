"""What a reader must know about the numbers: how to read them, how they were made, what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift._version import __version__
from promptlift.frames import insights_errors
from promptlift.report.document import Column, Notice, Section, Table
from promptlift.report.redaction import REDACTION_NOTE, redact
from promptlift.report.wording import moment, plural
from promptlift.schema.inert import one_line

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from promptlift.report.gather import Material

__all__ = ["completeness", "footer", "how_measured", "how_to_read", "notices"]

_FEW: Final = 30
_REASONS: Final = 3
_REASON_CHARS: Final = 300
_ANALYSERS: Final = {
    "lexicon": "The insights come from the built-in word-list analyser, without a language model. It is a rough guide: "
    "it counts words and signs of an end, and does not understand what was said. Compare prompts with it rather than "
    "trust a single number, and read the examples.",
    "mixed": "The insights come from several analysers, some of them the built-in word-list analyser, which is a rough "
    "guide. A change over time may be a change of analyser.",
}


def notices(
    material: Material, analyser: str | None, *, period: str = "", redacted: bool = False
) -> tuple[Notice, ...]:
    """Sentences that stand before the numbers."""
    table, said = material.conversations, []
    if material.provenance.complete is False:
        said.append(
            Notice("warning", "Not all conversations could be read. The numbers below are of a part.")
        )
    if not len(table):
        where = f"in this period ({period})" if period else "yet"
        words = f"There are no conversations {where}, so there is nothing to report."
        return (*said, Notice("warning", words))
    rated = int(table["task_completed"].notna().sum())
    if rated == 0:
        words = "None of the conversations has insights yet. Write the report again when they are judged."
        said.append(Notice("warning", words))
    elif rated < _FEW:
        words = f"Only {plural(rated, 'conversation')} with insights: the intervals are wide, take them seriously."
        said.append(Notice("note", words))
    if analyser in _ANALYSERS:
        said.append(Notice("note", _ANALYSERS[analyser]))
    said += _unjudged(table, redacted=redacted)
    return tuple(said)


def _unjudged(table: pd.DataFrame, *, redacted: bool) -> list[Notice]:
    """Why conversations have no insights, as far as the service says it."""
    errors = insights_errors(table)
    if not errors:
        return []
    # What a model's endpoint says may quote what was sent to it.
    reasons = [
        redact(one_line(reason, _REASON_CHARS)) if redacted else one_line(reason, _REASON_CHARS)
        for reason in errors
    ]
    told = "; ".join(
        f"{reason.rstrip('.')} ({n:,})"
        for reason, n in list(zip(reasons, errors.values(), strict=True))[:_REASONS]
    )
    rest = sum(list(errors.values())[_REASONS:])
    more = f"; for other reasons ({rest:,})" if rest else ""
    words = (
        f"{plural(sum(errors.values()), 'conversation')} without insights, because they could not be judged: "
    )
    return [Notice("warning", f"{words}{told}{more}.")]


def how_to_read(*, compared: bool) -> Section:
    """How to read the numbers."""
    points = [
        "The interval beside a number says how far chance alone may have moved it: the longer it is, the less is known.",
        "Intervals are made so that 95 of 100 of them hold the true value.",
        "Look at the number of conversations before you look at the rate. A rate of few conversations says little.",
        "One day above or below the others is rarely news. A change is likely when many days in a row moved.",
    ]
    if compared:
        points.append(
            "Whether two prompts differ is said by the interval of their difference, not by whether their own intervals "
            "overlap: prompts whose intervals overlap may well differ."
        )
    return Section("reading", "How to read this", points=tuple(points))


def how_measured(table: pd.DataFrame, analyser: str | None, *, redacted: bool) -> Section:
    """How the numbers were made."""
    points = [
        "Completed: the share of ended conversations with insights in which the user's task was judged as done.",
        "Conversations in progress and those without insights count neither way. Intervals of shares are Wilson's, 95%.",
        "Sentiment: the mean of scores from −1 to 1 with Student's t interval, and the share of each label.",
        "Issues: what the analyser named in a conversation; the severity is the worst that it gave.",
        "Time: the first message of a conversation, or when it was logged if that is not known; days are days in UTC.",
        *([_judged_by(table, analyser)] if len(table) else []),
    ]
    if redacted:
        points.append(REDACTION_NOTE)
    return Section("method", "How it was measured", points=tuple(points))


def _judged_by(table: pd.DataFrame, analyser: str | None) -> str:
    names = []
    if "analyser" in table.columns:
        names = sorted({one_line(name, 60) for name in table["analyser"].dropna().unique()})
    said = f" Named by the service: {', '.join(names[:5])}." if names else ""
    if analyser in _ANALYSERS:
        return f"Analyser: {_ANALYSERS[analyser]}{said}"
    if analyser:
        return f"Analyser: the insights were made by a language model, which can be wrong too.{said}"
    return "Analyser: the service does not say who judged the conversations."


def completeness(material: Material, overview: pd.DataFrame) -> Section:
    """What the data hold, and what is missing in them."""
    facts = material.provenance
    state = {
        True: "All conversations that the service has were read.",
        False: "Not all conversations that the service has could be read.",
        None: "The source does not say whether these are all conversations.",
    }[facts.complete]
    if facts.changed:
        state = "Rows were taken out of the table or added to it after it was read from the service."
    missing, running = (int(overview[name].sum()) for name in ("n_missing", "in_progress"))
    rows: list[tuple[str, int]] = [("Read from the source", facts.rows)]
    if facts.total is not None:
        rows.append(("Counted by the service", facts.total))
    rows += [
        ("In this report", len(material.conversations)),
        ("Ended, but without a judged task", missing),
        ("In progress", running),
    ]
    if facts.deleted:
        rows.append(("Deleted while they were read", facts.deleted))
    rows += [
        (f"Values that could not be used: {one_line(name, 40)}", int(number))
        for name, number in sorted(facts.warnings.items())
    ]
    columns = (Column("what", "What"), Column("n", "Conversations", "count"))
    return Section("data", "The data", (state,), tables=(Table("data", "The data", columns, tuple(rows)),))


def footer(now: datetime, *, version: Any = None) -> str:
    """Who wrote the report, and when."""
    return f"Written by promptlift {version or __version__} on {moment(now)}."
