"""What the simulation predicted, beside what production shows after the apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.outcomes import OUTCOMES, rate_columns
from promptlift.analysis.periods import Span, instant, length
from promptlift.analysis.reading import (
    blank,
    collect,
    facts_of,
    is_rehearsal,
    names_of,
    require,
    with_provenance,
)
from promptlift.analysis.versions import DIFFERENCE, difference_columns, read_outcomes, read_versions
from promptlift.schema.basis import may_tell
from promptlift.stats import analyse_pairs
from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

_HINT = "Read the table with lift.variants(prompt_id=…) or lift.optimizations(prompt_id=…)."
_APPLIED = ("applied", "auto_deployed")
_TEXTS = ("optimization_id", "name")
_NUMBERS = (
    "lift", "lift_expected", "lift_points", "lift_points_low", "lift_points_high", "lift_points_expected",
    "task_completion", "original_task_completion", "n_pairs", "n", "n11", "n10", "n01", "n00", "look", "max_looks",
    "interval_level",
)  # fmt: skip
_COUNTS = ["n11", "n10", "n01", "n00", "look", "max_looks"]
_ENDS = ["lift_points_low", "lift_points_high"]


def simulated_vs_production(
    variants: Any,
    conversations: Any,
    *,
    versions: Any = None,
    applied_at: Any = None,
    window: Any = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare the predicted change of completion of each applied variant with the change seen in production.

    The prediction comes from simulated pairs. Production is compared before and after the apply. That is
    observational: users and their requests may have changed too. The conversations before are those under the text
    that was live until the apply, and those after end where the text was changed again.

    Parameters
    ----------
    variants
        Variants, or optimizations with their winners: ``variant_id`` or ``winning_variant_id``, and whatever of
        ``lift_points``, its interval and ``lift_points_expected``, the pair table, ``task_completion`` and ``lift``
        the service gave.
    conversations
        Conversations of the prompt: ``status``, ``task_completed`` and ``started_at`` or ``created_at``.
    versions
        The prompt's texts, as ``lift.versions(prompt_id)`` gives them: they show what was applied when, and what
        else changed.
    applied_at
        Without ``versions``: when the variant was applied, or a mapping from ``variant_id`` or ``optimization_id``
        to that time. Other changes of the text are then unknown.
    window
        The longest time before and after the apply that counts, such as ``"30D"``.
    level
        Coverage of the intervals of production.

    Returns
    -------
    DataFrame
        One row per apply, in order of time. ``optimization_id``, ``variant_id``, ``name``, ``applied_at``. All
        changes are percentage points of completion: ``predicted`` as measured in the simulation with
        ``predicted_low`` and ``predicted_high`` at ``predicted_level`` (NaN where the service gave neither an
        interval nor pairs), ``predicted_expected``, the change to expect in production, of
        ``predicted_n`` pairs; ``predicted_basis`` says where it comes from: ``"points"``, ``"pairs"``, ``"rates"``,
        ``"lift"`` (percent of the rate before) or ``"none"``. Then production: ``n_before``, ``completed_before``,
        ``rate_before``, its ends and ``n_missing_before``, the same ending in ``_after``, ``difference`` with
        the interval of Miettinen and Nurminen, ``difference_low``, ``difference_high``, and ``inside``, whether the prediction lies in
        it; ``before_from``, ``after_until`` and ``cut_by``, the number of the text that ended it.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When neither or both of ``versions`` and ``applied_at`` are given, or they match no variant.
    """
    level = check_level(level)
    longest = None if window is None else length(window, "window")
    tested = _read_variants(variants)
    if (versions is None) == (applied_at is None):
        raise ValueError(
            "Say when the variants were applied: versions=lift.versions(prompt_id), or applied_at= a time or a "
            "mapping from variant_id to times."
        )
    known = read_versions(_versions_of(tested, applied_at) if versions is None else versions)
    texts = known.table.assign(cut_by=known.table["number"].shift(-1))
    is_apply = texts["origin"].isin(_APPLIED) & texts["variant_id"].notna() & (texts.index > 0)
    applied = texts[is_apply].reset_index(drop=True)
    before, after = [], []
    for place in np.flatnonzero(is_apply):
        at = known.spans[place].low
        ends = {} if longest is None else {"low": at - longest, "high": at + longest}
        before.append(known.spans[place - 1].shortened(**ends))
        after.append(known.spans[place].shortened(**ends))
    outcomes = read_outcomes(conversations, versions, variants)
    was, now = (
        np.array([outcomes.counts(part) for part in spans], np.int64).reshape(-1, len(OUTCOMES))
        for spans in (before, after)
    )
    simulated = tested.reindex(applied["variant_id"]).reset_index()
    production = {
        f"{name}_{side}": value
        for side, some in (("before", was), ("after", now))
        for name, value in rate_columns(some, level).items()
    } | difference_columns(was, now, level)
    table = pd.DataFrame(
        {
            "optimization_id": simulated["optimization_id"].fillna(applied["optimization_id"]),
            "variant_id": applied["variant_id"],
            "name": simulated["name"],
            "applied_at": applied["created_at"],
            **_predictions(simulated, production["rate_before"]),
            **production,
        }
    )
    expected = table["predicted_expected"].fillna(table["predicted"])
    inside = expected.between(table["difference_low"], table["difference_high"]).astype("boolean")
    table["inside"] = inside.mask(expected.isna() | table["difference_low"].isna())
    table["before_from"] = _times([part.low for part in before])
    table["after_until"] = _times([part.high for part in after])
    table["cut_by"] = applied["cut_by"].astype("Int64")
    facts = {
        "by": None,
        "level": level,
        "n_not_applied": int((~tested.index.isin(applied["variant_id"])).sum()),
        "cuts_known": versions is not None,
        **({"rehearsal": True} if is_rehearsal(variants) else {}),
    }
    result = with_provenance(table, conversations, "simulated_vs_production", **facts)
    if not may_tell(facts_of(result)["basis"]):
        blank(result, (*DIFFERENCE, "inside"))
    return result


