"""What simulations were worth, where variants also ran side by side on real users."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd

from promptlift.schema.experiments import LiveExperiment
from promptlift.workspace.optimizing.calibrating import Calibrating
from support.synthetic_tables import small
from support.synthetic_versions import variants, versions

IDS = {"optimization_id": "o1", "variant_id": "v1"}

TEXTS = versions(["2026-01-05", "2026-01-11"], origins=["created", "applied"]).assign(
    version_id=["ver_2", "ver_1"], content=["new", "old"]
)
TESTED = variants(
    [
        {**IDS, "lift_points": 23.0, "lift_expected": 40.0, "original_task_completion": 0.5},
        {**IDS, "variant_id": "v0", "is_original": True},
    ]
).assign(content=["new", "old"], rehearsal=False)


def experiment(number, *, estimate, current="ver_1", verdict="unclear"):
    """An experiment of the applied variant with a version."""
    difference = {"units": 900, "estimate": estimate, "low": estimate - 5.0, "high": estimate + 5.0}
    arms = [
        {"number": 0, "name": "v1", "versionId": current, "weight": 0.5},
        {
            "number": 1,
            "name": "Variant 1",
            "variantId": IDS["variant_id"],
            "weight": 0.5,
            "difference": difference,
            "verdict": verdict,
        },
    ]
    created = "2026-01-10T00:00:00Z"
    return LiveExperiment.from_wire(
        {"id": f"exp_{number}", "status": "stopped", "createdAt": created, "arms": arms}
    )


def calibrated(*experiments):
    """The only row, with these experiments, newest first."""
    known = {one.id: one for one in experiments}
    lift = SimpleNamespace(
        optimizations=lambda: pd.DataFrame({"prompt_id": ["p1"]}),
        versions=lambda _: TEXTS,
        variants=lambda **_: TESTED,
        conversations=lambda *_, **__: small(
            started_at=list(np.repeat(pd.to_datetime(["2026-01-08", "2026-01-14"]), 100)),
            task_completed=[n % 100 < (50 if n < 100 else 80) for n in range(200)],
        ),
        client=SimpleNamespace(
            prompts=SimpleNamespace(experiments=lambda *_, **__: SimpleNamespace(data=[*experiments])),
            experiments=SimpleNamespace(get=known.get),
        ),
    )
    lift._side_by_side = lambda *given: Calibrating._side_by_side(lift, *given)
    (row,) = Calibrating.calibration(lift).to_dict("records")
    return row["source"], round(row["difference"], 6), round(row["difference_high"] - row["difference_low"])


def test_the_newest_experiment_with_the_original_takes_the_place_of_before_and_after():
    assert calibrated()[:2] == ("before and after", 30.0)
    newest, older = experiment(2, estimate=12.0), experiment(1, estimate=3.0)
    assert calibrated(newest, older) == ("side by side", 12.0, 10)
    other_text = experiment(3, estimate=-4.0, current="ver_2")
    units_are_off = experiment(4, estimate=-9.0, verdict=None)
    assert calibrated(other_text, units_are_off, older) == ("side by side", 3.0, 10)
    assert calibrated(other_text, units_are_off)[:2] == ("before and after", 30.0)
