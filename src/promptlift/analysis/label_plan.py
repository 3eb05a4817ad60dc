"""Which conversations to label: a random draw, with the chance of each."""

from __future__ import annotations

import hashlib
import math
import operator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.labels import KEY, all_columns
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.reading import By, group_rows, is_missing, one_group_column, require, with_provenance
from promptlift.analysis.verdicts import OUTCOME, as_outcome, question_of
from promptlift.stats.label_planning import completed_by_verdict, neyman_allocation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["draw_id", "label_plan"]

# Fewest of a verdict in a group, as far as n allows: a verdict that is never drawn could not be corrected.
_LEAST: Final = 2


def label_plan(
    conversations: Any,
    *,
    by: By = None,
    n: int = 100,
    tpr: float | None = None,
    tnr: float | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Draw conversations to label at random, so that their labels correct the judge's rates.

    The draw is stratified by group and by the judge's verdict: every group gets as many labels as it needs for its own
    rate, and both verdicts are in it. Label them in the order of the plan, without seeing the verdict; a plan that is
    labelled in part is a random draw too.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``status`` and ``task_completed``, or verdicts of a judge of your own
        (``lift.verdicts``), whose question is then the plan's. Only ended conversations that the judge has
        judged are drawn.
    by
        Column of the groups whose rates are to be corrected, such as ``"prompt"``, or a list of columns.
    n
        Conversations to label, of all groups together.
    tpr, tnr
        Shares of the completed and of the other conversations that the judge gets right, as far as they are known
        (``judge_agreement``). With them the verdict that is less sure gets more labels (Neyman); without them both get
        their share, which is never worse than a draw without strata.
    seed
        Another number is another draw. The same number draws the same conversations of the same table.

    Returns
    -------
    DataFrame
        One row a conversation, in random order: ``conversation_id``, ``question``, ``chance`` and ``draw_id``, which belong
        into the table of labels; and ``content``, where the table has it. The verdict is not in it.
        ``attrs["promptlift"]`` has ``strata``: group, verdict, conversations and labels of each; ``stratum_of``, which says
        the verdict on each and is not for labellers; and ``n_left_out``, conversations without a verdict.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When an argument cannot be used, or a conversation is in the table twice.

    References
    ----------
    J. Neyman (1934), On the two different aspects of the representative method. Journal of the Royal Statistical Society
    97, 558-625.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "conversation_id": [f"c{number}" for number in range(400)],
    ...         "status": "completed",
    ...         "task_completed": [True] * 300 + [False] * 100,
    ...     }
    ... )
    >>> plan = label_plan(table, n=80)
    >>> plan.attrs["promptlift"]["strata"]
    [{'group': None, 'verdict': False, 'n': 100, 'n_labels': 20}, {'group': None, 'verdict': True, 'n': 300, 'n_labels': 60}]
    """
    n = _whole(n)
    if (tpr is None) != (tnr is None):
        raise ValueError("Pass tpr and tnr together: one alone does not say how good a judge is.")
    conversations = as_outcome(conversations)
    conversations, by = one_group_column(conversations, by)
    require(conversations, [KEY, "status", OUTCOME], by=by, taken=("question", "chance"))
    table = all_columns(conversations)
    codes = outcome_codes(table)
    judged = (codes >= 2) & table[KEY].notna().to_numpy()
    frame, verdict = table[judged], (codes == 3)[judged]
    if frame[KEY].duplicated().any():
        raise ValueError("A conversation is in the table more than once. Pass one row for each.")
    groups = group_rows(frame, by)
    stratum = groups.codes * 2 + verdict
    sizes = np.bincount(stratum, minlength=2 * groups.count)
    drawn = neyman_allocation(sizes, _needs(sizes, tpr, tnr), n=n, least=_LEAST)
    rng = np.random.default_rng(seed)
    chosen = np.concatenate(
        [rng.permutation(np.flatnonzero(stratum == place))[:count] for place, count in enumerate(drawn)]
    )
    # A part of the plan is a random draw only when its order is random too.
    chosen = rng.permutation(chosen)
    chance = np.divide(drawn, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    ids = frame[KEY].astype("str").iloc[chosen].reset_index(drop=True)
    plan = pd.DataFrame({KEY: ids, "question": question_of(table), "chance": chance[stratum[chosen]]})
    plan["draw_id"] = draw_id(ids)
    if "content" in frame:
        plan["content"] = frame["content"].iloc[chosen].to_numpy()
    names = [None] if groups.names is None else [None if is_missing(name) else name for name in groups.names]
    strata = [
        {"group": names[place // 2], "verdict": bool(place % 2), "n": int(size), "n_labels": int(count)}
        for place, (size, count) in enumerate(zip(sizes, drawn, strict=True))
    ]
    stratum_of = dict(zip(ids, stratum[chosen].tolist(), strict=True))
    facts = {"strata": strata, "stratum_of": stratum_of, "seed": seed, "n_left_out": int((~judged).sum())}
    return with_provenance(plan, conversations, "label_plan", by=by, **facts)


def draw_id(ids: Iterable[str]) -> str:
    """Return the name of a draw: the same conversations in the same order have the same."""
    return f"draw_{hashlib.sha256(chr(10).join(ids).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _needs(sizes: NDArray[np.int64], tpr: float | None, tnr: float | None) -> NDArray[np.float64]:
    """Return how unsure each stratum leaves the rate of its own group, for a label each.

    A stratum counts by its share in its group: a small group needs as many labels as a large one.
    """
    per_group = sizes.reshape(-1, 2)
    totals = np.maximum(per_group.sum(axis=1), 1)
    spreads = np.ones(per_group.shape)
    if tpr is not None and tnr is not None:
        for place, (failed, completed) in enumerate(per_group):
            if failed + completed:
                yes, no = completed_by_verdict(completed / (failed + completed), tpr=tpr, tnr=tnr)
                # A verdict that is thought to be always right is looked at too.
                spreads[place] = [max(math.sqrt(share * (1.0 - share)), 0.1) for share in (no, yes)]
    return np.asarray((spreads / totals[:, None]).ravel(), np.float64)


def _whole(n: Any) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"n must be a whole number of labels, at least 1, not {n!r}.")
    return count
