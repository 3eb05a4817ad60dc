"""The arms of a benchmark: scores, costs, and each against the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from promptlift.analysis.reading import collect, facts_of, names_of, require
from promptlift.errors import FrameError
from promptlift.frames.benchmarks import benchmark_arms_table, with_prices
from promptlift.schema.benchmarks import Benchmark

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


def benchmark(data: Any, *, prices: Mapping[str, Mapping[str, float]] | None = None) -> pd.DataFrame:
    """Return the arms of a benchmark with their scores, their costs, and their differences to the reference.

    Every arm talked once in every cell of the scenario set, so the scores are comparable and the differences are those
    of pairs.

    Parameters
    ----------
    data
        The table of ``bench.arms()``, or what ``lift.client.benchmarks.get`` returned.
    prices
        Prices by model, such as ``{"gpt-4o": {"input": 2.5, "output": 10.0}}``: of a million tokens, in any currency. By default
        those that the benchmark was started with.

    Returns
    -------
    DataFrame
        One row per arm, with the columns of ``bench.arms()``: task completion with its Wilson interval; ``difference`` with
        Tango's interval and Holm-adjusted ``p_holm``, in percentage points to the reference; ``acceptable`` (a loss of the margin or more is
        excluded), ``cost_per_conversation``, ``is_cheapest`` of the acceptable ones.

        ``attrs["promptlift"]`` has the reference, the margin, the level and whether it is a rehearsal.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    if isinstance(data, Benchmark):
        table, _, facts = benchmark_arms_table(data.to_wire())
        table.attrs["promptlift"] = {"table": "benchmark", **facts}
    elif isinstance(nw.from_native(data, pass_through=True), nw.DataFrame | nw.LazyFrame):
        require(data, ["arm", "name", "task_completion", "acceptable"], of="benchmark_arms")
        table = collect(data, names_of(data)).copy()
        table.attrs["promptlift"] = {**facts_of(data), "table": "benchmark"}
    else:
        raise FrameError(
            ["arm"],
            [],
            hint="Pass a table of arms, such as lift.benchmark(…).arms().",
        )
    return table if prices is None else with_prices(table, prices)
