"""The table of variants: with recognized units, recomputed lifts, and the source of each number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import VARIANTS
from promptlift.frames.lift_basis import GivenLift, bases_of
from promptlift.schema.naming import link_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

Row = dict[str, Any]

UNITS: Final = {column.name: column.unit for column in VARIANTS if column.unit}
# A rate above this is not a fraction, whatever the rounding.
_FRACTION_MOST: Final = 1.5
NO_SAMPLE_SIZE: Final = (
    "The service gives no sample size, so there is no interval: how much of the lift is chance is unknown."
)
LOGGED_RATES: Final = {
    "task_completion_logged": "loggedMix.taskCompletion",
    "original_task_completion_logged": "loggedMix.originalTaskCompletion",
}
# Columns that are computed for each row below; the others are taken from it unchanged.
_WORKED_OUT: Final = (
    "optimization_id", "prompt", "is_original", "is_winner", "task_completion", "original_task_completion",
    *LOGGED_RATES, "confidence", "n", "n_variants_tested", "lift_basis", "uncertainty_source", "warnings",
    "rehearsal",
)  # fmt: skip


def value_at(row: Any, path: str) -> Any:
    """Return the value at a dotted path in decoded JSON; ``None`` if there is none."""
    for name in path.split("."):
        row = row.get(name) if isinstance(row, dict) else None
    return row


def is_rehearsal(row: Row) -> bool | None:
    """Return whether an optimization ran on the rehearsal model; ``None`` if unknown."""
    found = [value_at(row, "rehearsal"), value_at(row, "results.rehearsal")]
    known = [one for one in found if isinstance(one, bool)]
    return any(known) if known else None


def variants_table(items: Sequence[Row]) -> tuple[pd.DataFrame, dict[str, int], dict[str, Any]]:
    """Make the table of variants, one row each.

    Parameters
    ----------
    items
        One per optimization: ``optimization`` and ``variants`` as received from the service.

    Returns
    -------
    tuple
        The table; counts of unusable values by column; facts about the table: units, and by optimization its
        status, threshold, trace of confidence and whether it was a rehearsal.
    """
    rates = [
        rate
        for item in items
        for row in item["variants"]
        for rate in (value_at(row, "metrics.taskCompletion"), row.get("originalTaskCompletion"))
    ]
    percent, recognised = _recognise(rates, [row for item in items for row in item["variants"]])
    computed: dict[str, list[Any]] = {name: [] for name in _WORKED_OUT}
    for item in items:
        _add(computed, item, 100.0 if percent else 1.0)
    frame, invalid = read_table(VARIANTS, [row for item in items for row in item["variants"]], **computed)
    facts = {item["id"]: facts_of(item["optimization"]) for item in items}
    about = {
        "units": UNITS,
        "task_completion_given_as": "unknown" if percent is None else "percent" if percent else "fraction",
        "task_completion_recognised_by": recognised,
        "optimizations": facts,
        **(next(iter(facts.values())) if len(facts) == 1 else {"rehearsal": any_rehearsal(facts)}),
    }
    return frame, invalid, about


def facts_of(optimization: Row) -> Row:
    """Return the facts of a table of variants about their optimization."""
    results = optimization.get("results")
    results = results if isinstance(results, dict) else {}
    trace = results.get("trace")
    return {
        "optimization_id": optimization.get("id"),
        "prompt_id": link_of(optimization),
        "status": optimization.get("status"),
        "mode": optimization.get("mode"),
        "winner_selected": results.get("winnerSelected"),
        "winning_variant_id": results.get("winningVariantId"),
        "confidence": _number(results.get("confidence")),
        "threshold": _number(results.get("confidenceNeeded")),
        "interval_level": _number(results.get("intervalLevel")),
        "trace": [_number(one) for one in trace] if isinstance(trace, list) else [],
        "max_looks": results.get("maxLooks"),
        "confidence_method": results.get("confidenceMethod"),
        "theta": _number(results.get("theta")),
        "estimand": results.get("estimand"),
        "reason": results.get("reason"),
        "explanation": results.get("explanation"),
        "rehearsal": is_rehearsal(optimization),
    }


def any_rehearsal(facts: dict[str, Row]) -> bool | None:
    """Return whether any of some optimizations was a rehearsal; ``None`` if unknown."""
    known = [one["rehearsal"] for one in facts.values() if one["rehearsal"] is not None]
    return any(known) if known else None


def _recognise(rates: list[Any], rows: list[Row]) -> tuple[bool | None, str]:
    """Decide whether rates are percent, and return how that is known."""
    known = [abs(rate) for rate in map(_number, rates) if rate is not None]
    if any("originalTaskCompletion" in row or "pairs" in row for row in rows):
        return True, "fields sent only by our service"
    if not known or not any(known):
        return None, "no value above 0"
    if max(known) > _FRACTION_MOST:
        return True, f"a value above {_FRACTION_MOST}"
    return False, f"no value above {_FRACTION_MOST}"


def _add(values: dict[str, list[Any]], item: Row, scale: float) -> None:
    """Add the rows of one optimization."""
    optimization, rows = item["optimization"], item["variants"]
    facts = facts_of(optimization)
    original: Row = next((row for row in rows if row.get("isOriginal") is True), {})
    tested = value_at(optimization, "results.variantsTested")
    if tested is None:
        tested = sum(row.get("isOriginal") is not True for row in rows)
    given = [_given(row, original) for row in rows]
    for row, (lift, rate, other), basis in zip(rows, given, bases_of(given, scale=scale), strict=True):
        winner = _is_winner(row, facts)
        own = row.get("rehearsal")
        warnings = [str(one) for one in row.get("warnings") or () if isinstance(one, str)]
        values["optimization_id"].append(item["id"])
        values["prompt"].append(facts["prompt_id"])
        values["is_original"].append(row.get("isOriginal") is True)
        values["is_winner"].append(winner)
        values["task_completion"].append(None if rate is None else rate / scale)
        values["original_task_completion"].append(None if other is None else other / scale)
        for name, path in LOGGED_RATES.items():
            logged = _number(value_at(row, path))
            values[name].append(None if logged is None else logged / scale)
        values["confidence"].append(_confidence(row, facts, winner=winner))
        n = value_at(row, "pairs.n") if row.get("n") is None else row["n"]
        said = [basis.warning, NO_SAMPLE_SIZE if lift is not None and n is None else ""]
        values["n"].append(n)
        values["n_variants_tested"].append(tested)
        values["lift_basis"].append(basis.name)
        values["uncertainty_source"].append("service" if _has_interval(row) else "none")
        values["warnings"].append(" ".join([*warnings, *filter(None, said)]))
        values["rehearsal"].append(own if isinstance(own, bool) else facts["rehearsal"])


def _given(row: Row, original: Row) -> GivenLift:
    """Return the lift of a row with its rates; the original has no lift."""
    lift = None if row.get("isOriginal") is True else _number(row.get("lift"))
    return GivenLift(lift, *_rates(row, original))


def _rates(row: Row, original: Row) -> tuple[float | None, float | None]:
    """Return task completion of a variant, and of the original on the same pairs, as given."""
    rate = _number(value_at(row, "metrics.taskCompletion"))
    if row.get("isOriginal") is True:
        return rate, None
    if "originalTaskCompletion" in row:
        return rate, _number(row["originalTaskCompletion"])
    return rate, _number(value_at(original, "metrics.taskCompletion"))


def _is_winner(row: Row, facts: Row) -> bool:
    named = facts["winning_variant_id"]
    return row.get("isWinner") is True or (
        named is not None and row.get("id") == named and facts["winner_selected"] is not False
    )


def _confidence(row: Row, facts: Row, *, winner: bool) -> float | None:
    """Return the variant's own confidence, or the optimization's for its winner if the service gives only that."""
    own = _number(row.get("confidence"))
    return facts["confidence"] if own is None and winner else own


def _has_interval(row: Row) -> bool:
    """Return whether the service sent an interval: an end, or the level of an unbounded interval."""
    ends = [_number(row.get("liftLow")), _number(row.get("liftHigh"))]
    if any(end is not None for end in ends):
        return True
    return (
        _number(row.get("lift")) is not None
        and _number(row.get("intervalLevel")) is not None
        and "liftLow" in row
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
