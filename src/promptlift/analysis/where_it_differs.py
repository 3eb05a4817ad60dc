"""Simulated conversations by persona and scenario: variant and original on the same cells."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from promptlift.analysis.reading import collect, names_of, require, with_provenance
from promptlift.schema.simulations import SIMULATION_STAGES, SimulationStage
from promptlift.stats.effect import lift_interval
from promptlift.stats.intervals import check_level, rate

PAIRS = ("n11", "n10", "n01", "n00")
_KEY = ("optimization_id", "stage", "pass_number", "cell")


def where_it_differs(
    simulations: Any,
    *,
    variant_id: str | None = None,
    stage: SimulationStage | Literal["all"] | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare a variant with the original by persona and scenario, in pairs on the same cells.

    Most fields have few pairs, because every pass draws new personas and scenarios: look at the rows of whole
    personas and scenarios first. Among many fields some differ by chance alone.

    Parameters
    ----------
    simulations
        Simulated conversations: ``variant_id``, ``is_original``, ``cell``, ``persona``, ``scenario``,
        ``task_completed`` and, if there, ``optimization_id``, ``stage``, ``pass_number``, ``persona_id``.
    variant_id
        The variant; by default the one with the most pairs, those of the confirmation counted first.
    stage
        Only pairs of this stage; by default those of the confirmation where there are any. ``"all"`` adds the screening,
        which favours the variant that was lucky there.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        First one row for all pairs (``part`` is ``"all"``), then one per persona (``"persona"``), one per scenario
        (``"scenario"``), and one for each field that has pairs (``"field"``): ``part``, ``persona``, ``scenario``
        (missing where a row is of all of them), ``n`` pairs, ``completed`` and ``completed_control``, ``rate`` and
        ``rate_control`` (fractions), ``difference`` in percentage points with the interval of pairs,
        ``difference_low``, ``difference_high``, ``n11``, ``n10``, ``n01``, ``n00``; the largest first.
        ``attrs["promptlift"]`` has ``variant_id``, ``stages``, and ``n_dropped``, cells in which one of both has no
        outcome.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When there is no such variant or stage, or ``level`` cannot be used.
    """
    level = check_level(level)
    if stage not in (None, "all", *SIMULATION_STAGES):
        raise ValueError(f"stage must be one of {', '.join(SIMULATION_STAGES)} or all, not {stage!r}.")
    needed = ["variant_id", "is_original", "cell", "persona", "scenario", "task_completed"]
    columns = require(simulations, needed, of="simulations")
    present = names_of(simulations)
    more = [name for name in (*_KEY, "persona_id") if name in present and name not in columns]
    frame = collect(simulations, [*columns, *more])
    if stage is None and _confirmed(frame, variant_id):
        stage = "confirm"
    if stage not in (None, "all"):
        if "stage" not in frame:
            raise ValueError("stage cannot be chosen: the table has no column stage.")
        frame = frame[frame["stage"].astype("str").eq(stage)]
    pairs, chosen, dropped = _pairs(frame, variant_id)
    keys = {"all": [], "persona": ["persona"], "scenario": ["scenario"], "field": ["persona", "scenario"]}
    parts = [_part(pairs, part, by) for part, by in keys.items()]
    table = _with_rates(pd.concat(parts, ignore_index=True), level)
    stages = sorted(pairs["stage"].dropna().unique(), key=SIMULATION_STAGES.index) if "stage" in pairs else []
    facts = {"by": None, "level": level, "variant_id": chosen, "stages": stages, "n_dropped": dropped}
    return with_provenance(table, simulations, "where_it_differs", **facts)


def _confirmed(frame: pd.DataFrame, variant_id: str | None) -> bool:
    """Return whether the variant, or any where none is named, was tested in the confirmation."""
    if "stage" not in frame:
        return False
    tested = ~frame["is_original"].astype("boolean").fillna(value=False)
    if variant_id is not None:
        tested &= frame["variant_id"].eq(variant_id).fillna(value=False)
    return bool((tested & frame["stage"].astype("str").eq("confirm")).any())


