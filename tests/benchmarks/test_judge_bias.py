"""The measured judges: counts as printed beside the data, and the rule of attenuation on what was recorded.

Run `judge_bias.py` beside this file for the tables.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from promptlift import analysis
from support.shared_data import needs_shared

# Loaded by its path: the file is also a program, and test folders are not packages.
_SPEC = importlib.util.spec_from_file_location("judge_bias", Path(__file__).with_name("judge_bias.py"))
bias = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = bias
_SPEC.loader.exec_module(bias)

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
some = st.integers(1, 60)


@pytest.fixture(scope="module")
def table():
    return bias.verdicts()


@needs_shared
@pytest.mark.parametrize("case", PRINTED)
def test_counts_and_kappa_are_the_printed_ones(table, case):
    domain, name = case
    judge = bias.judges(table[table["domain"] == domain])[name]
    counts = (judge.correct, judge.true_pass, judge.false_pass, judge.false_fail, judge.true_fail)
    assert (*counts, round(judge.kappa()[0], 2)) == PRINTED[case]


@settings(deadline=None)
@given(some, some, some, some)
def test_kappa_and_its_interval_are_those_of_statsmodels(a, b, c, d):
    judge = bias.Judge("any", true_pass=a, false_pass=b, false_fail=c, true_fail=d)
    oracle = cohens_kappa([[a, c], [b, d]])
    assert judge.kappa() == pytest.approx((oracle.kappa, oracle.kappa_low, oracle.kappa_upp), abs=1e-9)


@settings(deadline=None)
@given(some, some, some, some, st.floats(0, 1), st.floats(0, 1))
def test_a_judge_reports_a_difference_times_its_attenuation(a, b, c, d, p1, p0):
    judge = bias.Judge("any", true_pass=a, false_pass=b, false_fail=c, true_fail=d)
    reported = judge.reported(p1) - judge.reported(p0)
    assert reported == pytest.approx(judge.attenuation * (p1 - p0), abs=1e-12)
    low, high = judge.attenuation_interval()
    assert low <= judge.attenuation <= high


@needs_shared
def test_the_recorded_rates_are_the_formula_with_each_domains_own_errors(table):
    for domain in ("airline", "retail"):
        part = table[table["domain"] == domain]
        for name, judge in bias.judges(part).items():
            mine = part[part["judge"] == name]
            assert mine["verdict"].mean() == pytest.approx(judge.reported(mine["truth"].mean()), abs=1e-12)


@needs_shared
def test_no_recorded_judge_reports_half_of_a_true_difference(table):
    for domain in ("airline", "retail"):
        for judge in bias.judges(table[table["domain"] == domain]).values():
            assert judge.attenuation < 0.5


@needs_shared
def test_redrawn_errors_have_the_rates_and_the_discordance_of_the_formula(table):
    one, other = bias.true_pairs("tau2-airline", "gpt-4o", "claude-sonnet-4-5")
    for judge in bias.judges(table[table["domain"] == "airline"]).values():
        seen = np.array(bias.redraw(judge, one, other, 4_000), float) / len(one)
        expected = judge.reported(one.mean()), judge.reported(other.mean())
        assert (seen[:, [0, 1]].sum(axis=1).mean(), seen[:, [0, 2]].sum(axis=1).mean()) == pytest.approx(
            expected, abs=0.006
        )
        discordance = bias.judged_discordance(judge, one, other)
        assert seen[:, [1, 2]].sum(axis=1).mean() == pytest.approx(discordance, abs=0.006)


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


@needs_shared
def test_the_tables_can_be_made():
    lines = list(bias.report(draws=20))
    assert sum(line.startswith("| tau2-") for line in lines) == 20
    assert sum(line.startswith(("| airline", "| retail", "| all")) for line in lines) == 24
