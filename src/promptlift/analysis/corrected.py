"""Corrected numbers beside the judge's: the columns that labels add to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pandas as pd

from promptlift.analysis.labels import KEY, LabelledRows, all_columns, label_rows
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.period_counts import times_of
from promptlift.analysis.reading import facts_of, started
from promptlift.analysis.verdicts import OUTCOME, question_of
from promptlift.stats.intervals import rate_and_interval
from promptlift.stats.judge_errors import equal_error_test, pooled_difference, rogan_gladen
from promptlift.stats.labels import (
    CorrectedDifference,
    LabelledGroup,
    corrected_difference,
    corrected_paired_difference,
    corrected_rate,
)
from promptlift.stats.multiplicity import holm
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Rectifier = Literal["own", "pooled"]

CORRECTED_RATE: Final = (
    "rate_corrected", "rate_corrected_low", "rate_corrected_high", "n_labels", "n_effective", "not_corrected",
)  # fmt: skip
CORRECTED_DIFFERENCE: Final = (
    "difference_points_corrected", "difference_points_corrected_low", "difference_points_corrected_high",
)  # fmt: skip
_ROGAN_GLADEN: Final = ("rate_rogan_gladen", "rate_rogan_gladen_low", "rate_rogan_gladen_high")
_WHOLE: Final = "all"


def judged_rows(frame: pd.DataFrame, labels: Any, question: str = OUTCOME) -> LabelledRows:
    """Put labels to a table of conversations, whose outcome is the judge's answer."""
    likely = None
    if question == OUTCOME:
        codes, question = outcome_codes(frame), question_of(frame)
        judged = np.where(codes >= 2, (codes == 3).astype(np.float64), np.nan)
        if question == OUTCOME and "completion_chance" in frame:
            chance = frame["completion_chance"].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
            likely = np.where(np.isnan(judged) | np.isnan(chance), judged, chance)
    else:
        judged = frame[question].astype("boolean").to_numpy(dtype=np.float64, na_value=np.nan)
    return label_rows(labels, frame[KEY], judged, question, likely)


def as_labelled(conversations: Any, labels: Any, outcome: str = OUTCOME) -> tuple[Any, Any]:
    """Return conversations and the labels that correct them.

    Where every judged conversation has a label, the labels are the outcome: nothing is left to correct, and the basis is ``label``.

    Parameters
    ----------
    conversations
        Any table, read by `promptlift.analysis.verdicts.read_outcome`.
    labels
        Table of labels, or None.
    outcome
        Column of true and false.
    """
    if labels is None:
        return conversations, None
    frame = all_columns(conversations)
    if outcome not in frame or not _is_yes_or_no(frame[outcome]):
        return frame, labels
    rows = judged_rows(frame, labels, outcome)
    if not rows.is_census:
        return frame, labels
    said = pd.Series(rows.said, frame.index).astype("Float64").astype("boolean")
    named = {"basis": "label"} if outcome == OUTCOME else {}
    frame = frame.assign(**{outcome: said}, **named)
    frame.attrs = {**frame.attrs, "promptlift": {**facts_of(frame), **named}}
    return frame, None


def _is_yes_or_no(column: pd.Series[Any]) -> bool:
    try:
        column.astype("boolean")
    except (TypeError, ValueError):
        return False
    return True


def with_rates(
    result: pd.DataFrame, conversations: Any, labels: Any, *, by: str | None, level: float
) -> pd.DataFrame:
    """Add the corrected completion rate of every row; without labels the table stays as it is.

    Parameters
    ----------
    result
        Table of rates: one row per group, or a group in each period (with ``period_start``).
    conversations
        What it was made of.
    labels
        Table of labels, or None.
    by
        Column of the groups.
    level
        Coverage of each interval.
    """
    if labels is None:
        return result
    frame = all_columns(conversations)
    rows = judged_rows(frame, labels)
    place, names = _places(result, frame, by)
    facts: dict[str, Any] = {**rows.facts(), "method": "PPI++", "level": level, "worth": {}, "refused": {}}
    found = [_rate(rows, place == row, name, level, facts) for row, name in enumerate(names)]
    for column in CORRECTED_RATE:
        result[column] = _column([one[column] for one in found], column)
    facts_of(result)["corrected"] = facts
    return result


