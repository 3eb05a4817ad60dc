"""Comparisons of real runs whose answers are known: verdicts, printed figures, and the same figures by oracles.

A listed comparison has a winner or a loser where the pairs decide. Two of them are open to debate and are held to
be "no winner": gpt-4o against gpt-4.1 on retail (3 : 9 pairs, p 0.15) and gpt-oss-120b on airline (5 : 9, p 0.42)
look worse, but so few discordant pairs do not show it.
"""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis
from support.shared_data import load, needs_shared

pytestmark = needs_shared

# control, variant, items, completed by control and variant, difference, lift, only control, only variant, McNemar p: as
# printed beside the data, and the verdict.
PRINTED = {
    "tau2-airline": [
        ("gpt-4o", "qwen2.5-7b", 50, 23, 9, -28.0, -60.9, 17, 3, 0.0026, "worse"),
        ("gpt-4o", "claude-sonnet-4-5", 50, 23, 36, 26.0, 56.5, 2, 15, 0.0023, "winner"),
        ("gpt-4o", "gpt-oss-120b", 49, 23, 19, -8.2, -17.4, 9, 5, 0.4240, "no winner"),
        ("gpt-4o", "gpt-5.4", 50, 23, 28, 10.0, 21.7, 3, 8, 0.2266, "no winner"),
        ("gpt-4o", "gpt-4.1", 20, 10, 10, 0.0, 0.0, 2, 2, 1.0, "no winner"),
        ("gpt-4o", "gpt-4.1-sft", 20, 10, 13, 15.0, 30.0, 2, 5, 0.4531, "no winner"),
        ("gpt-4o", "button-opus-4.6", 50, 23, 38, 30.0, 65.2, 1, 16, 0.0003, "winner"),
        ("gpt-4.1", "gpt-4.1-sft", 20, 10, 13, 15.0, 30.0, 3, 6, 0.5078, "no winner"),
    ],
    "tau2-retail": [
        ("gpt-4.1", "gpt-4.1-sft", 40, 34, 34, 0.0, 0.0, 6, 6, 1.0, "no winner"),
        ("gpt-4.1", "toolorchestra-gpt-5", 40, 34, 34, 0.0, 0.0, 5, 5, 1.0, "no winner"),
        ("gpt-4.1", "gpt-4o", 40, 34, 28, -15.0, -17.6, 9, 3, 0.1460, "no winner"),
    ],
    "judge-variants": [
        ("quick_triage_v1", "customer_outcome_v1", 164, 95, 93, -1.2, -2.1, 15, 13, 0.8506, "no winner"),
        ("quick_triage_v1", "policy_chain_of_thought_v1", 164, 95, 93, -1.2, -2.1, 11, 9, 0.8238, "no winner"),
        ("quick_triage_v1", "policy_conversation_v1", 164, 95, 104, 5.5, 9.5, 32, 41, 0.3492, "no winner"),
    ],
}  # fmt: skip
EVERY = [(name, *row) for name, rows in PRINTED.items() for row in rows]


@pytest.fixture(scope="module")
def runs():
    """The three sets, one row a trial: run, item, task_completed."""
    sets = {
        name: pd.DataFrame(
            [
                (r["metadata"]["run"], r["metadata"]["taskId"], r["truth"]["taskCompleted"])
                for r in load(name)
            ],
            columns=["run", "item", "task_completed"],
        )
        for name in ("tau2-airline", "tau2-retail")
    }
    judged = [(r["variant"], r["itemId"], r["correct"]) for r in load("judge-variants")]
    sets["judge-variants"] = pd.DataFrame(judged, columns=["run", "item", "task_completed"])
    return sets


def of_two(table, control, variant):
    """Rows of two runs, on the items that both have."""
    table = table[table["run"].isin([control, variant])]
    return table[table.groupby("item")["run"].transform("nunique") == 2]


def at(table, control, **arguments):
    return analysis.compare(table, by="run", control=control, **arguments).iloc[0]


@pytest.mark.parametrize("case", EVERY, ids=[f"{case[0]}-{case[1]}-{case[2]}" for case in EVERY])
def test_a_listed_comparison_has_its_printed_figures_and_the_right_verdict(runs, case):
    name, control, variant, items, x0, x1, points, lift, lost, won, p_pairs, verdict = case
    table = of_two(runs[name], control, variant)
    paired = at(table, control, pair="item")
    assert (paired["n_pairs"], paired["completed_control"], paired["completed"]) == (items, x0, x1)
    assert (paired["n01"], paired["n10"]) == (lost, won)
    assert (round(paired["difference_points"], 1), round(paired["lift_percent"], 1)) == (points, lift)
    assert round(paired["p"], 4) == p_pairs
    assert paired["verdict"] == verdict
