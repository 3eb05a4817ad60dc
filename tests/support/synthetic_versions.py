"""Tables of texts, variants and simulations as the workspace gives them, for the tests of analysis and plots."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

ORIGINS = ("created", "updated", "applied", "updated")


def versions(times, *, origins=ORIGINS, variants=None, **more):
    """Make texts of one prompt that were live from the times on; ``applied`` ones are of variant v1, v2, …."""
    n = len(times)
    origins = list(origins)[:n]
    if variants is None:
        variants = [f"v{sum(o in ('applied', 'auto_deployed') for o in origins[: i + 1])}" if origins[i] in ("applied", "auto_deployed") else None for i in range(n)]  # fmt: skip
    table = pd.DataFrame(
        {
            "version_id": pd.Series([f"t{i + 1}" for i in range(n)], dtype="str"),
            "number": pd.array(range(1, n + 1), dtype="Int64"),
            "content": pd.Series([f"Text {i + 1}" for i in range(n)], dtype="str"),
            "origin": pd.Series(origins, dtype="str"),
            "optimization_id": pd.Series([f"o{v[1:]}" if v else None for v in variants], dtype="str"),
            "variant_id": pd.Series(variants, dtype="str"),
            "is_live": pd.array([i == n - 1 for i in range(n)], dtype="boolean"),
            "created_at": pd.to_datetime(list(times), utc=True, format="mixed").astype("datetime64[us, UTC]"),
        }
    )
    # The service lists the newest first.
    return table.assign(**more).iloc[::-1].reset_index(drop=True)


def variants(rows, *, rehearsal=False):
    """Make a table of variants from dicts; what they leave out is missing."""
    text = ("optimization_id", "variant_id", "name", "stage")
    numbers = (
        "task_completion", "original_task_completion", "lift", "lift_points", "lift_low", "lift_high", "lift_expected",
        "interval_level", "confidence", "n", "n_pairs", "n11", "n10", "n01", "n00", "look", "max_looks",
    )  # fmt: skip
    table = pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype="str") for name in text})
    for name in ("is_original", "is_winner"):
        table[name] = pd.array([bool(row.get(name)) for row in rows], dtype="boolean")
    for name in numbers:
        table[name] = pd.Series([row.get(name, np.nan) for row in rows], dtype="float64")
    table["rehearsal"] = pd.array([rehearsal] * len(rows), dtype="boolean")
    return table


def simulations(cells, **options):
    """Make the simulated conversations of the original and some variants on the same cells."""
    return _simulations(cells, **options).copy()


@cache
def _simulations(
    cells, *, seed=0, personas=5, scenarios=3, stage="confirm", lift=0.2, variants=1, rehearsal=False
):
    rng = np.random.default_rng(seed)
    rows = []
    for cell in range(cells):
        who, what = int(rng.integers(personas)), int(rng.integers(scenarios))
        base = 0.35 + 0.5 * (what + 1) / (scenarios + 1)
        for arm in range(variants + 1):
            done = bool(rng.random() < base + (lift if arm else 0))
            rows.append(
                {
                    "optimization_id": "o1",
                    "simulation_id": f"s{cell}-{arm}",
                    "variant_id": f"v{arm}",
                    "variant_number": arm,
                    "is_original": arm == 0,
                    "stage": stage,
                    "pass_number": cell // 15 + 1,
                    "cell": cell,
                    "persona_id": f"per_{who}",
                    "persona": f"Persona {who}",
                    "scenario": f"Scenario {what}",
                    "status": "completed",
                    "task_completed": done,
                }
            )
    columns = [
        "optimization_id", "simulation_id", "variant_id", "variant_number", "is_original", "stage", "pass_number", "cell",
        "persona_id", "persona", "scenario", "status", "task_completed",
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    table = table.astype(
        {
            "variant_number": "Int64",
            "is_original": "boolean",
            "pass_number": "Int64",
            "cell": "Int64",
            "task_completed": "boolean",
        }
    )
    table.attrs["promptlift"] = {"table": "simulations", "rehearsal": rehearsal}
    return table
