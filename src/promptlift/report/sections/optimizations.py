"""The section about optimizations: their variants, results, uncertainty and deployments."""

from __future__ import annotations

import math
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
    corrected_lifts,
    lift_refusals,
    lift_table,
)
from promptlift.report.sections.edits import EDITS_WORDS, winner_edits
from promptlift.report.sections.measures import painter
from promptlift.schema.inert import one_line
from promptlift.words.figures import counted
from promptlift.words.sentences import ended

if TYPE_CHECKING:
    from promptlift.report.document import Cell
    from promptlift.report.gather import Material

__all__ = ["REHEARSAL", "optimizations", "rehearsal_notice"]

REHEARSAL: Final = "rehearsal"
_LEVEL: Final = 90
_REMARKS: Final = 20
_STATES: Final = {
    "staged": "staged, awaiting approval",
    "testing": "staged, regression test running",
    "rejected": "staged, regression test failed",
    "live": "applied, current version",
    "superseded": "applied, since replaced",
    "rolled_back": "applied, rolled back",
}


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
    tried = material.optimizations
    if tried is None or not len(tried):
        return None
    shown = tried.head(MAX_OPTIMIZATIONS)
    numbers = {one: place for place, one in enumerate(shown["optimization_id"], 1)}
    known = [row for row in records(material.variants) if row["optimization_id"] in numbers]
    variants = sorted(known, key=lambda row: _order(row, numbers))
    level = _level(variants)
    names = {(row["optimization_id"], row["variant_id"]): _name(row, redacted=redacted) for row in variants}
    lifts = corrected_lifts(material, variants)
    doubted = {
        (one["optimization_id"], one["variant_id"])
        for one in lifts
        if not one["not_corrected"] and not one["confirmed"]
    }
    tables: tuple[Table, ...] = (
        _tried_table(records(shown), numbers, names, material, level, doubted),
        _variant_table(variants, numbers, names, level, doubted),
    )
    words = _words(tried, variants, level)
    if lifts:
        words, tables = (*words, LABELS_WORDS), (*tables, lift_table(lifts, numbers, names))
    if (edits := winner_edits(material, numbers, redacted=redacted)) is not None:
        words, tables = (*words, EDITS_WORDS), (*tables, edits)
    return Section(
        "optimizations",
        "Optimizations",
        words,
        (*lift_refusals(lifts, numbers, names), *_remarks(variants, numbers, names, redacted=redacted)),
        figures=_figure(material.variants, numbers, names),
        tables=tables,
    )


def _figure(table: pd.DataFrame, numbers: dict[Any, int], names: dict[Any, str]) -> tuple[Figure, ...]:
    """Return the figure of the newest optimization with a measured lift."""
    measured = table[table["lift"].notna() & table["optimization_id"].isin(numbers)] if len(table) else table
    if not len(measured):
        return ()
    newest = min(measured["optimization_id"], key=numbers.__getitem__)
    drawn = table[table["optimization_id"] == newest]
    pairs = zip(drawn["optimization_id"], drawn["variant_id"], strict=True)
    drawn = drawn.assign(name=[names[pair] for pair in pairs])
    about = table.attrs.get("promptlift") or {}
    facts = (about.get("optimizations") or {}).get(newest) or {}
    drawn.attrs = {"promptlift": {**about, "optimizations": {newest: facts}, **facts}}
    number = numbers[newest]
    alt = f"Lift of each variant of No. {number} over the original; see the table below."
    caption = f"No. {number}, the newest with results. The screening used different conversations from the confirmation."
    return (Figure("lift", alt, painter("paint_lift", drawn), caption),)


