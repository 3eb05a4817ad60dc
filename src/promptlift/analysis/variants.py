"""The lift of an optimization's variants and its confidence, as the service reported them, nothing guessed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.reading import collect, facts_of, names_of, require, with_provenance
from promptlift.frames.columns import dtype_of
from promptlift.frames.headline import headlines_of
from promptlift.frames.layouts import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLUMNS: Final = (
    "optimization_id", "variant_id", "name", "stage", "is_winner", "lift", "lift_low", "lift_high",
    "interval_level", "lift_expected", "lift_verified", "lift_verified_low", "lift_verified_high",
    "lift_points", "logged_is_headline", "lift_logged", "lift_logged_low", "lift_logged_high",
    "lift_logged_expected", "lift_logged_verified", "lift_logged_verified_low", "lift_logged_verified_high",
    "failed_share_tested", "failed_share_logged", "confidence", "n", "n_pairs", "n_dropped",
    "n_variants_tested", "task_completion", "original_task_completion", "task_completion_logged",
    "original_task_completion_logged", "lift_basis", "uncertainty_source", "low_unbounded",
    "high_unbounded", "equivalence", "rehearsal", "warnings",
)  # fmt: skip
_DTYPES: Final[dict[str, Any]] = {
    column.name: "str" if column.kind == "category" else dtype_of(column)
    for column in VARIANTS
    if column.name == "is_original" or column.name in _COLUMNS
}
_STAGES: Final = ("confirm", "screen")
_EQUIVALENCE: Final = ("better", "equivalent", "worse", "unclear")
# Facts about the optimization, taken from the table of variants.
_FACTS: Final = (
    "optimization_id", "prompt_id", "status", "mode", "winner_selected", "confidence", "threshold",
    "interval_level", "reason", "explanation", "estimand", "max_looks", "confidence_method", "theta",
    "units", "task_completion_given_as",
)  # fmt: skip


def variant_lift(variants: Any, *, equivalence: float | None = None) -> pd.DataFrame:
    """Return the lift of each variant with its interval, where the service sent one.

    Nothing is made up: without an interval from the service the ends are missing, whatever the metrics are. Variants
    of the screening and of the confirmation ran on different cells, so their lifts cannot be compared, and only a
    confirmed one was tested on conversations that had no part in choosing it.

    Parameters
    ----------
    variants
        A table from ``lift.variants``, or any table with its columns ``name`` and ``lift``.
    equivalence
        Percent: a lift between minus and plus this makes no practical difference. ``None`` judges nothing.

    Returns
    -------
    DataFrame
        One row per variant other than the original; by optimization, the confirmed before the screened ones, the largest
        lift first: ``optimization_id``, ``variant_id``, ``name``, ``stage``, ``is_winner``; ``lift``,
        ``lift_low``, ``lift_high``, ``lift_expected`` (percent), ``lift_verified`` with its ends ``lift_verified_low`` and
        ``lift_verified_high`` (of pairs measured after the decision), ``interval_level``, ``lift_points``; the same on the
        mix of the logged conversations: ``lift_logged``, ``lift_logged_low``, ``lift_logged_high``,
        ``lift_logged_expected``, ``lift_logged_verified`` with its ends; ``logged_is_headline`` (that is the lift to quote,
        because failed conversations are tested more often than they were logged), ``failed_share_tested`` and
        ``failed_share_logged`` (fractions); ``confidence``, ``n``, ``n_pairs``, ``n_dropped``, ``n_variants_tested``, ``task_completion``,
        ``original_task_completion`` and, on the logged mix, ``task_completion_logged`` and
        ``original_task_completion_logged`` (fractions, of the pairs that the lift is of), ``lift_basis``, ``uncertainty_source``;
        ``low_unbounded`` and ``high_unbounded`` (an interval of the lift to quote was sent, and has no end there);
        ``equivalence`` (``better``, ``equivalent``, ``worse`` or ``unclear``: where the interval lies beside the
        band; missing without a band or an interval), ``rehearsal``, ``warnings``.

        ``attrs["promptlift"]`` repeats what the table of variants says about the optimization.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``equivalence`` is not above 0.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"name": ["original", "a", "b"], "is_original": [True, False, False], "lift": [None, 4.0, 17.3]}
    ... )
    >>> variant_lift(table)[["name", "lift", "uncertainty_source"]].to_dict("records")
    [{'name': 'b', 'lift': 17.3, 'uncertainty_source': 'none'}, {'name': 'a', 'lift': 4.0, 'uncertainty_source': 'none'}]
    """
    if equivalence is not None and not (math.isfinite(equivalence) and equivalence > 0):
        raise ValueError(f"equivalence must be percent above 0, or None, not {equivalence!r}.")
    table = _read(variants, ["name", "lift"])
    rows = table[~table["is_original"].fillna(False)].reset_index(drop=True)
    rows["is_winner"] = rows["is_winner"].fillna(False)
    sent = rows["uncertainty_source"].eq("service").fillna(False)
    known = rows["lift"].notna()
    shown = headlines_of(rows)
    for end in ("low", "high"):
        rows[f"{end}_unbounded"] = (sent & known & shown[f"lift_{end}"].isna()).astype("boolean")
    rows["equivalence"] = _beside_band(shown, sent & known, equivalence)
    result = _ordered(rows)[list(_COLUMNS)]
    facts = {"equivalence": equivalence, **_facts(variants, table)}
    return with_provenance(result, variants, "variant_lift", **facts)


def variant_confidence(variants: Any) -> pd.DataFrame:
    """Return the confidence after each pass of the confirmation, or, without a trace, the final one.

    Parameters
    ----------
    variants
        A table from ``lift.variants``, whose ``attrs`` have the trace. Of other tables only the columns ``name`` and
        ``confidence`` are used.

    Returns
    -------
    DataFrame
        One row per pass: ``optimization_id``, ``look`` (number of the pass, from 1; missing where only the reported
        confidence is known), ``confidence``, ``threshold`` (what a winner needs; missing where the service does not
        say) and ``reached``, whether it was there. ``attrs["promptlift"]`` has what the table of variants said
        about the optimization.

    Raises
    ------
    FrameError
        When a column is missing.

    Examples
    --------
    >>> table = pd.DataFrame({"name": ["a"], "confidence": [0.92]})
    >>> table.attrs["promptlift"] = {"optimization_id": "o", "trace": [0.62, 0.92], "threshold": 0.9}
    >>> variant_confidence(table)[["look", "confidence", "reached"]].to_dict("records")
    [{'look': 1, 'confidence': 0.62, 'reached': False}, {'look': 2, 'confidence': 0.92, 'reached': True}]
    """
    table = _read(variants, ["name", "confidence"])
    rows: list[dict[str, Any]] = []
    for facts in _by_optimization(variants, table):
        trace = [_number(one) for one in facts.get("trace") or ()]
        threshold = _number(facts.get("threshold"))
        looks: Sequence[tuple[int | None, float]] = list(enumerate(trace, 1))
        if not looks:
            reported = _number(facts.get("confidence"))
            looks = [] if math.isnan(reported) else [(None, reported)]
        rows += [
            {
                "optimization_id": facts.get("optimization_id"),
                "look": look,
                "confidence": confidence,
                "threshold": threshold,
                "reached": None
                if math.isnan(confidence) or math.isnan(threshold)
                else confidence >= threshold,
            }
            for look, confidence in looks
        ]
    dtypes = {
        "optimization_id": "str",
        "look": "Int64",
        "confidence": "float64",
        "threshold": "float64",
        "reached": "boolean",
    }
    result = pd.DataFrame(rows, columns=list(dtypes)).astype(dtypes)
    facts = {"has_trace": bool(result["look"].notna().any()), **_facts(variants, table)}
    return with_provenance(result, variants, "variant_confidence", **facts)


def _read(variants: Any, needed: list[str]) -> pd.DataFrame:
    """Read the columns that are there; the others are missing throughout."""
    require(variants, needed, of="variants")
    present = [name for name in names_of(variants) if name in _DTYPES]
    table = collect(variants, present).reset_index(drop=True)
    read = table.reindex(columns=list(_DTYPES)).astype("object").astype(_DTYPES)
    if "uncertainty_source" not in present:
        ends = read[["lift_low", "lift_high"]].notna().any(axis=1)
        read["uncertainty_source"] = np.where(ends, "service", "none")
        read["uncertainty_source"] = read["uncertainty_source"].astype("str")
    if "warnings" not in present:
        read["warnings"] = pd.Series([""] * len(read), dtype="str")
    return read


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort by optimization in the table's order, then stage, then the largest lift."""
    run, _ = pd.factorize(rows["optimization_id"], use_na_sentinel=False)
    stage = rows["stage"].map({name: place for place, name in enumerate(_STAGES)}).astype("float64")
    keys = pd.DataFrame({"run": run, "stage": stage.fillna(len(_STAGES)), "lift": -rows["lift"]})
    order = keys.sort_values(["run", "stage", "lift"], kind="stable", na_position="last").index
    return rows.loc[order].reset_index(drop=True)


