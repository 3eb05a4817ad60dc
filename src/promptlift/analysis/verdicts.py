"""Verdicts of a judge of one's own, as ``lift.verdicts`` gives them, read like the outcome of conversations.

Such a table has ``judge``, ``judge_version`` and ``verdict``, and no ``task_completed``: the verdict is the outcome, and the
judge's name the question that labels answer.
"""

from __future__ import annotations

from typing import Any, Final

import narwhals as nw
import numpy as np
import pandas as pd

from promptlift.analysis.labels import all_columns, answers_to
from promptlift.analysis.period_counts import started, times_of
from promptlift.analysis.reading import collect, distinct, names_of

__all__ = ["OUTCOME", "VERSION", "as_outcome", "labels_for", "labels_of", "question_of", "version_marks"]

OUTCOME: Final = "task_completed"
VERSION: Final = "judge_version"
_COLUMNS: Final = frozenset({"judge", VERSION})
# As tables of labels may call it.
_COMPLETED: Final = "completed"


def as_outcome(table: Any) -> Any:
    """Return a table of verdicts with its verdict as the outcome; any other table as it is.

    Raises
    ------
    ValueError
        When it has verdicts of several judges: their questions are not the same.
    """
    names = set(names_of(table))
    if not ({"verdict"} | _COLUMNS) <= names or OUTCOME in names:
        return table
    question_of(table)
    if isinstance(table, pd.DataFrame):
        return table.rename(columns={"verdict": OUTCOME})
    return nw.from_native(table).rename({"verdict": OUTCOME}).to_native()


def question_of(table: Any) -> str:
    """Return the question that the outcome of a table answers: ``task_completed``, or the name of a judge of one's own.

    Raises
    ------
    ValueError
        When it has verdicts of several judges.
    """
    if not set(names_of(table)) >= _COLUMNS:
        return OUTCOME
    judges = [str(one) for one in distinct(table, "judge")]
    if len(judges) > 1:
        raise ValueError(
            f"The table has verdicts of {len(judges)} judges, {', '.join(sorted(judges)[:3])}: their questions are not the same. "
            "Pass those of one judge."
        )
    return _question(judges[0]) if judges else OUTCOME


def _question(judge: str) -> str:
    return OUTCOME if judge == _COMPLETED else judge


def labels_for(labels: Any, question: str) -> pd.DataFrame:
    """Return labels as a table of pandas; those that name no question are taken to answer this one.

    Raises
    ------
    FrameError
        When they have no conversation_id.
    """
    frame = all_columns(labels)
    if "question" not in frame and question not in frame and "value" in frame:
        frame = frame.assign(question=question)
    return frame


def labels_of(labels: Any, judge: str) -> tuple[list[str], list[bool]]:
    """Return conversations and their labels for the question of a judge, whatever the chance of their draw.

    Of several labellers the majority counts; disputed conversations are left out.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When none of the labels answers this question, or an answer cannot be read.
    """
    question = _question(judge)
    answers = answers_to(labels_for(labels, question).assign(chance=1.0), question)
    if answers.others:
        raise ValueError(
            f"The labels answer {' and '.join(answers.others)}, not {judge}: labels of a judge have its name in the column "
            "question."
        )
    return [str(one) for one in answers.table.index], [bool(one) for one in answers.table["value"]]


def version_marks(result: pd.DataFrame, table: Any, starts: pd.DatetimeIndex) -> dict[str, Any]:
    """Return the versions of a judge in each period of a trend: a column of the result, and facts for its attributes.

    Verdicts of two versions are those of two judges, so a trend of both is marked where they change.

    Parameters
    ----------
    result
        The trend, with ``period_start``; it gets ``judge_versions``, such as ``"1"`` or ``"1+2"``.
    table
        The verdicts, read by `as_outcome`. Any other table is left alone.
    starts
        The periods.

    Returns
    -------
    dict
        ``judge``, its ``versions``, and ``judge_changes``: ``at``, ``before`` and ``after`` of each change; empty for a table
        that is not of verdicts.
    """
    if not set(names_of(table)) >= _COLUMNS:
        return {}
    times = times_of(table)
    frame = collect(table, [OUTCOME, VERSION, *times])
    frame = frame[frame[OUTCOME].notna() & frame[VERSION].notna()]
    period = np.searchsorted(starts.as_unit("us").asi8, started(frame, times), side="right") - 1
    rows = pd.DataFrame({"period": period, "version": frame[VERSION].astype(np.int64).to_numpy()})
    known = rows[rows["period"] >= 0].drop_duplicates().sort_values("version")
    of_period = known.groupby("period")["version"].agg(lambda each: "+".join(map(str, each)))
    said = [str(of_period.get(place, "")) for place in range(len(starts))]
    result["judge_versions"] = pd.Series(np.repeat(said, len(result) // max(len(starts), 1)), dtype="str")
    changes, last = [], ""
    for start, here in zip(starts, said, strict=True):
        if here and last and here != last:
            changes.append({"at": start.isoformat(), "before": last, "after": here})
        last = here or last
    versions = sorted({int(one) for one in rows["version"]})
    return {"judge": question_of(table), "judge_versions": versions, "judge_changes": changes}
