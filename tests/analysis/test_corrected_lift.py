"""Labels on simulated conversations correct the lift, and say when the judge errs on the arms unlike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis


def simulated(n=150, *, rates=(0.5, 0.5), lenient=True, seed=0):
    """Pairs of a variant and the original; the judge forgives the variant what it does not forgive the original."""
    rng = np.random.default_rng(seed)
    truth, judged, rows = [], [], []
    hard = rng.random(n)
    for arm in (0, 1):
        right = 0.5 * hard + 0.5 * rng.random(n) < rates[arm]
        seen = np.where(right, rng.random(n) < 0.95, rng.random(n) < (0.5 if arm and lenient else 0.05))
        truth.append(right)
        judged.append(seen)
        rows.append(
            pd.DataFrame(
                {
                    "simulation_id": [f"sim_{arm}_{cell}" for cell in range(n)],
                    "variant_id": f"var_{arm}",
                    "is_original": arm == 0,
                    "stage": "confirm",
                    "cell": np.arange(n),
                    "status": "completed",
                    "task_completed": seen,
                    "content": "User: hi\nAssistant: ok",
                }
            )
        )
    screened = rows[0].assign(stage="screen", simulation_id="s", task_completed=True)
    table = pd.concat([*rows, screened], ignore_index=True)
    table["task_completed"] = table["task_completed"].astype("boolean")
    ids = [name for arm in (0, 1) for name in rows[arm]["simulation_id"]]
    return table, pd.Series(np.concatenate(truth), index=ids)


def labelled(plan, truth):
    return plan.assign(value=plan["conversation_id"].map(truth))


def test_a_winner_of_a_lenient_judge_is_not_confirmed_and_the_errors_are_seen():
    table, truth = simulated()
    row = analysis.corrected_lift(table, labelled(analysis.label_plan(table, n=120), truth)).iloc[0]
    assert row["lift_points"] > 15
    assert row["lift_points_corrected_low"] < 0 < row["lift_points_corrected_high"]
    assert (row["confirmed"], row["errors_differ"], row["not_corrected"]) == (False, True, "")
    assert (row["n_pairs"], row["n_labels"], row["n_labels_original"]) == (150, 60, 60)


def test_a_true_winner_is_confirmed():
    table, truth = simulated(rates=(0.35, 0.75), lenient=False)
    row = analysis.corrected_lift(table, labelled(analysis.label_plan(table, n=160), truth)).iloc[0]
    assert (row["confirmed"], row["errors_differ"]) == (True, False)
    assert (
        row["lift_points_corrected_low"]
        <= 100 * (truth[150:].mean() - truth[:150].mean())
        <= row["lift_points_corrected_high"]
    )


def test_what_cannot_be_corrected_is_said_in_words():
    table, truth = simulated()
    plan = analysis.label_plan(table, n=120)
    few = analysis.corrected_lift(table, labelled(plan.head(8), truth)).iloc[0]
    assert "Too few labels" in few["not_corrected"]
    assert pd.isna(few["confirmed"])
    picked = analysis.corrected_lift(table, labelled(plan, truth).drop(columns="chance")).iloc[0]
    assert "no chance with which the conversation was drawn" in picked["not_corrected"]
    with pytest.raises(ValueError, match="It has none"):
        analysis.label_plan(table[table["stage"] == "screen"])
