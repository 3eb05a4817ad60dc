"""Verdicts of a judge of your own, as ``lift.judges.verdicts`` gives them, read like the outcome of conversations.

Such a table has ``judge``, ``judge_version`` and ``verdict``, and no ``task_completed``: the verdict is the outcome, and the
judge's name the question that labels answer. In a table that has both, such as verdicts joined to conversations, the verdict
is the outcome where ``outcome="verdict"`` says so.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import narwhals as nw
import numpy as np
import pandas as pd

from promptlift.analysis.labels import all_columns, answers_to
from promptlift.analysis.period_counts import times_of
from promptlift.analysis.periods import grain
from promptlift.analysis.reading import NO_TIME, TICK, count_rows, distinct, facts_of, names_of
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from promptlift.analysis.period_counts import PeriodCounts

    # A version, and the model that answers for it.
    _Judge = tuple[int, str]

OUTCOME: Final = "task_completed"
VERDICT: Final = "verdict"
VERSION: Final = "judge_version"
_COLUMNS: Final = frozenset({"judge", VERSION})
_ANALYSER: Final = "analyser"
# As tables of labels may call it.
_COMPLETED: Final = "completed"


def as_outcome(table: Any) -> Any:
    """Return a table of verdicts with its verdict as the outcome; any other table as it is.

    Raises
    ------
    ValueError
        When it has verdicts of several judges: their questions are not the same.
    """
    return read_outcome(table, OUTCOME)[0]


def read_outcome(table: Any, outcome: str) -> tuple[Any, str]:
    """Return a table and the column of its outcome: a judge's verdict is read as ``task_completed``.

    Parameters
    ----------
    table
        Conversations, verdicts, or verdicts joined to conversations.
    outcome
        The column that was asked for; ``task_completed`` means the verdict where the table has nothing else.

    Raises
    ------
    ValueError
        When the verdicts are of several judges: their questions are not the same.
    """
    names = set(names_of(table))
    joined = OUTCOME in names
    if (
        not ({VERDICT} | _COLUMNS) <= names
        or outcome not in (OUTCOME, VERDICT)
        or (joined and outcome == OUTCOME)
    ):
        return table, outcome
    _judge_of(table)
    if isinstance(table, pd.DataFrame):
        table = table.drop(columns=OUTCOME) if joined else table
        return table.rename(columns={VERDICT: OUTCOME}), OUTCOME
    frame = nw.from_native(table)
    frame = frame.drop(OUTCOME) if joined else frame
    return frame.rename({VERDICT: OUTCOME}).to_native(), OUTCOME


def question_of(table: Any) -> str:
    """Return the question that the outcome of a table answers: ``task_completed``, or the name of a judge of your own.

    Raises
    ------
    ValueError
        When it has verdicts of several judges.
    """
    return (_judge_of(table) if _is_judged(table) else None) or OUTCOME


def _is_judged(table: Any) -> bool:
    """Return whether the outcome of a table is the verdict of a judge of your own."""
    names = set(names_of(table))
    return names >= _COLUMNS and not names >= {VERDICT, OUTCOME}


def _judge_of(table: Any) -> str | None:
    judges = [str(one) for one in distinct(table, "judge")]
    if len(judges) > 1:
        raise ValueError(
            f"The table has verdicts of {len(judges)} judges, {', '.join(sorted(judges)[:3])}: their questions are not the same. "
            "Pass those of one judge."
        )
    return _question(judges[0]) if judges else None


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


def judge_facts(table: Any) -> dict[str, Any]:
    """Return what the attributes of a result say of a judge of your own: verdicts of two versions or models are two judges'.

    Parameters
    ----------
    table
        The conversations, read by `read_outcome`.

    Returns
    -------
    dict
        ``judge``, its ``judge_versions`` and ``judge_models``; for a table that is not of verdicts the ``agreement`` of its judge
        with kept labels, where it is known.
    """
    if not _is_judged(table):
        agreement = facts_of(table).get("agreement")
        return {"agreement": agreement} if agreement else {}
    counted = count_rows(table, [OUTCOME, VERSION, *_analyser_of(table)])
    return _facts(table, {judge for judge, _ in _judges(counted, 0)})


def _facts(table: Any, judges: set[_Judge]) -> dict[str, Any]:
    return {
        "judge": question_of(table),
        "judge_versions": sorted({version for version, _ in judges}),
        "judge_models": sorted({model for _, model in judges} - {""}),
    }


def mixed_judges(facts: dict[str, Any]) -> str:
    """Return in words that a comparison has verdicts of several versions or models of a judge; empty where it has not."""
    named = [
        f"{len(facts[name])} {what}"
        for name, what in (("judge_versions", "versions"), ("judge_models", "models"))
        if len(facts.get(name, ())) > 1
    ]
    if not named:
        return ""
    return (
        f"The verdicts are those of {' and '.join(named)} of the judge, which count as different judges: groups that were judged "
        "by different ones may differ by that alone."
    )


def version_marks(result: pd.DataFrame, table: Any, found: PeriodCounts) -> dict[str, Any]:
    """Return the versions of a judge in each period of a trend: a column of the result, and facts for its attributes.

    Verdicts of two versions are those of two judges, and so are those of a version that another model answers for: a trend of
    both is marked where they change.

    Parameters
    ----------
    result
        The trend, with ``period_start``; it gets ``judge_versions``, such as ``"1"`` or ``"1+2"``, with the model where a
        version has answers of several: ``"1 (gpt-4o)"``.
    table
        The verdicts, read by `as_outcome`. Any other table is left alone.
    found
        The periods.

    Returns
    -------
    dict
        Those of `judge_facts`, and ``judge_changes``: ``at``, ``before`` and ``after`` of each change; empty for a table that
        is not of verdicts.
    """
    if not _is_judged(table):
        return {}
    times, starts = times_of(table), found.starts
    columns = [OUTCOME, VERSION, *_analyser_of(table)]
    frame = count_rows(table, columns, times=times, span=grain(found.zone, found.freq))
    at = frame[TICK].to_numpy(np.int64, na_value=NO_TIME)
    period = np.searchsorted(starts.as_unit("us").asi8, at, side="right") - 1
    judged = _judges(frame, period)
    judges = {judge for judge, _ in judged}
    of_period: list[set[_Judge]] = [set() for _ in starts]
    for judge, place in judged:
        if place >= 0:
            of_period[place].add(judge)
    names = _names(judges)
    said = ["+".join(names[one] for one in sorted(some)) for some in of_period]
    result["judge_versions"] = pd.Series(np.repeat(said, len(result) // max(len(starts), 1)), dtype="str")
    changes, last = [], ""
    for start, here in zip(starts, said, strict=True):
        if here and last and here != last:
            changes.append({"at": start.isoformat(), "before": last, "after": here})
        last = here or last
    return _facts(table, judges) | {"judge_changes": changes}


def _analyser_of(table: Any) -> list[str]:
    return [_ANALYSER] if _ANALYSER in names_of(table) else []


def _judges(frame: pd.DataFrame, place: Any) -> list[tuple[_Judge, int]]:
    """Return the version and model of the verdicts in each place."""
    analyser = frame[_ANALYSER].to_numpy(object) if _ANALYSER in frame else ""
    rows = pd.DataFrame(
        {"version": frame[VERSION].to_numpy(object), "analyser": analyser, "place": place}, range(len(frame))
    )
    known = (frame[OUTCOME].notna() & frame[VERSION].notna()).to_numpy(dtype=bool)
    found = rows[known].drop_duplicates().to_numpy(object).tolist()
    return [
        ((int(version), "" if is_missing(said) else str(said).partition(":")[2]), int(at))
        for version, said, at in found
    ]


def _names(judges: set[_Judge]) -> dict[_Judge, str]:
    """Return what each version is called, with its model where there are several."""
    models = Counter(version for version, _ in judges)
    return {
        (version, model): str(version) if models[version] == 1 else f"{version} ({model or 'unknown model'})"
        for version, model in judges
    }