def _read_variants(variants: Any) -> pd.DataFrame:
    """Return the tested variants by their id, with the completion of their original in ``control``."""
    present = names_of(variants)
    key = (
        "variant_id"
        if "variant_id" in present or "winning_variant_id" not in present
        else "winning_variant_id"
    )
    require(variants, [key], hint=_HINT)
    named = {key: "variant_id"} | ({"lift_pct": "lift"} if "lift" not in present else {})
    wanted = [*_TEXTS, *_NUMBERS, "is_original", *named]
    frame = collect(variants, [name for name in dict.fromkeys(wanted) if name in present]).rename(
        columns=named
    )
    frame = frame.reindex(columns=["variant_id", *_TEXTS, *_NUMBERS, "is_original"])
    frame = frame[frame["variant_id"].notna()].drop_duplicates("variant_id")
    dtypes = dict.fromkeys(("variant_id", *_TEXTS), "str") | dict.fromkeys(_NUMBERS, "float64")
    frame = frame.astype(dtypes)
    original = frame.pop("is_original").astype("boolean").fillna(value=False).astype(bool)
    rates = frame[original].drop_duplicates("optimization_id").set_index("optimization_id")["task_completion"]
    frame["control"] = frame["original_task_completion"].fillna(frame["optimization_id"].map(rates))
    return frame[~original].set_index("variant_id")


def _versions_of(tested: pd.DataFrame, applied_at: Any) -> pd.DataFrame:
    """Return the texts of a prompt of which only the times of applies are known."""
    if not isinstance(applied_at, Mapping):
        if len(tested) != 1:
            raise ValueError(
                f"applied_at is one time, but there are {len(tested):,} variants. Pass a mapping from variant_id to "
                "its time, or versions=lift.versions(prompt_id)."
            )
        applied_at = {tested.index[0]: applied_at}
    times: dict[str, int] = {}
    for key, time in applied_at.items():
        same = tested.index[(tested.index == key) | tested["optimization_id"].eq(key)]
        if len(same) != 1:
            raise ValueError(
                f"applied_at names {key!r}, which matches {len(same):,} of the variants. Name each by its variant_id."
            )
        times[same[0]] = instant(time, "applied_at")
    # The text before the first of them.
    at = [min(times.values(), default=0) - 1, *times.values()]
    return pd.DataFrame(
        {
            "created_at": _times(at),
            "number": pd.array([pd.NA] * len(at), dtype="Int64"),
            "origin": ["created", *[_APPLIED[0]] * len(times)],
            "variant_id": [None, *times],
        }
    )


def _predictions(simulated: pd.DataFrame, rate_before: Any) -> dict[str, Any]:
    """Compute the columns of what the simulation predicted for each apply."""
    control, lift = simulated["control"], simulated["lift_expected"]
    ends = simulated[_ENDS].copy()
    level = simulated["interval_level"].mask(ends["lift_points_low"].isna())
    n = simulated["n_pairs"].fillna(simulated["n"])
    expected = simulated["lift_points_expected"].fillna(lift * control)
    points = pd.Series(np.nan, index=simulated.index)
    from_pairs = ends["lift_points_low"].isna() & simulated[_COUNTS].notna().all(axis=1) & n.gt(0)
    for row in simulated.index[from_pairs]:
        coverage = simulated.loc[row, "interval_level"]
        found = analyse_pairs(
            **simulated.loc[row, _COUNTS].astype(int), level=0.90 if np.isnan(coverage) else coverage
        )
        points[row], n[row], level[row] = found.lift_points, found.n, found.interval_level
        ends.loc[row] = found.lift_points_low, found.lift_points_high
        expected[row] = found.lift_points_expected if np.isnan(expected[row]) else expected[row]
    predicted, basis = points.copy(), pd.Series("none", index=simulated.index, dtype="str")
    for name, values in {
        "pairs": points,
        "points": simulated["lift_points"],
        "rates": 100 * (simulated["task_completion"] - control),
        "lift": simulated["lift"] * rate_before,
    }.items():
        basis = basis.mask(basis.eq("none") & values.notna(), name)
        predicted = predicted.fillna(values)
    numbers = {
        "predicted": predicted,
        "predicted_low": ends["lift_points_low"],
        "predicted_high": ends["lift_points_high"],
        "predicted_expected": expected.fillna(lift * rate_before),
        "predicted_n": n,
        "predicted_level": level,
    }
    return {name: one.mask(basis.eq("none")) for name, one in numbers.items()} | {"predicted_basis": basis}


def _times(instants: Sequence[int]) -> Any:
    times = [None if at in (Span().low, Span().high) else np.datetime64(at, "us") for at in instants]
    return pd.Series(pd.DatetimeIndex(times, dtype="datetime64[us]").tz_localize("UTC"))
