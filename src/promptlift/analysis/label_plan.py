"""Which conversations to label: a random draw, with the chance of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.corrected_lift import simulated_label_plan
from promptlift.analysis.engines import ROWS, count_by, fetch, is_remote, known_number, named, open_table
from promptlift.analysis.labels import KEY, draw_id
from promptlift.analysis.reading import (
    By,
    at_least,
    collect,
    count_by_key,
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

# Fewest of a verdict in a group, as far as n allows: a verdict that is never drawn could not be corrected.
_LEAST: Final = 2
_PLACE: Final = "_place"


def label_plan(
    conversations: Any,
    *,
    by: By = None,
    n: int = 100,
    tpr: float | None = None,
    tnr: float | None = None,
    seed: int = 0,
    variant_id: str | None = None,
) -> pd.DataFrame:
    """Draw conversations to label at random, so that their labels correct the judge's rates.

    The draw is stratified by group and by the judge's verdict: every group gets as many labels as it needs for its own
    rate, and both verdicts are in it. Label them in the order of the plan, without seeing the verdict; a plan that is
    labelled in part is a random draw too.

    Of simulated conversations, pairs of the original and a variant on the same cell are drawn, for `corrected_lift`: both
    of a pair follow each other, in random order. ``widgets.ConversationBrowser`` shows neither the variant nor the verdict.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``status`` and ``task_completed``, or verdicts of a judge of your own
        (``lift.judges.verdicts``), whose question is then the plan's. Only ended conversations that the judge has
        judged are drawn. Or ``lift.optimizations[optimization_id].simulations(content=True)``.
    by
        Column of the groups whose rates are to be corrected, such as ``"prompt"``, or a list of columns.
    n
        Conversations to label, of all groups together.
    tpr, tnr
        Shares of the completed and of the other conversations that the judge gets right, if known
        (``judge_agreement``). Then the less certain verdict gets more labels (Neyman); otherwise both get labels in
        proportion, which is never worse than a draw without strata.
    seed
        Another number is another draw. The same number draws the same conversations of the same table, in whatever order
        its rows are and whichever engine has them.
    variant_id
        Of simulated conversations, the variant; by default the one that was tested on new conversations.

    Returns
    -------
    DataFrame
        One row per conversation, in random order: ``conversation_id``, ``question``, ``chance`` and ``draw_id``, which belong
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
    n = at_least(n, 1, "n")
    if "simulation_id" in names_of(conversations):
        return simulated_label_plan(conversations, variant_id=variant_id, n=n, seed=seed)
    if (tpr is None) != (tnr is None):
        raise ValueError("Pass tpr and tnr together: one alone does not say how good a judge is.")
    conversations = as_outcome(conversations)
    conversations, by = one_group_column(conversations, by)
    columns = require(conversations, [KEY, "status", OUTCOME], by=by, taken=("question", "chance"))
    keys = [name for name in columns if name not in (KEY, "status")]
    table = open_table(conversations if is_remote(conversations) else collect(conversations, columns))
    drawable = _drawable(table, by)
    n_rows = int(count_by(table, [])[ROWS].iloc[0])
    ids = count_by(drawable, [], n=nw.col(KEY).n_unique()).iloc[0].fillna(0)
    if ids["n"] != ids[ROWS]:
        raise ValueError("A conversation is in the table more than once. Pass one row for each.")
    strata = count_by(drawable, keys)
    groups = group_rows(strata, by)
    strata["stratum"] = groups.codes * 2 + strata[OUTCOME].astype(bool)
    sizes = count_by_key(strata["stratum"].to_numpy(np.intp), 2 * groups.count, strata[ROWS])
    drawn = neyman_allocation(sizes, _needs(sizes, tpr, tnr), n=n, least=_LEAST)
    places = _draw_places(sizes, drawn, seed)
    drawn_ids = _ids(drawable, keys, strata, places)
    chance = np.divide(drawn, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    plan = pd.DataFrame(
        {KEY: drawn_ids, "question": question_of(conversations), "chance": chance[places["stratum"]]}
    )
    plan["draw_id"] = draw_id(drawn_ids)
    if "content" in names_of(conversations):
        plan["content"] = _contents(conversations, drawn_ids)
    facts = {
        "strata": _describe_strata(groups.names, sizes, drawn),
        "stratum_of": dict(zip(drawn_ids, places["stratum"].tolist(), strict=True)),
        "seed": seed,
        "n_left_out": n_rows - int(sizes.sum()),
    }
    return with_provenance(plan, conversations, "label_plan", by=by, **facts)


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


def _drawable(frame: nw.LazyFrame[Any], by: str | None) -> nw.LazyFrame[Any]:
    """Select the ended conversations with a verdict: ids as texts, verdicts as truths, and one kind of missing group."""
    made = [nw.col(KEY).cast(nw.String()), nw.col(OUTCOME).cast(nw.Boolean())]
    if by is not None and frame.collect_schema()[named(by)].is_float():
        made.append(known_number(named(by)).alias(named(by)))
    ended = nw.col("status").is_null() | (nw.col("status").cast(nw.String()) != "in_progress")
    frame = frame.filter(~nw.col(KEY).is_null(), ~nw.col(OUTCOME).is_null(), ended)
    return frame.with_columns(*made)


def _ids(
    drawable: nw.LazyFrame[Any], keys: Sequence[str], strata: pd.DataFrame, places: pd.DataFrame
) -> pd.Series[Any]:
    """Return the id at each place of its stratum, in the order of the ids."""
    own = [named(name) for name in keys]
    place = nw.col(KEY).rank("ordinal").over(*own).cast(nw.Int64()) - 1
    wanted = sorted(set(places[_PLACE].tolist()))
    found = fetch(
        drawable.select(KEY, *own).with_columns(place.alias(_PLACE)).filter(nw.col(_PLACE).is_in(wanted))
    )
    found = found.merge(strata[[*keys, "stratum"]], on=list(keys))
    return places.merge(found, on=["stratum", _PLACE], how="left")[KEY].astype("str")


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