def _beside_band(rows: pd.DataFrame, sent: pd.Series[bool], equivalence: float | None) -> pd.Series[Any]:
    """Return where each interval lies beside the band of practical equivalence."""
    dtype = pd.CategoricalDtype(list(_EQUIVALENCE))
    if equivalence is None:
        return pd.Series([None] * len(rows), dtype=dtype)
    low = rows["lift_low"].fillna(-np.inf).to_numpy()
    high = rows["lift_high"].fillna(np.inf).to_numpy()
    said = np.select(
        [low > equivalence, high < -equivalence, (low >= -equivalence) & (high <= equivalence)],
        ["better", "worse", "equivalent"],
        default="unclear",
    )
    kept = [word if there else None for word, there in zip(said, sent.to_numpy(), strict=True)]
    return pd.Series(kept, dtype=dtype)


def _facts(variants: Any, table: pd.DataFrame) -> dict[str, Any]:
    said = facts_of(variants)
    known = table["rehearsal"].dropna()
    rehearsal = bool(known.any()) if len(known) else said.get("rehearsal")
    several = said.get("optimizations")
    return {
        **{name: said[name] for name in _FACTS if name in said},
        "rehearsal": rehearsal,
        "n_optimizations": len(several)
        if isinstance(several, dict)
        else int(table["optimization_id"].nunique() or 1),
    }


def _by_optimization(variants: Any, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the facts of each optimization; without attributes, the confidence of its winner or best variant."""
    said = facts_of(variants)
    several = said.get("optimizations")
    if isinstance(several, dict) and several:
        return [facts for facts in several.values() if isinstance(facts, dict)]
    if said.get("trace") or said.get("confidence") is not None:
        return [said]
    found = []
    for _, rows in table.groupby("optimization_id", sort=False, dropna=False):
        winners = rows[rows["is_winner"].fillna(False)]
        first = rows["optimization_id"].iloc[0]
        found.append(
            {
                "optimization_id": None if pd.isna(first) else first,
                "confidence": (winners if len(winners) else rows)["confidence"].max(),
                "threshold": said.get("threshold"),
            }
        )
    return found


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
