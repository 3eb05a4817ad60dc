"""Which conversations to label: a random draw, with the chance of each."""

from __future__ import annotations

import hashlib
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, count_by, fetch, is_remote, known_number, named, open_table
from promptlift.analysis.labels import KEY
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.reading import (
    By,
    collect,
    group_rows,
    names_of,
    one_group_column,
    require,
    rows_with,
    with_provenance,
)
from promptlift.analysis.verdicts import OUTCOME, as_outcome, question_of
from promptlift.stats.label_planning import completed_by_verdict, neyman_allocation
from promptlift.words.figures import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["draw_id", "label_plan", "whole"]

# Fewest of a verdict in a group, as far as n allows: a verdict that is never drawn could not be corrected.
_LEAST: Final = 2
_PLACE: Final = "_place"
_BEGINS: Final = "_begins"
# Letters by which beginnings of ids grow, and ids that are fetched to be sorted here.
_MORE_LETTERS: Final = 2
_FEW_IDS: Final = 200_000
_TWICE: Final = "A conversation is in the table more than once. Pass one row for each."


@dataclass(frozen=True)
class _Judged:
    """Rows with the verdict of the judge, or of an engine one row for all that are alike, which ``weight`` counts."""

    frame: pd.DataFrame
    verdict: NDArray[np.bool_]
    weight: NDArray[np.int64]
    n_left_out: int


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
        (``lift.judges.verdicts``), whose question is then the plan's. Only ended conversations that the judge has
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
        Another number is another draw. The same number draws the same conversations of the same table, in whatever order
        its rows are and whichever engine has them.

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
    n = whole(n)
    if (tpr is None) != (tnr is None):
        raise ValueError("Pass tpr and tnr together: one alone does not say how good a judge is.")
    conversations = as_outcome(conversations)
    conversations, by = one_group_column(conversations, by)
    columns = require(conversations, [KEY, "status", OUTCOME], by=by, taken=("question", "chance"))
    remote = is_remote(conversations)
    judged = (_judged_there if remote else _judged_here)(conversations, columns, by)
    groups = group_rows(judged.frame, by)
    stratum = groups.codes * 2 + judged.verdict
    sizes = np.bincount(stratum, judged.weight, 2 * groups.count).astype(np.int64)
    drawn = neyman_allocation(sizes, _needs(sizes, tpr, tnr), n=n, least=_LEAST)
    places = _draw_places(sizes, drawn, seed)
    ids = (
        _ids_there(conversations, by, judged, stratum, places)
        if remote
        else _ids_here(judged, stratum, sizes, places)
    )
    chance = np.divide(drawn, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    plan = pd.DataFrame(
        {KEY: ids, "question": question_of(conversations), "chance": chance[places["stratum"]]}
    )
    plan["draw_id"] = draw_id(ids)
    if "content" in names_of(conversations):
        plan["content"] = _contents(conversations, ids)
    facts = {
        "strata": _describe_strata(groups.names, sizes, drawn),
        "stratum_of": dict(zip(ids, places["stratum"].tolist(), strict=True)),
        "seed": seed,
        "n_left_out": judged.n_left_out,
    }
    return with_provenance(plan, conversations, "label_plan", by=by, **facts)


def draw_id(ids: Iterable[str]) -> str:
    """Return the name of a draw: the same conversations in the same order have the same."""
    return f"draw_{hashlib.sha256(chr(10).join(ids).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _draw_places(sizes: NDArray[np.int64], drawn: NDArray[np.int64], seed: int) -> pd.DataFrame:
    """Draw places in strata of given sizes, and return them in random order.

    Places are those in the order of the ids, because engines keep no order of rows: a seed draws the same from all of them.
    """
    rng = np.random.default_rng(seed)
    places = pd.DataFrame(
        {
            "stratum": np.repeat(np.arange(len(sizes)), drawn),
            _PLACE: np.concatenate(
                [
                    rng.choice(int(size), int(count), replace=False)
                    for size, count in zip(sizes, drawn, strict=True)
                ]
            ),
        }
    )
    # A part of the plan is a random draw only when its order is random too.
    return places.iloc[rng.permutation(len(places))].reset_index(drop=True)


def _describe_strata(
    groups: Iterable[Any] | None, sizes: NDArray[np.int64], drawn: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return group, verdict, conversations and labels of each stratum."""
    names = [None] if groups is None else [None if is_missing(name) else name for name in groups]
    return [
        {"group": names[place // 2], "verdict": bool(place % 2), "n": int(size), "n_labels": int(count)}
        for place, (size, count) in enumerate(zip(sizes, drawn, strict=True))
    ]


def _contents(conversations: Any, ids: pd.Series[Any]) -> NDArray[np.object_]:
    """Return the transcripts of what was drawn, so that a draw can be labelled by itself."""
    table = collect(rows_with(conversations, KEY, list(ids)), [KEY, "content"])
    contents = table.set_index(table[KEY].astype("str"))["content"]
    return np.asarray(contents.reindex(ids).to_numpy(dtype=object))


def _judged_here(conversations: Any, columns: Sequence[str], by: str | None) -> _Judged:
    """Read the conversations that can be drawn."""
    del by
    table = collect(conversations, columns)
    codes = outcome_codes(table)
    judged = (codes >= 2) & table[KEY].notna().to_numpy()
    frame = table[judged]
    if frame[KEY].duplicated().any():
        raise ValueError(_TWICE)
    return _Judged(frame, (codes == 3)[judged], np.ones(len(frame), np.int64), int((~judged).sum()))


def _ids_here(
    judged: _Judged, stratum: NDArray[np.intp], sizes: NDArray[np.int64], places: pd.DataFrame
) -> pd.Series[Any]:
    """Return the id at each place of its stratum."""
    ids = judged.frame[KEY].astype("str").reset_index(drop=True)
    by_id = ids.argsort().to_numpy()
    ordered = by_id[np.argsort(stratum[by_id], kind="stable")]
    first = np.cumsum(sizes) - sizes
    drawn: pd.Series[Any] = ids.iloc[ordered[first[places["stratum"]] + places[_PLACE]]]
    return drawn.reset_index(drop=True)


def _judged_there(conversations: Any, columns: Sequence[str], by: str | None) -> _Judged:
    """Count the conversations that can be drawn, in the engine that has them."""
    frame = _opened(conversations, by)
    counted = count_by(frame, [name for name in columns if name != KEY], **{KEY: nw.col(KEY).count()})
    codes, weight = outcome_codes(counted), counted[KEY].to_numpy(np.int64)
    judged = codes >= 2
    known = _drawable(frame)
    size = fetch(known.select(n=nw.len(), n_ids=nw.col(KEY).n_unique())).iloc[0].fillna(0)
    if size["n"] != size["n_ids"]:
        raise ValueError(_TWICE)
    left_out = int(counted[ROWS].sum()) - int(weight[judged].sum())
    return _Judged(counted[judged], (codes == 3)[judged], weight[judged], left_out)


def _ids_there(
    conversations: Any, by: str | None, judged: _Judged, stratum: NDArray[np.intp], places: pd.DataFrame
) -> pd.Series[Any]:
    """Return the id at each place of its stratum, found by the engine that has the conversations.

    No engine sorts all ids: it counts them by how they begin, longer and longer, until those that may be meant are few.
    """
    if places.empty:
        return places[_PLACE].astype("str")
    keys = [OUTCOME, *([by] if by is not None else [])]
    # The engine names strata by their values.
    strata = judged.frame[keys].assign(stratum=stratum).drop_duplicates()
    frame = _drawable(_opened(conversations, by)).select(KEY, *map(named, keys))
    ends = fetch(frame.select(first=nw.col(KEY).min(), last=nw.col(KEY).max())).iloc[0]
    first, last = str(ends["first"]), str(ends["last"])
    # All begin as the first and the last of them do.
    length = next(
        (at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first)
    )
    wanted = places.assign(**{_BEGINS: first[:length]})
    while True:
        length += _MORE_LETTERS
        begins = nw.col(KEY).str.slice(0, length).alias(_BEGINS)
        counted = count_by(frame.with_columns(begins), [*keys, _BEGINS]).merge(strata, on=keys)
        wanted = _narrowed(wanted, counted, length - _MORE_LETTERS)
        near = counted[counted[_BEGINS].isin(wanted[_BEGINS])]
        frame = frame.filter(nw.col(KEY).str.slice(0, length).is_in(sorted(set(wanted[_BEGINS]))))
        if near[ROWS].sum() <= _FEW_IDS or (near[_BEGINS].str.len() < length).all():
            break
    found = fetch(frame).merge(strata, on=keys)
    found[_BEGINS] = found[KEY].str.slice(0, length)
    found = found.sort_values(KEY)
    found[_PLACE] = found.groupby(["stratum", _BEGINS]).cumcount()
    return wanted.merge(found, on=["stratum", _BEGINS, _PLACE], how="left")[KEY].astype("str")


def _narrowed(wanted: pd.DataFrame, counted: pd.DataFrame, known: int) -> pd.DataFrame:
    """Return with which more letters each id begins, and its place among those of its stratum that begin so."""
    counted = counted.sort_values(["stratum", _BEGINS], ignore_index=True)
    # Of each beginning that was known before, how many ids come before a longer one.
    before = counted[_BEGINS].str.slice(0, known)
    counted[_PLACE] = counted.groupby(["stratum", before])[ROWS].cumsum() - counted[ROWS]
    of = dict(iter(counted.groupby(["stratum", before])))
    rows = []
    for one in wanted.itertuples(index=False, name=None):
        values = dict(zip(wanted.columns, one, strict=True))
        part = of[values["stratum"], values[_BEGINS]]
        at = part[_PLACE].searchsorted(values[_PLACE], side="right") - 1
        first, begins = int(part[_PLACE].iloc[at]), part[_BEGINS].iloc[at]
        rows.append((values["stratum"], values[_PLACE] - first, begins))
    return pd.DataFrame(rows, columns=["stratum", _PLACE, _BEGINS])


def _opened(conversations: Any, by: str | None) -> nw.LazyFrame[Any]:
    """Open a table of an engine: ids as texts, verdicts as truths, and one kind of missing value."""
    frame = open_table(conversations)
    made = [nw.col(KEY).cast(nw.String()), nw.col(OUTCOME).cast(nw.Boolean())]
    if by is not None and frame.collect_schema()[named(by)].is_float():
        made.append(known_number(named(by)).alias(named(by)))
    return frame.with_columns(*made)


def _drawable(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    ended = nw.col("status").is_null() | (nw.col("status") != "in_progress")
    return frame.filter(~nw.col(KEY).is_null(), ~nw.col(OUTCOME).is_null(), ended)


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


def whole(n: Any) -> int:
    """Return a number of labels that was checked."""
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if count < 1:
        raise ValueError(f"n must be a whole number of labels, at least 1, not {n!r}.")
    return count
