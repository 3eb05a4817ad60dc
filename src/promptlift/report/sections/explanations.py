"""What a reader must know about the numbers: how to read them, how they were measured, what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift._version import __version__
from promptlift.analysis.reading import agreement_of
from promptlift.analysis.sentiments import is_by_score
from promptlift.frames import insights_errors
from promptlift.report.document import Column, Notice, Section, Table
from promptlift.report.formatting import date_time
from promptlift.report.redaction import REDACTION_NOTE, redact
from promptlift.schema.basis import LABELS_OF_A_PROOF, UNTOLD, may_say_clearly
from promptlift.schema.inert import one_line
from promptlift.words.figures import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import pandas as pd

    from promptlift.report.gather import Material

__all__ = ["completeness", "footer", "how_measured", "how_to_read", "notices"]

_FEW: Final = 30
_REASONS: Final = 3
_REASON_CHARS: Final = 300
_UNPROVEN: Final = f"Nothing shows yet that it is right: that takes {LABELS_OF_A_PROOF} labels of people. Until then no difference is called clear."
_BASES: Final = {
    "outcome": "Whether a task was completed is what the logs themselves say.",
    "label": "People said of every conversation whether its task was completed.",
    "model": "A language model judged the conversations, which can be wrong too.",
    "learned": "A judge that was learned from labels judged the conversations.",
    "words": "A word list judged these conversations, or some of them: it counts words and closing phrases and does not understand them. The numbers say "
    f"what such a list can see. Whether a prompt is better than another, or than before, {UNTOLD}.",
}


def notices(
    material: Material, judged: Mapping[str, Any], *, period: str = "", redacted: bool = False
) -> tuple[Notice, ...]:
    """Return the notices that come before the numbers, those about the judge as strong as what its verdicts rest on is weak."""
    table, found = material.conversations, []
    if material.provenance.complete is False:
        words = "Not all conversations could be read. The numbers below cover only a part of them."
        found.append(Notice("warning", words))
    if not len(table):
        where = f"in this period ({period})" if period else "yet"
        words = f"There are no conversations {where}, so there is nothing to report."
        return (*found, Notice("warning", words))
    rated = int(table["task_completed"].notna().sum())
    if rated == 0:
        words = "No conversation has insights yet. Write the report again once they are judged."
        found.append(Notice("warning", words))
    elif rated < _FEW:
        words = f"Only {counted(rated, 'conversation')} with insights, so the intervals are wide."
        found.append(Notice("note", words))
    basis = judged.get("basis")
    if basis == "words":
        found.append(Notice("warning", _BASES[basis]))
    elif basis is not None and not may_say_clearly(basis, agreement_of(judged)):
        found.append(Notice("note", f"{_BASES[basis]} {_UNPROVEN}"))
    found += _unjudged(table, redacted=redacted)
    return tuple(found)


def _unjudged(table: pd.DataFrame, *, redacted: bool) -> list[Notice]:
    """Return why conversations have no insights, as far as the service reports it."""
    errors = insights_errors(table)
    if not errors:
        return []
    # The message of a model's endpoint may quote what was sent to it.
    first = list(errors.items())[:_REASONS]
    reasons = [(one_line(reason, _REASON_CHARS), n) for reason, n in first]
    listed = "; ".join(f"{(redact(text) if redacted else text).rstrip('.')} ({n:,})" for text, n in reasons)
    rest = sum(errors.values()) - sum(n for _, n in first)
    more = f"; for other reasons ({rest:,})" if rest else ""
    words = f"{counted(sum(errors.values()), 'conversation')} could not be judged and have no insights: "
    return [Notice("warning", f"{words}{listed}{more}.")]


def how_to_read(*, compared: bool) -> Section:
    """Return the section on how to read the numbers."""
    points = [
        "The interval next to a number shows its uncertainty due to chance: the wider it is, the less is known.",
        "95 of 100 such intervals contain the true value.",
        "Check the number of conversations before the rate. A rate from few conversations says little.",
        "A single high or low day is rarely meaningful. Many days in a row are.",
    ]
    if compared:
        points.append(
            "To see whether two prompts differ, look at the interval of their difference. Prompts whose own intervals "
            "overlap may still differ."
        )
    return Section("reading", "How to read this", points=tuple(points))


def how_measured(
    table: pd.DataFrame, judged: Mapping[str, Any], rules: Sequence[str], *, redacted: bool
) -> Section:
    """Return the section on how the numbers were measured.

    Parameters
    ----------
    table
        The conversations.
    judged
        What the verdicts rest on, and what judged them.
    rules
        How it was decided whether something differs.
    redacted
        Whether the words of conversations are omitted.
    """
    shares = "shares by score relative to the usual one" if is_by_score(table) else "the share of each label"
    points = [
        "Completed: the share of ended conversations with insights in which the user's task was judged complete.",
        "Conversations in progress or without insights are not counted. Shares have 95% Wilson intervals.",
        f"Sentiment: the mean score from −1 to 1 with a Student t interval, and {shares}.",
        "Issues: the problems that the analyser found in a conversation; the severity is the highest it reported.",
        *rules,
        "Time: the first message of a conversation, or its logging time if that is unknown; days are in UTC.",
        *([_judged_by(table, judged)] if len(table) else []),
    ]
    if redacted:
        points.append(REDACTION_NOTE)
    return Section("method", "How it was measured", points=tuple(points))


def _judged_by(table: pd.DataFrame, judged: Mapping[str, Any]) -> str:
    names = []
    if "analyser" in table.columns:
        names = sorted({one_line(name, 60) for name in table["analyser"].dropna().unique()})
    analysers = f" Reported by the service: {', '.join(names[:5])}." if names else ""
    said = _BASES.get(str(judged.get("basis")))
    if said is None:
        return "Analyser: the service does not report what judged the conversations."
    agreement = agreement_of(judged)
    if agreement is not None:
        said += (
            f" Of {counted(agreement.n, 'conversation')} that people labelled too, it agrees on {agreement.low:.0%} or more; always "
            f"giving their more frequent answer agrees on {agreement.majority:.0%}."
        )
    return f"Analyser: {said}{analysers}"


def completeness(material: Material, overview: pd.DataFrame, left_out: Sequence[str]) -> Section:
    """Return the section on the data and what is missing from them.

    Parameters
    ----------
    material
        The data of the report.
    overview
        Its ``analysis.prompt_overview``.
    left_out
        Sections that would be empty, and why.
    """
    facts = material.provenance
    state = {
        True: "All conversations of the service were read.",
        False: "Not all conversations of the service could be read.",
        None: "The source does not report whether these are all conversations.",
    }[facts.complete]
    if facts.changed:
        state = "Rows were removed from or added to the table after it was read from the service."
    missing, running = (int(overview[name].sum()) for name in ("n_missing", "in_progress"))
    counts = {
        "Read from the source": facts.rows,
        "Counted by the service": facts.total,
        "In this report": len(material.conversations),
        "Ended, task not judged": missing,
        "In progress": running,
        "Deleted during reading": facts.deleted or None,
    }
    rows = [(what, number) for what, number in counts.items() if number is not None]
    rows += [(f"Unusable values: {one_line(name, 40)}", int(n)) for name, n in sorted(facts.warnings.items())]
    columns = (Column("what", "What"), Column("n", "Conversations", "count"))
    empty = (f"Left out, because there is nothing to show: {', '.join(left_out)}.",) if left_out else ()
    return Section(
        "data", "The data", (state, *empty), tables=(Table("data", "The data", columns, tuple(rows)),)
    )


def footer(now: datetime) -> str:
    """Return the last line: what wrote the report, and when."""
    return f"Written by promptlift {__version__} on {date_time(now)}."