def _places(result: pd.DataFrame, frame: pd.DataFrame, by: str | None) -> tuple[NDArray[np.intp], list[str]]:
    """Return the row of the result to which each conversation belongs (-1 for none), and a name for every row."""
    keys = [name for name in ("period_start", by) if name is not None and name in result]
    if not keys:
        return np.zeros(len(frame), np.intp), [_WHOLE]
    parts = pd.DataFrame(index=range(len(frame)))
    wanted = pd.DataFrame(index=range(len(result)))
    if "period_start" in keys:
        starts = pd.DatetimeIndex(result["period_start"]).as_unit("us").asi8
        unique = np.unique(starts)
        period = np.searchsorted(unique, started(frame, times_of(frame)), side="right") - 1
        parts["period"], wanted["period"] = period, np.searchsorted(unique, starts)
    if by is not None:
        # One code a value for both tables, and one for rows without any.
        both = pd.concat([result[by].astype("object"), frame[by].astype("object")], ignore_index=True)
        codes = pd.factorize(both)[0]
        wanted["group"], parts["group"] = codes[: len(result)], codes[len(result) :]
    index = pd.MultiIndex.from_frame(wanted)
    place = index.get_indexer(pd.MultiIndex.from_frame(parts))
    labels = result[keys].itertuples(index=False, name=None)
    return np.asarray(place, np.intp), [" · ".join(map(_named, values)) for values in labels]


