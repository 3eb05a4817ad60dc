"""The lift of a simulated optimization, corrected by labels on a random draw of its pairs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.corrected import comparison_columns
from promptlift.analysis.labels import KEY, draw_id, label_rows
from promptlift.analysis.reading import collect, names_of, require, with_provenance
from promptlift.stats.intervals import check_level

_QUESTION: Final = "task_completed"
_STAGE: Final = "confirm"
_NEEDED: Final = ("simulation_id", "variant_id", "is_original", "stage", "cell", "status", _QUESTION)
# unspecified: when the judge's errors are said to differ by arm.
_ERRORS_DIFFER: Final = 0.05
_COLUMNS: Final = (
    "variant_id", "n_pairs", "task_completion", "task_completion_original", "lift_points",
    "task_completion_corrected", "task_completion_corrected_low", "task_completion_corrected_high",
    "task_completion_original_corrected", "task_completion_original_corrected_low", "task_completion_original_corrected_high",
    "lift_points_corrected", "lift_points_corrected_low", "lift_points_corrected_high", "n_labels", "n_labels_original",
    "n_effective", "tpr_difference", "tpr_difference_low", "tpr_difference_high", "tnr_difference", "tnr_difference_low",
    "tnr_difference_high", "p_equal_error", "errors_differ", "confirmed", "not_corrected",
)  # fmt: skip


def simulated_label_plan(
    simulations: Any, *, variant_id: str | None = None, n: int, seed: int = 0
) -> pd.DataFrame:
    """Draw pairs of simulated conversations to label at random; see `promptlift.analysis.label_plan`."""
    # Read once: places are those of its rows, which an engine may give in another order the next time.
    frame = _table(simulations)
    pairs = _pairs(frame, variant_id)
    drawn = min(max(n // 2, 1), len(pairs))
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(pairs))[:drawn]
    arms = pairs[["variant", "original"]].to_numpy()[chosen]
    turned = rng.random(drawn) < 0.5
    arms[turned] = arms[turned, ::-1]
    rows = arms.ravel()
    mine = frame.iloc[rows]
    ids = mine["simulation_id"].astype("str").reset_index(drop=True)
    plan = pd.DataFrame(
        {KEY: ids, "question": _QUESTION, "chance": drawn / len(pairs), "draw_id": draw_id(ids)}
    )
    if "content" in frame:
        plan["content"] = mine["content"].to_numpy()
    verdicts = frame[_QUESTION].to_numpy(dtype=bool, na_value=False)
    strata, stratum_of = [], {}
    for number, arm in enumerate(("variant", "original")):
        for verdict in (False, True):
            alike = verdicts[pairs[arm]] == verdict
            labelled = verdicts[pairs[arm].to_numpy()[chosen]] == verdict
            strata.append(
                {"group": number, "verdict": verdict, "n": int(alike.sum()), "n_labels": int(labelled.sum())}
            )
    of_variant = np.isin(rows, pairs["variant"])
    for one, row, variant in zip(ids, rows, of_variant, strict=True):
        stratum_of[one] = (0 if variant else 2) + int(verdicts[row])
    facts = {"strata": strata, "stratum_of": stratum_of, "seed": seed, "n_pairs": len(pairs)}
    return with_provenance(plan, simulations, "simulated_label_plan", **facts)


def corrected_lift(
    simulations: Any, labels: Any, *, variant_id: str | None = None, level: float = 0.9
) -> pd.DataFrame:
    """Correct the measured lift of a variant by labels on its simulated conversations: PPI++ on the pairs.

    A judge whose errors differ between the variant and the original shows a lift that does not exist, or hides one. Labels
    repair that. They do not repair a winner's luck: the labelled pairs are among those that chose it, so ``lift_expected``
    remains what to expect in production.

    Parameters
    ----------
    simulations
        ``lift.optimizations[optimization_id].simulations()``. Only pairs of the confirmation count, as for the measured lift.
    labels
        Labels on a draw of :func:`label_plan`: ``lift.labels(optimization_id=…)`` or ``browser.labels``.
    variant_id
        The variant; by default the one that was tested on new conversations.
    level
        Coverage of the intervals.

    Returns
    -------
    DataFrame
        One row. ``lift_points`` (measured, percentage points) and ``lift_points_corrected`` with its ends; the task completion of
        both arms as the judge says and corrected (fractions); ``n_pairs``, ``n_labels`` of the variant and of the original,
        ``n_effective``; by how much the judge's true positive and true negative rates differ by arm, with intervals and
        ``p_equal_error``; ``errors_differ``, whether that p is below 0.05; ``confirmed``, whether the corrected interval is
        above no gain (missing where nothing could be corrected), and ``not_corrected``, why not.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When there are no pairs of such a variant, or a label cannot be read.
    """
    level = check_level(level)
    frame = _table(simulations)
    pairs = _pairs(frame, variant_id)
    places = np.concatenate([pairs["variant"].to_numpy(), pairs["original"].to_numpy()])
    judged = frame[_QUESTION].to_numpy(dtype=np.float64, na_value=np.nan)[places]
    rows = label_rows(labels, frame["simulation_id"].iloc[places], judged, _QUESTION)
    arm = np.repeat(np.array([1, 0], np.intp), len(pairs))
    cell = np.tile(np.arange(len(pairs), dtype=np.intp), 2)
    found, facts = comparison_columns(
        rows, arm, 0, [1], item=cell, rectifier="own", level=level, arms=("the variant", "the original")
    )
    one = found.iloc[0].to_dict()
    rates = [float(judged[arm == place].mean()) for place in (1, 0)]
    measured = 100.0 * (rates[0] - rates[1])
    low = one["difference_points_corrected_low"]
    corrected = not one["not_corrected"]
    values = {
        "variant_id": str(frame["variant_id"].iloc[places[0]]),
        "n_pairs": len(pairs),
        "task_completion": rates[0], "task_completion_original": rates[1], "lift_points": measured,
        **{f"task_completion_corrected{end}": one[f"rate_corrected{end}"] for end in ("", "_low", "_high")},
        **{f"task_completion_original_corrected{end}": one[f"rate_control_corrected{end}"] for end in ("", "_low", "_high")},
        **{f"lift_points_corrected{end}": one[f"difference_points_corrected{end}"] for end in ("", "_low", "_high")},
        "n_labels": one["n_labels"], "n_labels_original": one["n_labels_control"],
        "errors_differ": bool(one["p_equal_error"] < _ERRORS_DIFFER),
        "confirmed": bool(low > 0.0) if corrected else pd.NA,
    }  # fmt: skip
    row = {name: values.get(name, one.get(name)) for name in _COLUMNS}
    table = pd.DataFrame([row], columns=list(_COLUMNS)).astype(
        {"confirmed": "boolean", "not_corrected": "str"}
    )
    return with_provenance(table, simulations, "corrected_lift", corrected=facts, level=level)


def _table(simulations: Any) -> pd.DataFrame:
    present = names_of(simulations)
    require(simulations, list(_NEEDED))
    return collect(simulations, [*_NEEDED, *(["content"] if "content" in present else [])]).reset_index(
        drop=True
    )


def _pairs(frame: pd.DataFrame, variant_id: str | None) -> pd.DataFrame:
    """Return the rows of the confirmation's pairs: ``variant`` and ``original``, one row per cell."""
    held = frame["stage"].astype("str").eq(_STAGE) & frame[_QUESTION].notna()
    original = held & frame["is_original"].astype("boolean").fillna(value=False)
    others = held & ~original
    variants = [str(one) for one in frame.loc[others, "variant_id"].dropna().unique()]
    if variant_id is None and len(variants) == 1:
        variant_id = variants[0]
    if variant_id not in variants:
        there = f"There are those of {', '.join(variants)}." if variants else "It has none."
        raise ValueError(f"The table has no confirmed pairs of one variant; say which. {there}")
    mine = others & frame["variant_id"].astype("str").eq(str(variant_id))
    cells = [pd.Series(np.flatnonzero(rows), index=frame.loc[rows, "cell"]) for rows in (mine, original)]
    both = pd.concat(cells, axis=1, join="inner", keys=["variant", "original"])
    if both.empty:
        raise ValueError("No cell has a conversation with the variant and one with the original.")
    return both.sort_index()
