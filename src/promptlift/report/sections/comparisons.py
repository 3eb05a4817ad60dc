"""What a report compares: prompts with the first one, and its period with the period before; the sentences open it."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from promptlift import analysis
from promptlift.analysis import two_groups
from promptlift.analysis.findings import finding
from promptlift.analysis.measures import MEASURES
from promptlift.analysis.reading import basis_of
from promptlift.analysis.sentences import score_rule
from promptlift.report.document import Column, Estimate, Section, Table
from promptlift.report.gather import GROUP, PROMPT
from promptlift.report.sections.headlines import CARDS
from promptlift.schema.basis import may_tell
from promptlift.words.names import capital
from promptlift.words.sentences import observed

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.report.document import Cell, Field, Kind
    from promptlift.report.gather import Material

__all__ = ["Answer", "against_the_period_before", "between_prompts", "without_words"]

_LEVEL: Final = 0.95
_MOST_OTHERS: Final = 8
# Issues are among them, because their titles are redacted before.
_SAFE: Final = frozenset(
    (
        "conversation_id", "prompt_id", GROUP, "period", "status", "has_insights", "created_at", "started_at", "llm_model",
        "sentiment", "task_completed", "issues", "analyser", *MEASURES,
    )
)  # fmt: skip
_NOW: Final = "this period"
# Column, label and unit of each headline measure.
_MEASURES: Final[tuple[tuple[str, str, Kind], ...]] = (
    ("task_completed", "Completed their task, difference in percentage points", "points"),
    ("negative", "Negative in tone, difference in percentage points", "points"),
    ("sentiment_score", "Mean sentiment, difference", "score"),
)


class Answer(NamedTuple):
    """What a comparison found: sentences for the top of the report, a section with the numbers, and how it was decided."""

    sentences: tuple[str, ...] = ()
    section: Section | None = None
    rule: str = ""


def between_prompts(material: Material, *, redacted: bool) -> Answer:
    """Compare every prompt with the first one that has conversations.

    Parameters
    ----------
    material
        The data of the report; its names are in order.
    redacted
        Whether to omit what may repeat the words of conversations.
    """
    table = material.conversations
    there = set(table[GROUP].unique())
    first, *others = [name for name in material.names if name in there] or [""]
    if not others:
        return Answer()
    if not material.comparable:
        listed = f"{', '.join(material.names[:-1])} and {material.names[-1]}"
        return Answer((f"{listed} have no text in common: their numbers are side by side, not compared.",))
    found = _compared(table, GROUP, first, material.labels)
    against = (Column("against", "Compared with"), lambda _: first)
    rows = [_row(name, found, name) for name in others]
    shown = Table.of("differences", "How the prompts differ", rows, PROMPT, against, *_fields(material))
    if len(others) == 1:
        comparison = _comparison(table, GROUP, (first, others[0]), material.labels, redacted=redacted)
        sentences, more = (comparison.sentence,), comparison
    else:
        completion = found["task_completed"]
        facts = completion.attrs["promptlift"]
        said = dict(zip(completion.index, facts["sentences"], strict=True))
        in_order = tuple(said[name] for name in others)
        sentences, more = (in_order if len(others) < CARDS else (f"{finding(completion)}.",)), None
    return Answer(sentences, _section("differences", shown, more), _rule(first, len(others)))


def against_the_period_before(material: Material, words: str, *, redacted: bool) -> Answer:
    """Compare each prompt with itself in the period before.

    Parameters
    ----------
    material
        The data of the report.
    words
        The period before in words.
    redacted
        Whether to omit what may repeat the words of conversations.
    """
    now, before = material.conversations, material.earlier
    if before is None or not len(now):
        return Answer()
    table = pd.concat([before.assign(period=words), now.assign(period=_NOW)], ignore_index=True)
    names = [name for name in material.names if (now[GROUP] == name).any()]
    if len(names) > CARDS:
        return Answer()
    sentences, rows, comparison = [], [], None
    for name in names:
        part = table[table[GROUP] == name]
        comparison = _comparison(part, "period", (words, _NOW), material.labels, redacted=redacted)
        prefix = f"{name}: " if material.compared else ""
        sentences.append(prefix + capital(comparison.sentence))
        if not comparison.table.empty:
            found = _compared(part, "period", words, material.labels)
            rate = Estimate.of(comparison.table.iloc[0], "rate_control")
            rows.append(_row(name, found, _NOW) | {"rate_before": rate})
    if not rows:
        return Answer(tuple(sentences))
    label = f"Completed their task in {words}"
    rate_before: Field = (Column("rate_before", label, "share", 95), itemgetter("rate_before"))
    prompt = material.naming(PROMPT)
    shown = Table.of("before", "Against the period before", rows, *prompt, rate_before, *_fields(material))
    section = _section("before", shown, None if material.compared else comparison)
    return Answer(tuple(sentences), section, _rule(words, 1))


def _comparison(
    table: pd.DataFrame, by: str, names: tuple[str, str], labels: Any, *, redacted: bool
) -> two_groups.Parts:
    """Return what ``lift.compare`` gives for two groups."""
    table = without_words(table) if redacted else table
    return two_groups.answer(
        table.assign(**{two_groups.COMPARED: table[by]}),
        names,
        outcome="task_completed",
        level=_LEVEL,
        tz="UTC",
        labels=labels,
    )


def without_words(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the columns whose values are neither the words of a conversation nor name a person."""
    return table[[name for name in table if name in _SAFE]]


