"""The measured judges: counts as printed beside the data, and the decision that `analysis.compare` makes.

Run `judge_bias.py` beside this file for the tables.
"""

from __future__ import annotations

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import judge_bias as bias
from promptlift import analysis
from support.shared_data import needs_shared

# domain, judge: correct, true pass, false pass, false fail, true fail, kappa, as printed beside the data.
PRINTED = {
    ("airline", "quick_triage_v1"): (25, 22, 24, 1, 3, 0.06),
    ("airline", "customer_outcome_v1"): (20, 14, 21, 9, 6, -0.16),
    ("airline", "policy_chain_of_thought_v1"): (22, 16, 21, 7, 6, -0.08),
    ("airline", "policy_conversation_v1"): (34, 18, 11, 5, 16, 0.37),
    ("retail", "quick_triage_v1"): (70, 68, 44, 0, 2, 0.05),
    ("retail", "customer_outcome_v1"): (73, 61, 34, 7, 12, 0.17),
    ("retail", "policy_chain_of_thought_v1"): (71, 63, 38, 5, 8, 0.11),
    ("retail", "policy_conversation_v1"): (70, 41, 17, 27, 29, 0.23),
}


@needs_shared
def test_counts_and_kappa_are_the_printed_ones():
    table = bias.verdicts()
    for (domain, name), printed in PRINTED.items():
        judge = bias.judges(table[table["domain"] == domain])[name]
        counts = (judge.correct, judge.true_pass, judge.false_pass, judge.false_fail, judge.true_fail)
        assert (*counts, round(judge.kappa()[0], 2)) == printed


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(1, 30))
def test_the_decision_is_the_verdict_of_the_comparison(n11, n10, n01, n00):
    pairs = [(1, 1)] * n11 + [(1, 0)] * n10 + [(0, 1)] * n01 + [(0, 0)] * n00
    rows = [(arm, item, pair[place]) for item, pair in enumerate(pairs) for place, arm in enumerate("ba")]
    table = pd.DataFrame(rows, columns=["run", "item", "done"])
    verdict = analysis.compare(
        table, by="run", pair="item", outcome="done", control="a", kind="completion"
    ).iloc[0]["verdict"]
    assert bias.decision((n11, n10, n01, n00)) == verdict