def _named(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return "(none)" if is_missing(value) else str(value)


def _rate(
    rows: LabelledRows, mask: NDArray[np.bool_], name: str, level: float, facts: dict[str, Any]
) -> dict[str, Any]:
    group = rows.group(mask)
    if rows.is_census:
        said = rows.said[mask & ~np.isnan(rows.judged)]
        rate = map(float, rate_and_interval(int(said.sum()), len(said), level=level))
        counts = {"n_labels": len(said), "n_effective": len(said), "not_corrected": ""}
        return dict(zip(CORRECTED_RATE[:3], rate, strict=True)) | counts
    if refusal := rows.refusal(mask):
        facts["refused"][name] = refusal
        return {"n_labels": len(group.labels), "not_corrected": refusal} | dict.fromkeys(
            ("rate_corrected", "rate_corrected_low", "rate_corrected_high", "n_effective")
        )
    one = corrected_rate(group, level=level)
    facts["worth"][name] = one.worth
    return {
        "rate_corrected": one.rate,
        "rate_corrected_low": one.low,
        "rate_corrected_high": one.high,
        "n_labels": one.n_labels,
        "n_effective": one.n_effective,
        "not_corrected": "",
    }


def _column(values: list[Any], name: str) -> pd.Series[Any]:
    if name.startswith(("not_", "verdict")):
        return pd.Series(values, dtype="str")
    return pd.Series(values, dtype="int64" if name.startswith("n_labels") else "float64")


def with_agreement(result: pd.DataFrame, insights: Any, labels: Any, *, level: float) -> pd.DataFrame:
    """Add the judge's rate and the corrected ones, by PPI++ and by Rogan and Gladen, to the row of task completion.

    Labels of unknown chance leave the columns empty, and say why.
    """
    about = result["question"].eq(OUTCOME)
    if not about.any():
        columns = dict.fromkeys(("rate_judged", *CORRECTED_RATE[:3], "n_effective", *_ROGAN_GLADEN), np.nan)
        return result.assign(**columns, not_corrected="")
    frame = all_columns(insights)
    rows = judged_rows(frame, labels)
    everything = np.ones(len(frame), bool)
    group = rows.verdicts(everything)
    facts: dict[str, Any] = {"worth": {}, "refused": {}}
    found = _rate(rows, everything, _WHOLE, level, facts)
    other = rogan_gladen(group, level=level) if not found["not_corrected"] else None
    values = {"rate_judged": group.judged_rate} | {
        name: found[name] for name in (*CORRECTED_RATE[:3], "n_effective")
    }
    ends = (other.rate, other.low, other.high) if other else (None, None, None)
    values |= dict(zip(_ROGAN_GLADEN, ends, strict=True))
    for name, value in values.items():
        result[name] = np.where(about, np.nan if value is None else value, np.nan)
    words = " ".join(filter(None, (found["not_corrected"], other.refusal if other else "")))
    result["not_corrected"] = pd.Series(np.where(about, words, ""), dtype="str")
    facts_of(result)["corrected"] = {**rows.facts(), "method": "PPI++", "level": level, **facts}
    return result


def segment_columns(
    frame: pd.DataFrame,
    labels: Any,
    masks: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    *,
    outcome: str,
    level: float,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Correct the rate of each segment, and its difference to the rest.

    Parameters
    ----------
    frame
        The judged conversations.
    labels
        Table of labels.
    masks
        Of each segment, and of its rest.
    outcome
        Column of true and false.
    level
        Coverage of each interval.

    Returns
    -------
    table, facts
        One row per segment, and what the attributes say of the labels.
    """
    rows = judged_rows(frame, labels, outcome)
    facts: dict[str, Any] = {**rows.facts(), "method": "PPI++", "level": level, "worth": {}, "refused": {}}
    found = []
    for place, (inside, outside) in enumerate(masks):
        row = _rate(rows, inside, str(place), level, facts)
        refusal = row["not_corrected"] or rows.refusal(outside, "the rest")
        both = None if refusal else corrected_difference(rows.group(inside), rows.group(outside), level=level)
        found.append(
            row | _points(both) | {"p_corrected": both.p if both else None, "not_corrected": refusal}
        )
    # Which segment is refused is said in its row.
    del facts["worth"], facts["refused"]
    columns = (*CORRECTED_RATE[:5], *CORRECTED_DIFFERENCE, "p_corrected", "not_corrected")
    return pd.DataFrame({name: _column([row[name] for row in found], name) for name in columns}), facts


def comparison_columns(
    rows: LabelledRows,
    groups: NDArray[np.intp],
    control: int,
    others: Sequence[int],
    *,
    item: NDArray[np.intp] | None,
    rectifier: Rectifier,
    level: float,
    arms: tuple[str, str] = ("the variant", "the control"),
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Correct the comparison of each variant with the control.

    Parameters
    ----------
    rows
        Conversations with their labels.
    groups
        The variant of each.
    control, others
        Places of the control and of the variants.
    item
        The item of each row, where they are compared in pairs.
    rectifier
        ``own``: each arm by its own labels; ``pooled``: by the labels of both together.
    level
        Coverage of the intervals; ``1 - level`` bounds the chance of a false verdict.
    arms
        What refusals call a variant and the control.

    Returns
    -------
    table, facts
        One row per variant, and what the attributes say of the labels.
    """
    facts: dict[str, Any] = {
        **rows.facts(), "method": "PPI++" if rectifier == "own" else "pooled error rates", "rectifier": rectifier,
        "level": level,
    }  # fmt: skip
    found = []
    for place in others:
        variant, reference = groups == place, groups == control
        # Labels of another question are so for both arms, and that is said once.
        said = dict.fromkeys((rows.refusal(variant, arms[0]), rows.refusal(reference, arms[1])))
        refusal = " ".join(filter(None, said))
        one, other = rows.group(variant), rows.group(reference)
        verdicts = rows.verdicts(variant), rows.verdicts(reference)
        row = _arm(one, "rate", level) | _arm(other, "rate_control", level)
        row |= {"n_labels": len(one.labels), "n_labels_control": len(other.labels)}
        both: CorrectedDifference | None = None
        if rectifier == "pooled" and not rows.refusal(variant | reference, "both together"):
            both, _ = pooled_difference(*verdicts, level=level)
            refusal = both.refusal
        elif not refusal and item is not None:
            both = corrected_paired_difference(*_pairs(rows, item, variant, reference), level=level)
            refusal = both.refusal and f"Of pairs with both labelled: {both.refusal}"
        elif not refusal:
            both = corrected_difference(one, other, level=level)
        test = equal_error_test(*verdicts, level=level)
        row |= _points(both) | {
            "p_corrected": both.p if both else None,
            "n_effective": both.n_effective if both else None,
            "tpr_difference": test.tpr_difference, "tpr_difference_low": test.tpr_low, "tpr_difference_high": test.tpr_high,
            "tnr_difference": test.tnr_difference, "tnr_difference_low": test.tnr_low, "tnr_difference_high": test.tnr_high,
            "p_equal_error": test.p,
            "not_corrected": refusal,
        }  # fmt: skip
        found.append(row)
    _decide(found, level)
    names = list(found[0]) if found else []
    return pd.DataFrame({name: _column([row[name] for row in found], name) for name in names}), facts


def _arm(group: LabelledGroup, name: str, level: float) -> dict[str, Any]:
    one = corrected_rate(group, level=level)
    return {
        f"{name}_corrected": one.rate,
        f"{name}_corrected_low": one.low,
        f"{name}_corrected_high": one.high,
    }


def _points(both: CorrectedDifference | None) -> dict[str, Any]:
    ends = (both.difference, both.low, both.high) if both else (None, None, None)
    return {
        name: None if end is None else 100.0 * end
        for name, end in zip(CORRECTED_DIFFERENCE, ends, strict=True)
    }


def _pairs(
    rows: LabelledRows, item: NDArray[np.intp], variant: NDArray[np.bool_], control: NDArray[np.bool_]
) -> tuple[LabelledGroup, LabelledGroup]:
    """Return both arms of the pairs that were judged, the labelled ones of both first."""
    known = ~np.isnan(rows.judged) & (item >= 0)
    one = pd.Series(np.flatnonzero(variant & known), index=item[variant & known])
    other = pd.Series(np.flatnonzero(control & known), index=item[control & known])
    shared = one.index.intersection(other.index)
    one_at, other_at = one.loc[shared].to_numpy(), other.loc[shared].to_numpy()
    labelled = ~np.isnan(rows.label[one_at]) & ~np.isnan(rows.label[other_at])
    # unspecified: the chance of a pair. Alike on both sides, the two were drawn together; else each by itself.
    alike = rows.chance[one_at] == rows.chance[other_at]
    chance = np.where(alike, rows.chance[one_at], rows.chance[one_at] * rows.chance[other_at])[labelled]
    arms = [
        LabelledGroup(
            rows.label[at[labelled]], rows.judged[at[labelled]], rows.judged[at[~labelled]], chances=chance
        )
        for at in (one_at, other_at)
    ]
    return arms[0], arms[1]


def _decide(found: list[dict[str, Any]], level: float) -> None:
    """Adjust the p-values by Holm over the variants that could be corrected, and write the verdicts."""
    tested = [row for row in found if row["p_corrected"] is not None]
    adjusted = iter(holm([row["p_corrected"] for row in tested])) if tested else iter(())
    for row in found:
        row["p_corrected_holm"] = row["verdict_corrected"] = None
        if row["p_corrected"] is not None:
            row["p_corrected_holm"] = float(next(adjusted))
            clear = row["p_corrected_holm"] < 1.0 - level
            up = row["difference_points_corrected"] > 0.0
            row["verdict_corrected"] = ("winner" if up else "worse") if clear else "no winner"
