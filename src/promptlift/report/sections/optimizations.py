"""The section about optimizations: their variants, results, uncertainty and deployments."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from promptlift.frames.headline import headline_of
from promptlift.frames.variants import LOGGED_RATES
from promptlift.report.document import Column, Estimate, Figure, Notice, Section, Table
from promptlift.report.gather import MAX_OPTIMIZATIONS, records, text_of, whole_of
from promptlift.report.redaction import redact
from promptlift.report.sections.corrected_lifts import (
    LABELS_WORDS,
    NOT_CONFIRMED,
    NUMBER,
    corrected_lifts,
    lift_refusals,
    lift_table,
)  # fmt: skip
from promptlift.report.sections.edits import EDITS_WORDS, winner_edits
from promptlift.report.sections.measures import painter
from promptlift.schema.inert import one_line
from promptlift.schema.optimizations import length_in_words
from promptlift.words.figures import counted
from promptlift.words.sentences import ended

if TYPE_CHECKING:
    from promptlift.report.document import Field
    from promptlift.report.gather import Material

    Row = dict[str, Any]

__all__ = ["REHEARSAL", "optimizations", "rehearsal_notice"]

REHEARSAL: Final = "rehearsal"
_LEVEL: Final = 90
_REMARKS: Final = 20
_MOST: Final = 10
_STATES: Final = {
    "staged": "staged, awaiting approval",
    "testing": "staged, regression test running",
    "rejected": "staged, regression test failed",
    "live": "applied, current version",
    "superseded": "applied, since replaced",
    "rolled_back": "applied, rolled back",
}
_MEANING: Final = (
    "Each variant was compared with the original on the same simulated conversations. Lift is the change in the share "
    "of completed tasks, in percent of the original's; its {level}% interval stays valid at every look. The measured "
    "lift of a chosen variant is too high on average; the expected lift is corrected for that."
)
_MIXES: Final = (
    "Scenarios are drawn from logged conversations, failed ones three times as readily as others. The lift on the "
    "tested mix is what was measured on them; the lift on the logged mix is re-weighted to how often they were logged, "
    "and is the one to quote. Verified and expected lift are those of the logged mix where it has them."
)


def rehearsal_notice(material: Material) -> tuple[Notice, ...]:
    """Return a notice when some results are from the rehearsal model."""
    tried = material.optimizations
    if tried is None or not any(map(_true, tried["rehearsal"])):
        return ()
    words = (
        "Optimizations marked as rehearsal ran on the built-in rehearsal model, not on a language model. Their numbers "
        "demonstrate an optimization and say nothing about a real prompt."
    )
    return (Notice("warning", words),)


def optimizations(material: Material, *, redacted: bool) -> Section | None:
    """Return the section about optimizations; None when none is known.

    Parameters
    ----------
    material
        The data of the report.
    redacted
        Whether to remove personal data that a pattern finds from names.
    """
    if material.optimizations is None or not len(material.optimizations):
        return None
    tried = records(material.optimizations.head(MAX_OPTIMIZATIONS))
    for number, row in enumerate(tried, 1):
        row["no"] = number
    numbers = {row["optimization_id"]: row["no"] for row in tried}
    variants = [row for row in records(material.variants) if row["optimization_id"] in numbers]
    for row in variants:
        row |= {"no": numbers[row["optimization_id"]], "shown_name": _name(row, redacted=redacted)}
    variants.sort(key=_order)
    lifts = corrected_lifts(material, variants)
    doubted = {_key(one) for one in lifts if not one["not_corrected"] and not one["confirmed"]}
    names = {_key(row): row["shown_name"] for row in variants}
    for row in tried:
        won = row["optimization_id"], row["winning_variant_id"]
        row |= {"winner": names.get(won), "doubted": won in doubted}
    for row in variants:
        row["doubted"] = _true(row["is_winner"]) and _key(row) in doubted
    level = _level(variants)
    measured = [row for row in variants if _is_measured(row)]
    tables = [_tried_table(tried, material, level), *([_variant_table(measured, level)] if measured else [])]
    words = _words(material.optimizations, variants, level)
    if lifts:
        words.append(LABELS_WORDS)
        tables.append(lift_table(lifts))
    if (edits := winner_edits(material, numbers, redacted=redacted)) is not None:
        words.append(EDITS_WORDS)
        tables.append(edits)
    remarks = (*lift_refusals(lifts), *_remarks(variants, redacted=redacted))
    figures = _figure(material.variants, numbers, names)
    return Section("optimizations", "Optimizations", tuple(words), remarks, figures, tuple(tables))


def _figure(table: pd.DataFrame, numbers: dict[Any, int], names: dict[Any, str]) -> tuple[Figure, ...]:
    """Return the figure of the newest optimization with a measured lift."""
    measured = table[table["lift"].notna() & table["optimization_id"].isin(numbers)] if len(table) else table
    if not len(measured):
        return ()
    newest = min(measured["optimization_id"], key=numbers.__getitem__)
    drawn = table[table["optimization_id"] == newest]
    drawn = drawn.assign(name=[names[newest, variant] for variant in drawn["variant_id"]])
    about = table.attrs.get("promptlift") or {}
    facts = (about.get("optimizations") or {}).get(newest) or {}
    drawn.attrs = {"promptlift": {**about, "optimizations": {newest: facts}, **facts}}
    number = numbers[newest]
    alt = f"Lift of each variant of No. {number} over the original; see the table below."
    caption = f"No. {number}, the newest with results. The screening used different conversations from the confirmation."
    return (Figure("lift", alt, painter("lift", drawn), caption),)


def _words(tried: pd.DataFrame, variants: list[Row], level: int) -> list[str]:
    words = [_MEANING.format(level=level)]
    if _has_logged(variants):
        words.append(_MIXES)
    unmeasured = sum(not _is_measured(row) for row in variants)
    if unmeasured:
        words.append(f"Not listed: {counted(unmeasured, 'variant')} without a test.")
    if len(tried) > MAX_OPTIMIZATIONS:
        words.append(f"The newest {MAX_OPTIMIZATIONS} of {counted(len(tried), 'optimization')} are shown.")
    if any(row["uncertainty_source"] == "none" and not math.isnan(row["lift"]) for row in variants):
        words.append("Where an interval is missing, the service reports no sample size.")
    if tried.attrs.get("completeness"):
        words.append(one_line(tried.attrs["completeness"], 500))
    return words


def _remarks(variants: list[Row], *, redacted: bool) -> list[str]:
    """Return the warnings about single numbers."""
    found = [(row, one_line(text_of(row["warnings"]), 300)) for row in variants]
    said = [
        f"No. {row['no']}, {row['shown_name']}: {redact(text) if redacted else text}"
        for row, text in found
        if text
    ]
    return said[:_REMARKS]


def _is_measured(row: Row) -> bool:
    chosen = _true(row["is_original"]) or _true(row["is_winner"])
    return chosen or not math.isnan(row["lift"]) or bool(whole_of(row["n"]))


def _tried_table(rows: list[Row], material: Material, level: int) -> Table:
    return Table.of(
        "optimizations",
        "Optimizations",
        rows,
        NUMBER,
        (
            Column("created_at", "Started", "time"),
            lambda row: None if pd.isna(row["created_at"]) else row["created_at"].to_pydatetime(),
        ),
        *material.naming((Column("prompt", "Prompt"), lambda row: material.name_of(row["prompt_id"]))),
        (Column("variants", "Variants", "count"), lambda row: whole_of(row["variant_count"])),
        (Column("result", "Result"), _result),
        *_lifts(rows, level, lambda row: _lift(row["lift_pct"], row["lift_low"], row["lift_high"])),
        (Column("confidence", "Confi\u00addence", "confidence"), itemgetter("confidence")),
        (Column("pairs", "Pairs", "count"), lambda row: whole_of(row["n_pairs"])),
        (
            Column("deployment", "Deployment"),
            lambda row: _STATES.get(state := text_of(row["deployment_state"]), state),
        ),
        (Column("mark", "Note"), _marks),
        most=_MOST,
    )


def _variant_table(rows: list[Row], level: int) -> Table:
    rates = [
        Column(name, f"{who}, logged mix", "share")
        for name, who in zip(LOGGED_RATES, ("Completed", "Original"), strict=True)
    ]
    return Table.of(
        "variants",
        "Variants",
        rows,
        NUMBER,
        (Column("variant", "Variant"), itemgetter("shown_name")),
        (Column("stage", "Stage"), lambda row: text_of(row["stage"])),
        (Column("task_completion", "Completed", "share"), itemgetter("task_completion")),
        (Column("original", "Original, same pairs", "share"), itemgetter("original_task_completion")),
        *([(column, itemgetter(column.key)) for column in rates] if _has_logged(rows) else ()),
        *_lifts(
            rows, level, lambda row: _known_lift(row, "lift", sent=row["uncertainty_source"] == "service")
        ),
        (
            Column("lift_verified", "Verified lift", "percent", _LEVEL),
            lambda row: _known_lift(headline_of(row), "lift_verified"),
        ),
        (Column("lift_expected", "Expected lift", "percent"), lambda row: headline_of(row)["lift_expected"]),
        (Column("confidence", "Confi\u00addence", "confidence"), itemgetter("confidence")),
        (Column("pairs", "Pairs", "count"), lambda row: whole_of(row["n"])),
        (Column("length", "Length of the text"), length_in_words),
        (Column("mark", "Note"), _marks),
        most=_MOST,
    )


def _lifts(rows: list[Row], level: int, lift: Any) -> tuple[Field, ...]:
    """Return the column of the lift, or one for each mix."""
    if not _has_logged(rows):
        return ((Column("lift", "Lift", "percent", level), lift),)
    return (
        (Column("lift", "Lift, tested mix", "percent", level), lift),
        (
            Column("lift_logged", "Lift, logged mix", "percent", level),
            lambda row: _known_lift(row, "lift_logged"),
        ),
    )


def _has_logged(rows: list[Row]) -> bool:
    return any(not math.isnan(row["lift_logged"]) for row in rows)


def _known_lift(row: Any, name: str, *, sent: bool | None = None) -> Estimate:
    """Return a lift whose interval has no bound where none is given; ``sent`` tells whether it has an interval."""
    is_sent = not math.isnan(row[name]) if sent is None else sent
    return _lift(row[name], row[f"{name}_low"], row[f"{name}_high"], sent=is_sent)


def _lift(value: float, low: float, high: float, *, sent: bool = False) -> Estimate:
    """Return an estimate; an interval with one bound missing is unbounded on that side."""
    if sent or math.isnan(low) != math.isnan(high):
        low = -math.inf if math.isnan(low) else low
        high = math.inf if math.isnan(high) else high
    return Estimate(value, low, high)


def _result(row: Row) -> str:
    if _true(row["winner_selected"]) or row["winner"] is not None:
        return f"winner: {row['winner'] or 'unnamed'}"
    if reason := text_of(row["reason"]):
        return ended(reason)
    status = text_of(row["status"])
    return "no winner" if status == "completed" else status


def _marks(row: Row) -> str:
    marks = {
        "original": "is_original",
        "winner": "is_winner",
        REHEARSAL: "rehearsal",
        NOT_CONFIRMED: "doubted",
    }
    return ", ".join(mark for mark, column in marks.items() if _true(row.get(column)))


def _key(row: Row) -> tuple[Any, Any]:
    return row["optimization_id"], row["variant_id"]


def _order(row: Row) -> tuple[Any, ...]:
    number = whole_of(row["number"])
    return row["no"], not _true(row["is_original"]), 1_000 if number is None else number


def _level(rows: list[Row]) -> int:
    found = (float(row["interval_level"]) for row in rows if not math.isnan(row["interval_level"]))
    level = next(found, float(_LEVEL))
    return round(100 * level if level <= 1 else level)


def _name(row: Row, *, redacted: bool) -> str:
    name = one_line(text_of(row["name"]), 60) or "(no name)"
    return redact(name) if redacted else name


def _true(value: Any) -> bool:
    return not pd.isna(value) and bool(value)
