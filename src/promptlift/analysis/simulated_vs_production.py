"""What the simulation predicted, beside what production shows after the apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
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
from promptlift.analysis.versions import (
    DIFFERENCE,
    Outcomes,
    Versions,
    difference_columns,
    read_outcomes,
    read_versions,
)
from promptlift.schema.basis import may_tell, weakest
from promptlift.stats import analyse_pairs
from promptlift.stats.differences import FEWEST
from promptlift.stats.intervals import check_level
from promptlift.stats.shrinkage import PAIRS_NEEDED, kept_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_HINT = "Read the table with lift.variants(prompt_id=…) or lift.optimizations(prompt_id=…)."
_APPLIED = ("applied", "auto_deployed")
_TEXTS = ("optimization_id", "variant_id", "name")
_NUMBERS = (
    "lift", "lift_expected", "lift_points", "lift_points_low", "lift_points_high", "lift_points_expected",
    "task_completion", "original_task_completion", "n_pairs", "n", "n11", "n10", "n01", "n00", "look", "max_looks",
    "interval_level",
)  # fmt: skip
_PAIRS = ("n11", "n10", "n01", "n00")


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
        interval nor pairs), ``predicted_expected``, shrunk toward 0 by its uncertainty, of
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
    span = None if window is None else length(window, "window")
    simulated = _read_variants(variants)
    applies, not_applied = _applies(simulated, versions, applied_at)
    outcomes = read_outcomes(conversations, versions, variants)
    before = [_cut(one.before, one.at, span) for one in applies]
    after = [_cut(one.after, one.at, span) for one in applies]
    production = _production(outcomes, before, after, level)
    columns: dict[str, Any] = {"applied_at": _times([one.at for one in applies])}
    columns |= dict(_predictions(applies, simulated, production["rate_before"].tolist())) | production
    texts = {name: pd.Series([one.texts[name] for one in applies], dtype="str") for name in _TEXTS}
    table = pd.DataFrame(texts | columns)
    table["inside"] = _inside(table)
    table["before_from"] = _times([part.low for part in before])
    table["after_until"] = _times([part.high for part in after])
    table["cut_by"] = pd.array([one.cut_by for one in applies], dtype="Int64")
    facts = {
        "by": None,
        "level": level,
        "n_not_applied": not_applied,
        "cuts_known": versions is not None,
        **({"rehearsal": True} if is_rehearsal(variants) else {}),
    }
    result = with_provenance(table, conversations, "simulated_vs_production", **facts)
    if not may_tell(facts_of(result)["basis"]):
        blank(result, (*DIFFERENCE, "inside"))
    return result


_CALIBRATED = ("predicted_expected", "predicted", *DIFFERENCE, "n_before", "n_after")


def calibration(pairs: Any, *, live: Any = None) -> pd.DataFrame:
    """Compare what simulations let expect of applied variants with what production shows, over several variants and prompts.

    Parameters
    ----------
    pairs
        A result of `simulated_vs_production`, or several, such as one for each prompt.
    live
        Versions that ran side by side on real users, as the ``table`` of ``lift.live`` gives them: their difference takes the
        place of before and after, which users and their requests may have changed too. Of several rows of a variant the first
        counts.

    Returns
    -------
    DataFrame
        The rows of ``pairs``, for ``plots.simulated_vs_production`` too, with ``source``: ``"before and after"`` or ``"side by side"``. From five variants on whose change is
        known, with at least ten conversations before and after, ``attrs["promptlift"]["kept"]`` has ``share``, ``low``, ``high``
        and ``n``: the slope of the line through 0 of the production's change over the expected one (of
        :func:`promptlift.stats.shrinkage.kept_share`), and ``sentence`` says it.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When there is no table, or the tables have intervals of several levels.
    """
    tables = [pairs] if isinstance(pairs, pd.DataFrame) else list(pairs)
    for one in tables:
        require(one, ["variant_id", *_CALIBRATED], hint="Make it with analysis.simulated_vs_production(…).")
    facts = [facts_of(one) for one in tables]
    if len({one["level"] for one in facts}) != 1:
        raise ValueError("give at least one table, and all with intervals of the same level.")
    level = facts[0]["level"]
    table: pd.DataFrame = pd.concat(tables, ignore_index=True)
    table["source"] = pd.Series("before and after", index=table.index, dtype="str")
    enough = table[["n_before", "n_after"]].min(axis=1) >= FEWEST
    if live is not None:
        require(live, ["variant_id", *DIFFERENCE], hint="Read it with lift.live(id).table.")
        found = collect(live, ["variant_id", *DIFFERENCE]).dropna()
        found = found.drop_duplicates("variant_id").set_index("variant_id")
        side_by_side = table["variant_id"].isin(found.index)
        for name in DIFFERENCE:
            table[name] = table["variant_id"].map(found[name]).fillna(table[name])
        table.loc[side_by_side, "source"] = "side by side"
        enough |= side_by_side
    expected = table["predicted_expected"].fillna(table["predicted"]).to_numpy(np.float64)
    change, low, high = (table[name].to_numpy(np.float64) for name in DIFFERENCE)
    error = (high - low) / (2.0 * NormalDist().inv_cdf(0.5 + level / 2.0))
    known = enough.to_numpy(bool) & ~np.isnan([expected, change, error]).any(axis=0)
    kept = kept_share(np.column_stack([expected, change, error])[known].tolist(), level=level)
    needed = f"Of {PAIRS_NEEDED} applied variants with known changes, {known.sum():,} are there: what simulations are worth is not known yet."
    said = {"sentence": needed} if kept is None else {"sentence": kept.sentence, "kept": kept._asdict()}
    whole = {
        "basis": weakest(one["basis"] for one in facts),
        "n_not_applied": sum(one["n_not_applied"] for one in facts),
        "cuts_known": all(one["cuts_known"] for one in facts),
    }
    table.attrs["promptlift"] = facts[0] | whole | said
    return table


def _production(
    outcomes: Outcomes, before: Sequence[Span], after: Sequence[Span], level: float
) -> dict[str, Any]:
    """Compute completion before and after each apply, and the difference of both."""
    counts = [
        np.array([outcomes.counts(part) for part in spans], np.int64).reshape(-1, len(OUTCOMES))
        for spans in (before, after)
    ]
    columns: dict[str, Any] = {}
    for side, name in zip(counts, ("before", "after"), strict=True):
        columns |= {f"{key}_{name}": value for key, value in rate_columns(side, level).items()}
    return columns | difference_columns(counts[0], counts[1], level)


def _predictions(
    applies: Sequence[_Apply], simulated: pd.DataFrame, rates_before: Sequence[float]
) -> pd.DataFrame:
    """Compute the columns of what the simulation predicted for each apply."""
    rows = [
        _prediction(None if one.row is None else simulated.loc[one.row], simulated, rate)
        for one, rate in zip(applies, rates_before, strict=True)
    ]
    table = pd.DataFrame(rows, columns=list(_PREDICTED))
    return table.astype({name: "str" if name == "predicted_basis" else "float64" for name in _PREDICTED})


_PREDICTED = (
    "predicted", "predicted_low", "predicted_high", "predicted_expected", "predicted_n", "predicted_level",
    "predicted_basis",
)  # fmt: skip
_NOTHING = (*[np.nan] * 6, "none")


@dataclass(frozen=True, slots=True)
class _Apply:
    """One apply: of what, when, and between which other changes of the text."""

    at: int
    row: int | None
    texts: Mapping[Any, Any]
    before: Span
    after: Span
    cut_by: int | None = None


def _read_variants(variants: Any) -> pd.DataFrame:
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
    frame = frame[frame["variant_id"].notna()].reset_index(drop=True)
    frame = frame.reindex(columns=[*_TEXTS, *_NUMBERS, "is_original"])
    original = frame["is_original"].astype("boolean").fillna(value=False).astype(bool)
    dtypes = dict.fromkeys(_TEXTS, "str") | dict.fromkeys(_NUMBERS, "float64")
    return frame.astype(dtypes).assign(is_original=original)


def _applies(simulated: pd.DataFrame, versions: Any, applied_at: Any) -> tuple[list[_Apply], int]:
    if (versions is None) == (applied_at is None):
        raise ValueError(
            "Say when the variants were applied: versions=lift.versions(prompt_id), or applied_at= a time or a "
            "mapping from variant_id to times."
        )
    tested = simulated[~simulated["is_original"]]
    if versions is not None:
        found = _from_versions(tested, read_versions(versions))
    else:
        found = _from_times(tested, applied_at)
    used = {one.row for one in found}
    return sorted(found, key=lambda one: one.at), len(tested) - len(used - {None})


def _from_versions(tested: pd.DataFrame, known: Versions) -> list[_Apply]:
    found = []
    for place, text in enumerate(known.table.to_dict("records")):
        if place == 0 or text["origin"] not in _APPLIED or pd.isna(text["variant_id"]):
            continue
        same = tested.index[tested["variant_id"] == text["variant_id"]]
        if len(same):
            texts = tested.loc[same[0], list(_TEXTS)].to_dict()
        else:
            texts = {name: text.get(name) for name in _TEXTS}
        last = place + 1 == len(known.spans)
        number = None if last else known.table["number"].iloc[place + 1]
        after = known.spans[place]
        found.append(
            _Apply(
                at=after.low,
                row=int(same[0]) if len(same) else None,
                texts=texts,
                before=known.spans[place - 1],
                after=after,
                cut_by=None if number is None or pd.isna(number) else int(number),
            )
        )
    return found


def _from_times(tested: pd.DataFrame, applied_at: Any) -> list[_Apply]:
    if not isinstance(applied_at, Mapping):
        if len(tested) != 1:
            raise ValueError(
                f"applied_at is one time, but there are {len(tested):,} variants. Pass a mapping from variant_id to "
                "its time, or versions=lift.versions(prompt_id)."
            )
        applied_at = {tested["variant_id"].iloc[0]: applied_at}
    found = []
    for key, time in applied_at.items():
        same = tested.index[tested["variant_id"].eq(key) | tested["optimization_id"].eq(key)]
        if len(same) != 1:
            raise ValueError(
                f"applied_at names {key!r}, which matches {len(same):,} of the variants. Name each by its variant_id."
            )
        at = instant(time, "applied_at")
        texts = tested.loc[same[0], list(_TEXTS)].to_dict()
        found.append(_Apply(at=at, row=int(same[0]), texts=texts, before=Span(high=at), after=Span(low=at)))
    return found


def _cut(span: Span, at: int, window: int | None) -> Span:
    return span if window is None else span.shortened(low=at - window, high=at + window)


def _prediction(row: Any, simulated: pd.DataFrame, rate_before: float) -> tuple[Any, ...]:
    """Return measured change in points, its ends, the change to expect, pairs, level, and where it comes from."""
    if row is None:
        return _NOTHING
    pairs = row["n_pairs"] if not np.isnan(row["n_pairs"]) else row["n"]
    control = _control_rate(row, simulated)
    counts = row[list(_PAIRS)].to_numpy(np.float64)
    looks = row[["look", "max_looks"]].to_numpy(np.float64)
    if np.isnan(row["lift_points_low"]) and not np.isnan([*counts, *looks]).any() and counts.sum() > 0:
        return _from_pairs(counts, looks, row["interval_level"])
    expected = row["lift_points_expected"]
    expected = row["lift_expected"] * control if np.isnan(expected) else expected
    measured, basis = row["lift_points"], "points"
    if np.isnan(measured):
        measured, basis = 100 * (row["task_completion"] - control), "rates"
    if np.isnan(measured):
        measured, basis = row["lift"] * rate_before, "lift"
        expected = row["lift_expected"] * rate_before
    if np.isnan(measured):
        return _NOTHING
    ends = (row["lift_points_low"], row["lift_points_high"])
    level = np.nan if np.isnan(ends[0]) else row["interval_level"]
    return (measured, *ends, expected, pairs, level, basis)


def _from_pairs(counts: NDArray[np.float64], looks: NDArray[np.float64], level: float) -> tuple[Any, ...]:
    result = analyse_pairs(
        *(int(count) for count in counts),
        look=int(looks[0]),
        max_looks=int(looks[1]),
        level=0.90 if np.isnan(level) else float(level),
    )
    ends = (result.lift_points, result.lift_points_low, result.lift_points_high, result.lift_points_expected)
    return (*ends, result.n, result.interval_level, "pairs")


def _control_rate(row: pd.Series[Any], simulated: pd.DataFrame) -> float:
    """Return the completion rate of the original beside the variant: on the same pairs, else of its own row."""
    if not np.isnan(row["original_task_completion"]):
        return float(row["original_task_completion"])
    same = simulated["is_original"] & (
        simulated["optimization_id"].eq(row["optimization_id"]) | simulated["optimization_id"].isna()
    )
    found = simulated.loc[same, "task_completion"]
    return float(found.iloc[0]) if len(found) else float("nan")


def _inside(table: pd.DataFrame) -> Any:
    expected = table["predicted_expected"].fillna(table["predicted"])
    known = expected.notna() & table["difference_low"].notna()
    inside = (expected >= table["difference_low"]) & (expected <= table["difference_high"])
    return inside.astype("boolean").mask(~known)


def _times(instants: Sequence[int]) -> Any:
    times = [None if at in (Span().low, Span().high) else np.datetime64(at, "us") for at in instants]
    return pd.Series(pd.DatetimeIndex(times, dtype="datetime64[us]").tz_localize("UTC"))
