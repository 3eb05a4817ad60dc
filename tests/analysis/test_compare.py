"""Comparison with a control: cases by hand, SciPy and statsmodels as oracle, and the verdicts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, mannwhitneyu, norm, ttest_ind, ttest_rel, wilcoxon
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from promptlift import analysis
from promptlift.stats.differences import score_interval, score_test_p
from support.synthetic_tables import conversations
from support.trials import groups, only, pairs, several


@pytest.mark.slow
def test_every_figure_of_pairs_has_an_oracle():
    table = several()
    result = analysis.compare(table, by="run", pair="task", control="a", level=0.95)
    wide = table.set_index(["run", "task"])["task_completed"].unstack("run")  # noqa: PD010
    p_values = []
    for row in result.to_dict("records"):
        both = wide[[row["variant"], "a"]].dropna().astype(bool)
        one, other = both[row["variant"]], both["a"]
        counts = np.array(
            [[(one & other).sum(), (one & ~other).sum()], [(~one & other).sum(), (~one & ~other).sum()]]
        )
        assert row["p"] == pytest.approx(mcnemar(counts, exact=True).pvalue, abs=1e-9)
        p_values.append(row["p"])
        for end, values in (("", one), ("_control", other)):
            oracle = proportion_confint(values.sum(), len(values), method="wilson")
            assert (row[f"rate{end}_low"], row[f"rate{end}_high"]) == pytest.approx(oracle, abs=1e-9)
        # The interval again, from its definition.
        (a11, a10), (a01, _) = counts + 0.5
        n = len(both) + 2
        m1, m0 = (a11 + a10) / n, (a11 + a01) / n
        v11, v00, v10 = m1 * (1 - m1) / n, m0 * (1 - m0) / n, (a11 / n - m1 * m0) / n
        half = norm.ppf(0.975) * math.sqrt(v11 - 2 * v10 + v00)
        assert row["difference_points_low"] == pytest.approx(100 * (m1 - m0 - half), abs=1e-9)
        assert row["difference_points_high"] == pytest.approx(100 * (m1 - m0 + half), abs=1e-9)
        for end in ("lift_percent_low", "lift_percent_high"):
            ratio = 1 + row[end] / 100
            se = math.sqrt(v11 - 2 * ratio * v10 + ratio**2 * v00)
            assert abs(m1 - ratio * m0) == pytest.approx(norm.ppf(0.975) * se, abs=1e-9)
        assert row["n_dropped"] == 120 - len(both)
    np.testing.assert_allclose(result["p_holm"], multipletests(p_values, method="holm")[1], atol=1e-9)


def test_every_figure_of_independent_groups_has_an_oracle():
    table = several()
    result = analysis.compare(table, by="run", control="a")
    counts = table.groupby("run")["task_completed"].agg(["sum", "count"]).astype(int)
    for row in result.to_dict("records"):
        (x1, n1), (x0, n0) = counts.loc[row["variant"]], counts.loc["a"]
        assert (row["completed"], row["n"], row["completed_control"], row["n_control"]) == (x1, n1, x0, n0)
        assert row["p"] == pytest.approx(score_test_p(x1, n1, x0, n0), abs=1e-9)
        ends = [100 * float(end) for end in score_interval(x1, n1, x0, n0)]
        assert [row["difference_points_low"], row["difference_points_high"]] == pytest.approx(ends, abs=1e-9)
        assert row["n_dropped"] == 240 - n1 - n0
    np.testing.assert_allclose(result["p_holm"], multipletests(result["p"], method="holm")[1], atol=1e-9)
    of_pairs = [
        "lift_percent_low",
        "lift_percent_expected",
        "e_value",
        "confidence",
        "n_pairs",
        "n11",
        "n_unmatched",
    ]
    assert result[of_pairs].isna().all(axis=None)


def test_scores_in_groups_have_an_oracle():
    table = several()
    for row in analysis.compare(table, by="run", outcome="quality", control="a").to_dict("records"):
        one, other = (table.loc[table["run"] == name, "quality"].dropna() for name in (row["variant"], "a"))
        ranked = mannwhitneyu(one, other)
        assert row["p"] == pytest.approx(ranked.pvalue, abs=1e-9)
        assert row["cliffs_delta"] == pytest.approx(
            2 * ranked.statistic / len(one) / len(other) - 1, abs=1e-9
        )
        welch = ttest_ind(one, other, equal_var=False).confidence_interval()
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(
            (welch.low, welch.high), abs=1e-9
        )
        assert (row["mean"], row["mean_control"]) == pytest.approx((one.mean(), other.mean()))


def test_scores_in_pairs_have_an_oracle():
    table = several()
    wide = table.set_index(["run", "task"])["quality"].unstack("run")  # noqa: PD010
    result = analysis.compare(table, by="run", pair="task", outcome="quality", control="a")
    for row in result.to_dict("records"):
        both = wide[[row["variant"], "a"]].dropna()
        moved = np.round(both[row["variant"]] - both["a"], 9)
        assert row["p"] == pytest.approx(wilcoxon(moved[moved != 0], method="approx").pvalue, abs=1e-9)
        ends = ttest_rel(both[row["variant"]], both["a"]).confidence_interval()
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(
            (ends.low, ends.high), abs=1e-9
        )
        assert (row["n_pairs"], row["n_better"], row["n_worse"]) == (
            len(both),
            (moved > 0).sum(),
            (moved < 0).sum(),
        )
    assert result.set_index("variant")["verdict"].to_dict() == {
        "b": "no winner",
        "c": "winner",
        "d": "no winner",
    }


def test_sentiments_have_an_oracle():
    table = several()
    result = analysis.compare(table, by="run", outcome="sentiment", control="a")
    for row in result.to_dict("records"):
        counts = pd.crosstab(table["run"], table["sentiment"]).loc[[row["variant"], "a"]]
        oracle = chi2_contingency(counts, correction=False)
        assert row["p"] == pytest.approx(oracle.pvalue, abs=1e-9)
        assert row["cramers_v"] == pytest.approx(
            math.sqrt(oracle.statistic / counts.to_numpy().sum()), abs=1e-9
        )
        assert row["rate"] == pytest.approx(
            counts.loc[row["variant"], "positive"] / counts.loc[row["variant"]].sum()
        )
    assert result["test"].tolist() == ["chi²"] * 3


def test_few_labels_are_tested_by_permutation_and_have_no_order():
    table = pd.DataFrame({"run": ["a"] * 9 + ["b"] * 9, "end": ["STOP"] * 9 + ["TRANSFER"] * 8 + ["STOP"]})
    row = only(analysis.compare(table, by="run", outcome="end", control="a"))
    assert (row["test"], row["verdict"]) == ("permutation", "different")
    assert math.isnan(row["rate"])


def test_means_and_ranks_must_agree():
    """One huge score lifts a mean; most scores are lower."""
    table = pd.DataFrame({"run": ["a"] * 40 + ["b"] * 40, "x": [*range(10, 50), *range(39), 10_000]})
    row = only(analysis.compare(table, by="run", outcome="x", control="a"))
    assert row["p_holm"] < 0.05
    assert row["verdict"] == "no winner"
    assert "disagree in direction" in row["warnings"]


def test_a_difference_must_survive_the_number_of_variants():
    table = groups(a=[1] * 23 + [0] * 27, b=[1] * 36 + [0] * 14)
    assert only(analysis.compare(table, by="run", control="a"))["verdict"] == "winner"
    more = pd.concat([table, *(groups(**{f"c{i}": [1] * 23 + [0] * 27}) for i in range(6))])
    crowd = analysis.compare(more, by="run", control="a").set_index("variant")
    assert crowd.loc["b", "p_holm"] == pytest.approx(7 * crowd.loc["b", "p"])
    assert set(crowd["verdict"]) == {"no winner"}


def test_variants_that_share_no_item_are_not_compared_and_take_nothing_from_the_others():
    table = pairs(40, 14, 3, 13)
    alone = only(analysis.compare(table, by="run", pair="task", control="a"))
    others = [pairs(5, 5, 0, 0, variant=f"c{i}", shift=1_000 * (i + 1)).query("run != 'a'") for i in range(2)]
    result = analysis.compare(pd.concat([table, *others]), by="run", pair="task", control="a")
    found = result.set_index("variant")
    assert alone["verdict"] == found.loc["b", "verdict"] == "winner"
    for name in ("p", "p_holm", "smallest_findable_points", "confidence"):
        assert found.loc["b", name] == alone[name]
    rest = found.drop("b")
    assert rest["n_pairs"].tolist() == [0] * 2
    assert rest[["test", "p", "p_holm", "e_value", "confidence", "verdict"]].isna().all(axis=None)
    assert rest["warnings"].str.startswith("No shared items").all()
    assert "adjusted" not in result.attrs["promptlift"]["rule"]


def test_a_variant_without_any_known_outcome_is_not_compared_either():
    table = groups(a=[1] * 23 + [0] * 27, b=[1] * 36 + [0] * 14, c=[None] * 9)
    table["task_completed"] = table["task_completed"].astype("boolean")
    table["sentiment"] = table["task_completed"].map({True: "positive", False: "negative"})
    table["x"] = table["task_completed"].astype("float64") + np.arange(len(table)) / 1e3
    for outcome in ("task_completed", "sentiment", "x"):
        found = analysis.compare(table, by="run", outcome=outcome, control="a").set_index("variant")
        assert found.loc["b", "verdict"] == "winner"
        assert found.loc["b", "p_holm"] == found.loc["b", "p"]
        assert found.loc["c", ["p", "p_holm", "verdict"]].isna().all()
        assert found.loc["c", "warnings"].startswith("No known outcomes to compare.")


def test_a_column_of_ones_own_was_judged_by_no_analyser():
    table = conversations(300, analyser="lexicon").assign(seconds=np.arange(300) % 17, solved=True)

    def analyser(**arguments):
        return analysis.compare(table, **arguments).attrs["promptlift"]["analyser"]

    assert analyser(by="prompt_id", outcome="seconds") is None
    assert analyser(by="prompt_id", outcome="solved") is None
    assert analyser(by="prompt_id", outcome="sentiment_score") == "lexicon"
    assert analyser(by="sentiment", outcome="seconds") == "lexicon"