def _pairs(frame: pd.DataFrame, variant_id: str | None) -> tuple[pd.DataFrame, str | None, int]:
    """Pair the outcomes of the variant and of the original, one row per cell, and count the cells that lack one."""
    original = frame["is_original"].astype("boolean").fillna(value=False).to_numpy(dtype=bool)
    key = [name for name in _KEY if name in frame]
    tested = frame[~original]
    chosen = _chosen(tested, variant_id)
    same = tested["variant_id"].eq(chosen).fillna(value=False) if chosen is not None else slice(0, 0)
    control = frame.loc[original, [*key, "task_completed"]]
    try:
        both = tested[same].merge(control, on=key, suffixes=("", "_control"), validate="one_to_one")
    except pd.errors.MergeError:
        raise ValueError(
            f"Some cells appear twice for the same variant, so the pairs are not known. Each {', '.join(key)} must have "
            "one conversation of the variant and one of the original."
        ) from None
    known = (both["task_completed"].notna() & both["task_completed_control"].notna()).to_numpy(dtype=bool)
    pairs = both[known].reset_index(drop=True)
    for name in ("persona", "scenario"):
        pairs[name] = pairs[name].astype("str").fillna("not given")
    one, other = (pairs[name].astype(bool) for name in ("task_completed", "task_completed_control"))
    for name, cell in zip(PAIRS, (one & other, one & ~other, ~one & other, ~one & ~other), strict=True):
        pairs[name] = cell.astype(np.int64)
    return pairs, chosen, int((~known).sum())


def _chosen(tested: pd.DataFrame, variant_id: str | None) -> str | None:
    counts = tested["variant_id"].value_counts()
    if variant_id is not None:
        if variant_id not in counts.index:
            raise ValueError(
                f"The table has no simulations of variant {variant_id!r}, only of {', '.join(map(str, counts.index)) or 'none'}."
            )
        return variant_id
    if counts.empty:
        return None
    if "stage" in tested:
        confirmed = tested.loc[tested["stage"].astype("str").eq("confirm"), "variant_id"].value_counts()
        counts = confirmed if len(confirmed) else counts
    return str(counts.index[0])


def _part(pairs: pd.DataFrame, part: str, keys: list[str]) -> pd.DataFrame:
    """Count the pairs by the keys, the largest group first."""
    counts = pairs.assign(n=1)
    counts = counts.groupby(keys)[["n", *PAIRS]].sum() if keys else counts[["n", *PAIRS]].sum().to_frame().T
    found = counts.reset_index(drop=not keys).sort_values("n", ascending=False, kind="stable")
    missing = pd.Series(pd.NA, index=found.index, dtype="str")
    texts = {name: found[name].astype("str") if name in keys else missing for name in ("persona", "scenario")}
    named = pd.Series(part, index=found.index, dtype="str")
    return pd.DataFrame({"part": named, **texts, **found[["n", *PAIRS]].astype(np.int64)})


def _with_rates(table: pd.DataFrame, level: float) -> pd.DataFrame:
    done = (table["n11"] + table["n10"]).to_numpy()
    control = (table["n11"] + table["n01"]).to_numpy()
    rates = [rate(completed, table["n"]) for completed in (done, control)]
    ends = [
        lift_interval(*(int(count) for count in counts), level=level)
        for counts in table[[*PAIRS]].itertuples(index=False)
    ]
    return pd.DataFrame(
        {
            **{name: table[name] for name in ("part", "persona", "scenario", "n")},
            "completed": done,
            "completed_control": control,
            "rate": rates[0],
            "rate_control": rates[1],
            "difference": 100 * (rates[0] - rates[1]),
            # Of a few pairs, the interval would reach beyond what can be.
            "difference_low": np.array([end.points_low for end in ends], np.float64).clip(-100.0, 100.0),
            "difference_high": np.array([end.points_high for end in ends], np.float64).clip(-100.0, 100.0),
            **{name: table[name] for name in PAIRS},
        }
    )