def _words(tried: pd.DataFrame, variants: list[dict[str, Any]], level: int) -> tuple[str, ...]:
    meaning = (
        "Each variant was compared with the original on the same simulated conversations. Lift is the change in the share "
        f"of completed tasks, in percent of the original's; its {level}% interval stays valid at every look. The measured "
        "lift of a chosen variant is too high on average; the expected lift is corrected for that."
    )
    words = [meaning]
    if _has_logged(variants):
        words.append(
            "Scenarios come from logged conversations, failed ones more often than they were logged. The lift on the tested "
            "mix is what was measured on them; the lift on the logged mix is re-weighted to how often they were logged, and "
            "is the one to quote. Verified and expected lift are those of the logged mix where it has them."
        )
    if len(tried) > MAX_OPTIMIZATIONS:
        words.append(f"The newest {MAX_OPTIMIZATIONS} of {counted(len(tried), 'optimization')} are shown.")
    if any(row["uncertainty_source"] == "none" and not math.isnan(row["lift"]) for row in variants):
        words.append("Where an interval is missing, the service reports no sample size.")
    if tried.attrs.get("completeness"):
        words.append(one_line(tried.attrs["completeness"], 500))
    return tuple(words)


def _remarks(
    variants: list[dict[str, Any]], numbers: dict[Any, int], names: dict[Any, str], *, redacted: bool
) -> tuple[str, ...]:
    """Return the warnings about single numbers."""
    remarks = []
    for row in variants:
        text = one_line(text_of(row["warnings"]), 300)
        if text:
            name = names[row["optimization_id"], row["variant_id"]]
            remarks.append(
                f"No. {numbers[row['optimization_id']]}, {name}: {redact(text) if redacted else text}"
            )
    return tuple(remarks[:_REMARKS])


def _tried_table(
    rows: list[dict[str, Any]],
    numbers: dict[Any, int],
    names: dict[Any, str],
    material: Material,
    level: int,
    doubted: set[tuple[Any, Any]],
) -> Table:
    columns = (
        Column("optimization", "No.", "count"),
        Column("created_at", "Started", "time"),
        *material.naming(Column("prompt", "Prompt")),
        Column("variants", "Variants", "count"),
        Column("result", "Result"),
        *_lift_columns(rows, level),
        Column("confidence", "Confi\u00addence", "confidence"),
        Column("pairs", "Pairs", "count"),
        Column("deployment", "Deployment"),
        Column("mark", "Note"),
    )
    both = _has_logged(rows)
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        won = row["optimization_id"], row["winning_variant_id"]
        winner = names.get(won)
        marks = {REHEARSAL: _true(row["rehearsal"]), NOT_CONFIRMED: won in doubted}
        cells.append(
            (
                numbers[row["optimization_id"]],
                None if pd.isna(row["created_at"]) else row["created_at"].to_pydatetime(),
                *material.naming(material.name_of(row["prompt_id"])),
                whole_of(row["variant_count"]),
                _result(row, winner),
                _lift(row["lift_pct"], row["lift_low"], row["lift_high"]),
                *((_logged_lift(row),) if both else ()),
                row["confidence"],
                whole_of(row["n_pairs"]),
                _STATES.get(text_of(row["deployment_state"]), text_of(row["deployment_state"])),
                ", ".join(mark for mark, said in marks.items() if said),
            )
        )
    return Table("optimizations", "Optimizations", columns, tuple(cells))