def _compared(table: pd.DataFrame, by: str, control: str, labels: Any) -> dict[str, pd.DataFrame]:
    """Return what ``analysis.compare`` gives for each measure, by the group."""
    named = table["sentiment"].astype("str")
    judged = table.assign(
        negative=named.eq("negative").astype("boolean").mask(table["sentiment"].isna()),
        # Other services may send any number; a report must not fail because of it.
        sentiment_score=table["sentiment_score"].where(np.isfinite(table["sentiment_score"])),
    )
    return {
        measure: analysis.compare(
            judged,
            by=by,
            outcome=measure,
            control=control,
            level=_LEVEL,
            kind="score" if kind == "score" else "completion",
            labels=labels if measure == "task_completed" else None,
        ).set_index("variant", drop=False)
        for measure, _, kind in _measures(table)
    }


def _measures(table: pd.DataFrame) -> list[tuple[str, str, Kind]]:
    """Return the headline measures that can be compared: not the sentiment of a word list."""
    of_words = not may_tell(basis_of(table, "sentiment"))
    return [one for one in _MEASURES if one[0] == "task_completed" or not of_words]


def _row(name: str, found: dict[str, pd.DataFrame], variant: str) -> dict[str, Any]:
    """Return the row of a prompt: what was compared by the measure."""
    return {GROUP: name} | {measure: compared.loc[variant] for measure, compared in found.items()}


def _fields(material: Material) -> list[Field]:
    fields: list[Field] = []
    for measure, label, kind in _measures(material.conversations):
        fields.append((Column(f"{measure}_difference", label, kind, 95), _judged(measure, _difference)))
        fields.append((Column(f"{measure}_verdict", "Verdict"), _judged(measure, _judged_verdict)))
    if material.labels is not None:
        label = "Completed their task, difference corrected by labels"
        corrected = Column("task_completed_corrected", label, "points", 95)
        # The verdict is of the number before it, so the judge's follows where labels correct it.
        judged, (verdict, _) = fields[:2]
        fields[:2] = [(corrected, _corrected), (verdict, _corrected_verdict), judged]
    return fields


def _judged(measure: str, shown: Callable[[Any], Cell]) -> Callable[[Any], Cell]:
    return lambda row: shown(row[measure])


def _judged_verdict(compared: Any) -> str:
    return _verdict(compared["verdict"], _difference(compared))


def _corrected(row: Any) -> Estimate | None:
    """Return the corrected difference; where all conversations of a part have labels, its outcome is theirs."""
    compared = row["task_completed"]
    name = "difference_points_corrected"
    found = Estimate.of(compared, name if name in compared else "difference_points")
    return None if math.isnan(found.value) else found


def _corrected_verdict(row: Any) -> str:
    compared, corrected = row["task_completed"], _corrected(row)
    if corrected is None:
        return f"{_judged_verdict(compared)}, not corrected"
    return _verdict(compared["verdict"], corrected)


def _difference(row: Any) -> Estimate:
    return Estimate.of(row, "difference_points" if "difference_points" in row else "difference")


def _verdict(verdict: Any, difference: Estimate) -> str:
    """Return the verdict in a word; a test of ranks may be sure where the interval of the means holds 0."""
    if verdict in ("winner", "worse") and difference.low <= 0.0 <= difference.high:
        return "unclear"
    return (observed(verdict) or "cannot be told") if isinstance(verdict, str) else "not compared"


def _section(name: str, table: Table, comparison: two_groups.Parts | None) -> Section:
    """Return the table of differences, and of a single comparison what else differs and what it is not."""
    if comparison is None:
        return Section(name, table.title, tables=(table,))
    others, n = two_groups.clear_differences(comparison.others), len(comparison.others)
    said = list(comparison.notes)
    if others:
        more = f", the {_MOST_OTHERS} clearest of {len(others)}" if len(others) > _MOST_OTHERS else ""
        said.append(f"What else clearly differs among {n:,} comparisons, corrected for their number{more}:")
    elif n:
        said.append(f"Nothing else clearly differs among {n:,} comparisons, corrected for their number.")
    return Section(name, table.title, tuple(said), others[:_MOST_OTHERS], tables=(table,))


def _rule(control: str, count: int) -> str:
    against = f"every prompt is compared with {control}. " if count > 1 else ""
    return (
        f'Differences: {against}"Higher" and "lower" mean: {score_rule(_LEVEL, count)}; mean sentiment by the Mann-Whitney test, '
        'with Welch\'s interval. "Unclear" does not mean equal: the interval shows which differences remain possible. Other '
        "customers, times or models may also explain a difference."
    )
