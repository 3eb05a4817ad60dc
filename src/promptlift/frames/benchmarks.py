"""The arms of a benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.frames.columns import read_table
from promptlift.frames.layouts import BENCHMARK_ARMS
from promptlift.schema.benchmarks import COST_BASES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.stats.arms import TokenUse

    Row = dict[str, Any]

_PERCENT = ("taskCompletion", "taskCompletionLow", "taskCompletionHigh")


def benchmark_arms_table(benchmark: Row) -> tuple[pd.DataFrame, dict[str, int], dict[str, Any]]:
    """Make the table of the arms of a benchmark, one row each.

    Returns
    -------
    tuple
        The table, counts of unusable values by column, and facts about the benchmark.
    """
    results = benchmark.get("results") or {}
    reference = results.get("reference")
    compared = {one["number"]: one for one in results.get("comparisons") or []}
    arms = [
        {**arm, "comparison": compared.get(arm["number"]), **_fractions(arm)}
        for arm in results.get("arms") or []
    ]
    numbers = [arm["number"] for arm in arms]
    prompts = {arm["number"]: arm.get("promptId") for arm in benchmark.get("arms") or []}
    cheapest = results.get("cheapest") or {}
    frame, counts = read_table(
        BENCHMARK_ARMS,
        arms,
        prompt=[prompts.get(number) for number in numbers],
        is_reference=[number == reference for number in numbers],
        acceptable=[number in results["acceptable"] for number in numbers],
        is_cheapest=[number == cheapest.get("number") for number in numbers],
        cost_basis=[cheapest.get("basis")] * len(arms),
    )
    facts = {
        "benchmark_id": benchmark.get("id"),
        "name": benchmark.get("name"),
        "status": benchmark.get("status"),
        "rehearsal": benchmark.get("rehearsal"),
        "reference": reference,
        "margin": results.get("margin"),
        "level": results.get("level"),
        "final": results.get("final", False),
        "notes": results.get("warnings", []),
    }
    return frame, counts, facts


def with_prices(arms: pd.DataFrame, prices: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Recompute the costs of arms, and find the cheapest acceptable one.

    Parameters
    ----------
    arms
        Table of arms; it is not changed.
    prices
        By model, the prices ``input`` and ``output`` of a million tokens.
    """
    from promptlift.stats import arms as costing  # noqa: PLC0415  no other table needs statistics

    found = arms.copy()
    found.attrs = arms.attrs
    tokens: dict[int, TokenUse | None] = {}
    costs: dict[int, float | None] = {}
    for row in arms.to_dict("records"):
        number, read, written = int(row["arm"]), row["input_tokens"], row["output_tokens"]
        model = row["llm_model"]
        tokens[number] = None if np.isnan(read) else costing.TokenUse(read, written)
        costs[number] = costing.cost_per_conversation(
            tokens[number], None if pd.isna(model) else prices.get(model)
        )
    rates = dict(zip(arms["arm"], arms["task_completion"], strict=True))
    found["cost_per_conversation"] = np.array([costs[arm] for arm in arms["arm"]], np.float64)
    found["cost_per_completed"] = np.array(
        [costing.cost_per_completed(costs[arm], rates[arm]) for arm in arms["arm"]], np.float64
    )
    cheapest = costing.cheapest_arm(arms.loc[arms["acceptable"].astype(bool), "arm"], tokens, costs)
    found["is_cheapest"] = pd.array(
        [cheapest is not None and arm == cheapest.arm for arm in arms["arm"]], dtype="boolean"
    )
    found["cost_basis"] = pd.Categorical([cheapest.basis if cheapest else None] * len(arms), list(COST_BASES))
    return found


def _fractions(arm: Row) -> Row:
    return {name: arm[name] / 100.0 for name in _PERCENT if arm.get(name) is not None}
