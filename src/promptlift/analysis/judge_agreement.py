"""How well the judge agrees with people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.corrected import with_agreement
from promptlift.analysis.labels import all_columns
from promptlift.analysis.reading import collect, distinct, names_of, rows_with, with_provenance
from promptlift.analysis.verdicts import OUTCOME, VERSION, as_outcome, labels_for, labels_of, question_of
from promptlift.errors import FrameError
from promptlift.schema.insights import SENTIMENTS
from promptlift.stats.agreement import kappa_interval
from promptlift.stats.intervals import check_level, rate_and_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

KEY: Final = "conversation_id"
# Answers to each question; for yes and no, the answer whose rates are given comes first.
_ANSWERS: Final[dict[str, tuple[Any, ...]]] = {"task_completed": (True, False), "sentiment": SENTIMENTS[::-1]}
_RATES: Final = ("agreement", "tpr", "tnr")
_COUNTS: Final = ("true_positive", "false_negative", "false_positive", "true_negative")
_COLUMNS: Final = (
    "question", "value", "n", "agreed", "agreement", "agreement_low", "agreement_high", "kappa", "kappa_low",
    "kappa_high", "tpr", "tpr_low", "tpr_high", "tnr", "tnr_low", "tnr_high", *_COUNTS, "n_unjudged",
)  # fmt: skip


def judge_agreement(labels: Any, insights: Any, *, level: float = 0.95) -> pd.DataFrame:
    """Compare the judge's verdicts with the labels of a person.

    Conversations are matched by their id. Each question (task completed, sentiment) counts the conversations that both
    have answered; labelled ones without an answer of the judge are in ``n_unjudged``.

    The true positive rate (``tpr``) is the share of conversations that the person calls completed and the judge too;
    the true negative rate (``tnr``) the same for those the person calls not completed. A low one shows which mistake the
    judge makes. Cohen's kappa is the agreement beyond what the two would reach by chance: 0 is chance, 1 is always.

    The rates hold for all conversations only when the labelled ones are a random sample of them, and labelled without
    seeing the verdict: ``widgets.ConversationBrowser(df.sample(200, random_state=1), blind=True)``. Labels of nothing
    but what the judge called failed make its ``tpr`` look worse than it is and its ``tnr`` better.

    Parameters
    ----------
    labels
        Table with conversation_id and task_completed or sentiment or both, one row per conversation: ``browser.labels``;
        or with one row per answer: conversation_id, question, value. A column ``chance`` says how they were drawn.
    insights
        Table with the same columns, as ``lift.conversations(insights=True)`` gives it; or verdicts of a
        judge of your own (``lift.judges.verdicts``), of which each version has a row of its own.
    level
        Coverage of the intervals.

    Returns
    -------
    DataFrame
        One row for task completion, one for sentiment (``value`` "any"), and one for each sentiment against the two
        others. ``question``, ``value``, ``n``, ``agreed``; ``agreement``, ``tpr`` and ``tnr`` as fractions with Wilson's
        interval (NaN where nothing can be counted); ``kappa`` with its interval, NaN where both always gave one and the
        same answer; the counts ``true_positive``, ``false_negative``, ``false_positive``, ``true_negative`` (missing for
        all sentiments together); ``n_unjudged``. Of task completion also the judge's rate on all conversations
        (``rate_judged``), the one that labels of known ``chance`` correct (``rate_corrected`` with its ends, by PPI++, and
        ``rate_rogan_gladen``), ``n_effective``, and ``not_corrected``, why there is none. Of a judge of your own ``judge`` and ``judge_version``
        come first, and ``question`` is its name.

    Raises
    ------
    FrameError
        When a column is missing, or the tables share no question.
    ValueError
        When a conversation is in a table twice, an answer cannot be read, or ``level`` cannot be used.

    Notes
    -----
    The interval of kappa uses the large-sample standard error of Fleiss, Cohen and Everitt (1969) after one half is
    added to every count, and is widened to hold the estimate. Without the halves it shrinks to a point when everything
    agrees; in a simulation of fifteen cases with 20 to 300 labels it covered as little as 18% where 95% were meant,
    and at least 86% (95% on average) with them.

    References
    ----------
    J. Cohen (1960), A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20, 37-46.

    J. L. Fleiss, J. Cohen, B. S. Everitt (1969), Large sample standard errors of kappa and weighted kappa. Psychological
    Bulletin 72, 323-327.

    J. B. S. Haldane (1956), The estimation and significance of the logarithm of a ratio of frequencies. Annals of Human
    Genetics 20, 309-311 (the halves).

    Examples
    --------
    >>> labels = pd.DataFrame({"conversation_id": list("abcd"), "task_completed": [True, True, False, False]})
    >>> judged = pd.DataFrame({"conversation_id": list("abcd"), "task_completed": [True, True, True, False]})
    >>> row = judge_agreement(labels, judged).iloc[0]
    >>> print(row["agreement"], row["kappa"], row["tpr"], row["tnr"])
    0.75 0.5 1.0 0.5
    """
    level = check_level(level)
    judged = as_outcome(insights)
    if judged is not insights:
        return _of_versions(labels, judged, level)
    return _agreement(_wide(labels), insights, labels, level)


def _of_versions(labels: Any, verdicts: Any, level: float) -> pd.DataFrame:
    """Compare each version of a judge of your own with the labels of its question."""
    if not distinct(verdicts, VERSION):
        raise ValueError(
            "The judge has no verdicts yet; lift.judges.plan(name).run() puts it to conversations."
        )
    question = question_of(verdicts)
    labels = labels_for(labels, question)
    ids, values = labels_of(labels, question)
    said = pd.DataFrame({KEY: ids, OUTCOME: values})
    parts = []
    for version, rows in all_columns(verdicts).groupby(VERSION, sort=True):
        part = _agreement(said, rows, labels, level).assign(question=question, value="yes")
        part.insert(0, "judge", rows["judge"].iloc[0])
        part.insert(1, VERSION, version)
        parts.append(part)
    result = pd.concat(parts, ignore_index=True).astype(
        {"judge": "str", VERSION: "Int64", "question": "str", "value": "str"}
    )
    result.attrs = parts[-1].attrs
    return result


def _agreement(labels: Any, insights: Any, given: Any, level: float) -> pd.DataFrame:
    """Compare wide labels with insights; ``given`` are the labels as they came, which correct the rates."""
    questions = _shared_questions(labels, insights)
    said = _answers(labels, questions, "labels")
    judged = _answers(rows_with(insights, KEY, list(said.index)), questions, "insights")
    rows = [
        row for question in questions for row in _compare(question, said[question], judged[question], level)
    ]
    result = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(
        {"question": "str", "value": "str", **dict.fromkeys(_COUNTS, "Int64")}
    )
    result = with_provenance(result, insights, "judge_agreement", level=level)
    return with_agreement(result, insights, given, level=level)


def _wide(labels: Any) -> Any:
    """Return labels with a column for each question; of several labellers the first that answered counts."""
    present = names_of(labels)
    if not {KEY, "question", "value"} <= set(present):
        return labels
    long = collect(labels, [KEY, "question", "value"]).dropna()
    long = long.assign(question=long["question"].replace({"completed": "task_completed"}))
    long = long.drop_duplicates([KEY, "question"])
    return long.pivot(index=KEY, columns="question", values="value").reset_index().rename_axis(columns=None)  # noqa: PD010


def _compare(
    question: str, said: pd.Series[Any], judged: pd.Series[Any], level: float
) -> list[dict[str, Any]]:
    """Compare the answers of the person and of the judge to one question."""
    answers = _ANSWERS[question]
    person = _codes(said, answers, "labels")
    person = person[person >= 0]
    judge = _codes(judged, answers, "insights").reindex(person.index, fill_value=-1)
    both = judge >= 0
    counts = np.zeros((len(answers), len(answers)), np.int64)
    np.add.at(counts, (person[both].to_numpy(), judge[both].to_numpy()), 1)
    return _rows(question, answers, counts, int((~both).sum()), level)


def _shared_questions(labels: Any, insights: Any) -> list[str]:
    known = [(names_of(labels), "The labels are browser.labels."), (names_of(insights), "Read the insights with lift.conversations(insights=True).")]  # fmt: skip
    for present, hint in known:
        missing = [] if KEY in present else [KEY]
        if not any(question in present for question in _ANSWERS):
            missing += list(_ANSWERS)
        if missing:
            raise FrameError(
                missing, present, hint=f"The table needs {KEY}, and task_completed or sentiment. {hint}"
            )
    (said, _), (judged, _) = known
    shared = [question for question in _ANSWERS if question in said and question in judged]
    if not shared:
        wanted = [question for question in _ANSWERS if question in said]
        raise FrameError(wanted, judged, hint="The insights need a column that the labels have.")
    return shared


def _answers(table: Any, questions: Sequence[str], name: str) -> pd.DataFrame:
    frame = collect(table, [KEY, *questions])
    frame = frame[frame[KEY].notna()].astype({KEY: "str"})
    twice = frame.loc[frame[KEY].duplicated(), KEY]
    if len(twice):
        raise ValueError(
            f"The {name} hold {len(twice):,} conversations more than once, such as {twice.iloc[0]!r:.80}. Pass one row for each "
            "conversation: compare one person with one judge at a time."
        )
    return frame.set_index(KEY)


def _codes(column: pd.Series[Any], answers: Sequence[Any], name: str) -> pd.Series[Any]:
    """Return the place of each answer in ``answers``, -1 where there is none."""
    given = column.astype("object")
    if answers == _ANSWERS[OUTCOME]:
        given = given.map(_yes_or_no)
    known = given.notna()
    codes = pd.Series(-1, index=column.index, dtype=np.int64)
    for place, answer in enumerate(answers):
        codes[known & (given == answer)] = place
    strange = known & (codes < 0)
    if strange.any():
        raise ValueError(
            f"Column {column.name} of the {name} holds {given[strange].iloc[0]!r:.60}; "
            f"answers are {', '.join(map(str, answers))}."
        )
    return codes


def _yes_or_no(answer: Any) -> Any:
    """Read the words that tables of labels keep; anything else stays as it is."""
    return (
        {"yes": True, "no": False}.get(answer.strip().lower(), answer) if isinstance(answer, str) else answer
    )


def _rows(
    question: str, answers: Sequence[Any], counts: NDArray[np.int64], unjudged: int, level: float
) -> list[dict[str, Any]]:
    if question == "task_completed":
        return [_row(question, "completed", counts, unjudged, level)]
    rows = [_row(question, "any", counts, unjudged, level)]
    for place, answer in enumerate(answers):
        own = counts[place, place]
        against = np.array([[own, counts[place].sum() - own], [counts[:, place].sum() - own, 0]], np.int64)
        against[1, 1] = counts.sum() - against.sum()
        rows.append(_row(question, str(answer), against, unjudged, level))
    return rows


def _row(question: str, value: str, counts: NDArray[np.int64], unjudged: int, level: float) -> dict[str, Any]:
    n, agreed = int(counts.sum()), int(np.trace(counts))
    row: dict[str, Any] = {
        "question": question,
        "value": value,
        "n": n,
        "agreed": agreed,
        "n_unjudged": unjudged,
    }
    shares = {"agreement": (agreed, n)}
    if value != "any":
        row |= dict(zip(_COUNTS, (int(one) for one in counts.ravel()), strict=True))
        shares |= {"tpr": (counts[0, 0], counts[0].sum()), "tnr": (counts[1, 1], counts[1].sum())}
    for name in _RATES:
        part, whole = shares.get(name, (0, 0))
        values = rate_and_interval(part, whole, level=level)
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), map(float, values), strict=True))
    row["kappa"], row["kappa_low"], row["kappa_high"] = kappa_interval(counts, level)
    return row