def _variant_table(
    rows: list[dict[str, Any]],
    numbers: dict[Any, int],
    names: dict[Any, str],
    level: int,
    doubted: set[tuple[Any, Any]],
) -> Table:
    columns = (
        Column("optimization", "No.", "count"),
        Column("variant", "Variant"),
        Column("stage", "Stage"),
        Column("task_completion", "Completed", "share"),
        Column("original", "Original, same pairs", "share"),
        *_logged_rate_columns(rows),
        *_lift_columns(rows, level),
        Column("lift_verified", "Verified lift", "percent", _LEVEL),
        Column("lift_expected", "Expected lift", "percent"),
        Column("confidence", "Confi\u00addence", "confidence"),
        Column("pairs", "Pairs", "count"),
        Column("mark", "Note"),
    )
    both = _has_logged(rows)
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        first = headline_of(row)
        sent = row["uncertainty_source"] == "service"
        marks = {
            "original": row["is_original"], "winner": row["is_winner"], REHEARSAL: row["rehearsal"],
            NOT_CONFIRMED: _true(row["is_winner"]) and (row["optimization_id"], row["variant_id"]) in doubted,
        }  # fmt: skip
        cells.append(
            (
                numbers[row["optimization_id"]],
                names[row["optimization_id"], row["variant_id"]],
                text_of(row["stage"]),
                row["task_completion"],
                row["original_task_completion"],
                *((row[name] for name in LOGGED_RATES) if both else ()),
                _lift(row["lift"], row["lift_low"], row["lift_high"], bounded=not sent),
                *((_logged_lift(row),) if both else ()),
                _lift(
                    first["lift_verified"],
                    first["lift_verified_low"],
                    first["lift_verified_high"],
                    bounded=math.isnan(first["lift_verified"]),
                ),
                first["lift_expected"],
                row["confidence"],
                whole_of(row["n"]),
                ", ".join(mark for mark, said in marks.items() if _true(said)),
            )
        )
    return Table("variants", "Variants", columns, tuple(cells))


def _lift_columns(rows: list[dict[str, Any]], level: int) -> tuple[Column, ...]:
    """Return the column of the lift, or one for each mix."""
    if not _has_logged(rows):
        return (Column("lift", "Lift", "percent", level),)
    return (
        Column("lift", "Lift, tested mix", "percent", level),
        Column("lift_logged", "Lift, logged mix", "percent", level),
    )


def _logged_rate_columns(rows: list[dict[str, Any]]) -> tuple[Column, ...]:
    """Return the columns of the rates that the lift on the logged mix is of."""
    titles = ("Completed, logged mix", "Original, logged mix")
    named = zip(LOGGED_RATES, titles, strict=True)
    return tuple(Column(name, title, "share") for name, title in named) if _has_logged(rows) else ()


def _has_logged(rows: list[dict[str, Any]]) -> bool:
    return any(not math.isnan(row["lift_logged"]) for row in rows)


def _logged_lift(row: dict[str, Any]) -> Estimate:
    return _lift(
        row["lift_logged"],
        row["lift_logged_low"],
        row["lift_logged_high"],
        bounded=math.isnan(row["lift_logged"]),
    )


def _result(row: dict[str, Any], winner: str | None) -> str:
    if _true(row["winner_selected"]) or winner is not None:
        return f"winner: {winner or 'unnamed'}"
    reason = text_of(row["reason"])
    if reason:
        return ended(reason)
    status = text_of(row["status"])
    return "no winner" if status == "completed" else status


def _lift(value: float, low: float, high: float, *, bounded: bool = True) -> Estimate:
    """Return an estimate; an interval with one bound missing is unbounded on that side."""
    if not bounded or math.isnan(low) != math.isnan(high):
        low = -math.inf if math.isnan(low) else low
        high = math.inf if math.isnan(high) else high
    return Estimate(value, low, high)


def _order(row: dict[str, Any], numbers: dict[Any, int]) -> tuple[Any, ...]:
    number = whole_of(row["number"])
    return numbers[row["optimization_id"]], not _true(row["is_original"]), 1_000 if number is None else number


def _level(rows: list[dict[str, Any]]) -> int:
    found = [row["interval_level"] for row in rows if not math.isnan(row["interval_level"])]
    if not found:
        return _LEVEL
    first: float = found[0]
    return round(100 * first if first <= 1 else first)


def _name(row: dict[str, Any], *, redacted: bool) -> str:
    name = one_line(text_of(row["name"]), 60) or "(no name)"
    return redact(name) if redacted else name


def _true(value: Any) -> bool:
    return not pd.isna(value) and bool(value)
