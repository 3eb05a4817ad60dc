"""How far people who labelled the same conversations agree."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.label_tables import long_labels
from promptlift.analysis.labels import KEY, QUESTIONS, WORDS
from promptlift.analysis.reading import with_provenance
from promptlift.errors import FrameError
from promptlift.stats.agreement import kappa_interval, krippendorff_alpha
from promptlift.stats.intervals import check_level, rate_and_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALL: Final = "all"
_COLUMNS: Final = (
    "question", "labeller", "other", "n", "agreed", "agreement", "agreement_low", "agreement_high", "kappa", "kappa_low",
    "kappa_high", "alpha", "alpha_low", "alpha_high", "n_labellers",
)  # fmt: skip


def labeller_agreement(labels: Any, *, level: float = 0.95) -> pd.DataFrame:
    """Compare the labels that several people gave the same conversations.

    Parameters
    ----------
    labels
        ``lift.labels()``, or another table with one row per answer: conversation_id, question, value, labeller.
    level
        Coverage of the intervals.

    Returns
    -------
    DataFrame
        For each question a row for everybody (``labeller`` is "all") and one for each two people who answered the same
        conversations: ``n`` of them, how many of these were ``agreed``, ``agreement`` as a fraction with Wilson's
        interval; Cohen's ``kappa`` of two people, and Krippendorff's ``alpha`` of everybody, each with its interval: 0
        is chance, 1 is always, NaN where all always gave one and the same answer. Notes are no answers.
        ``attrs["promptlift"]["disputed"]`` lists what people disagree about: the ``conversation_id``, the ``question``, and
        ``answers``, what each of them said.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``level`` is not between 0 and 1.

    See Also
    --------
    promptlift.stats.agreement.krippendorff_alpha : The formula and its source.

    Examples
    --------
    >>> said = {"ann": "yyynnnyyny", "ben": "yynnnnyyyy"}
    >>> labels = pd.DataFrame(
    ...     {"conversation_id": str(place), "question": "task_completed", "value": value, "labeller": who}
    ...     for who, values in said.items()
    ...     for place, value in enumerate(values)
    ... )
    >>> two = labeller_agreement(labels).iloc[1]
    >>> print(two["agreed"], two["n"], round(two["kappa"], 3))
    8 10 0.583
    """
    level = check_level(level)
    long = answered(labels)
    rows: list[dict[str, Any]] = []
    for question, answers in long.groupby("question", sort=True):
        wide = answers.pivot_table(index=KEY, columns="labeller", values="value", aggfunc="last")
        kinds = sorted(answers["value"].unique())
        codes = wide.apply(lambda one, kinds=kinds: pd.Categorical(one, categories=kinds).codes)
        table = codes.to_numpy(np.int64).reshape(wide.shape)
        rows.append({"question": question, **_everybody(table, len(kinds), level)})
        names = list(map(str, wide.columns))
        for one, other in itertools.combinations(range(len(names)), 2):
            found = _two(table[:, one], table[:, other], len(kinds), level)
            if found["n"]:
                rows.append({"question": question, "labeller": names[one], "other": names[other], **found})
    integers = dict.fromkeys(("n", "agreed", "n_labellers"), "int64")
    texts = dict.fromkeys(("question", "labeller", "other"), "str")
    rest = {name: "float64" for name in _COLUMNS if name not in integers | texts}
    result = pd.DataFrame(rows, columns=list(_COLUMNS)).astype({**texts, **integers, **rest})
    return with_provenance(result, labels, "labeller_agreement", level=level, disputed=_disputed(long))


def _disputed(long: pd.DataFrame) -> list[dict[str, Any]]:
    several = long.groupby([KEY, "question"])["value"].transform("nunique") > 1
    return [
        {KEY: one, "question": question, "answers": dict(zip(rows["labeller"], rows["value"], strict=True))}
        for (one, question), rows in long[several].groupby([KEY, "question"], sort=False)
    ]


def answered(labels: Any) -> pd.DataFrame:
    """Return the answers of labels, one row each, with yes and no as words; notes are none.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    long = long_labels(labels)
    if "labeller" not in long:
        raise FrameError(
            ["labeller"], list(map(str, long.columns)), hint="Agreement is between people: say who answered."
        )
    question = long["question"].astype("str").replace(QUESTIONS)
    words = long["value"].map(lambda one: str(one).strip())
    yes_or_no = words.str.lower().map(WORDS).map({1.0: "yes", 0.0: "no"})
    value = words.where(yes_or_no.isna(), yes_or_no)
    long = long.assign(question=question, value=value, labeller=long["labeller"].astype("str"))
    return long[(question != "note") & (value != "")]


def _everybody(table: NDArray[np.int64], kinds: int, level: float) -> dict[str, Any]:
    counts = np.stack([(table == kind).sum(axis=1) for kind in range(kinds)], axis=1)
    several = counts[counts.sum(axis=1) >= 2]
    agreed = int((several.max(axis=1, initial=0) == several.sum(axis=1)).sum())
    alpha = krippendorff_alpha(counts, level=level)
    return {
        "labeller": _ALL, "other": "", "n": len(several), "agreed": agreed, **_rate(agreed, len(several), level),
        "alpha": alpha.alpha, "alpha_low": alpha.low, "alpha_high": alpha.high, "n_labellers": table.shape[1],
    }  # fmt: skip


def _two(one: NDArray[np.int64], other: NDArray[np.int64], kinds: int, level: float) -> dict[str, Any]:
    both = (one >= 0) & (other >= 0)
    counts = np.zeros((kinds, kinds), np.int64)
    np.add.at(counts, (one[both], other[both]), 1)
    n, agreed = int(counts.sum()), int(np.trace(counts))
    kappa = kappa_interval(counts, level) if n else (np.nan, np.nan, np.nan)
    named = dict(zip(("kappa", "kappa_low", "kappa_high"), kappa, strict=True))
    return {"n": n, "agreed": agreed, **_rate(agreed, n, level), **named, "n_labellers": 2}


def _rate(part: int, whole: int, level: float) -> dict[str, float]:
    values = rate_and_interval(part, whole, level=level)
    return dict(zip(("agreement", "agreement_low", "agreement_high"), map(float, values), strict=True))
