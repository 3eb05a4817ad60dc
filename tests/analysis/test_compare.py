"""Comparison with a control: cases by hand, SciPy and statsmodels as oracle, other engines, bad input."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, fisher_exact, mannwhitneyu, norm, ttest_ind, ttest_rel, wilcoxon
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from promptlift import analysis
from promptlift.errors import FrameError
from support.synthetic_tables import conversations


def pairs(n11, n10, n01, n00, *, variant="b", control="a", shift=0):
    """Rows of two variants with this pair table."""
    table = [(True, True)] * n11 + [(True, False)] * n10 + [(False, True)] * n01 + [(False, False)] * n00
    rows = [(variant, shift + item, one) for item, (one, _) in enumerate(table)]
    rows += [(control, shift + item, other) for item, (_, other) in enumerate(table)]
    return pd.DataFrame(rows, columns=["run", "task", "task_completed"])


def groups(**outcomes):
    """Rows of independent groups."""
    rows = [(name, value) for name, values in outcomes.items() for value in values]
    return pd.DataFrame(rows, columns=["run", "task_completed"])


def several(seed=0, n=120, rates=(0.5, 0.55, 0.75, 0.3)):
    """Made-up runs of four variants on the same tasks, with scores and sentiments."""
    rng = np.random.default_rng(seed)
    parts = []
    for name, rate in zip("abcd", rates, strict=True):
        done = rng.random(n) < rate
        parts.append(
            pd.DataFrame(
                {
                    "run": name,
                    "task": np.arange(n),
                    "task_completed": pd.array(done, dtype="boolean"),
                    "quality": np.round(60 + 20 * done + rng.normal(0, 10, n), 1),
                    "sentiment": rng.choice(
                        ["negative", "neutral", "positive"], n, p=[0.3, 1 - 0.3 - rate / 2, rate / 2]
                    ),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    table.loc[table.index[::29], "task_completed"] = pd.NA
    table.loc[table.index[::31], "quality"] = np.nan
    table.loc[table.index[::37], "sentiment"] = None
    return table


def only(table):
    assert len(table) == 1
    return table.iloc[0]


def test_pairs_by_hand():
    row = only(analysis.compare(pairs(84, 31, 14, 21), by="run", pair="task", control="a", level=0.90))
    assert (row["variant"], row["control"], row["n"], row["n_control"], row["n_pairs"]) == (
        "b",
        "a",
        150,
        150,
        150,
    )
    assert (row["n11"], row["n10"], row["n01"], row["n00"]) == (84, 31, 14, 21)
    assert (row["completed"], row["completed_control"]) == (115, 98)
    worked = {
        "lift": 17.346939, "difference": 11.333333, "e_value": 11.474403, "confidence": 0.919836,
        "difference_low": 3.998057, "difference_high": 18.370364, "lift_low": 5.761871, "lift_high": 30.337395,
    }  # fmt: skip
    assert {name: row[name] for name in worked} == pytest.approx(worked, abs=1e-6)
    # 9.516849 points of 98 in 150.
    assert row["lift_expected"] == pytest.approx(100 * 9.516849 / (100 * 98 / 150), abs=1e-6)
    assert row["rate"] / row["rate_control"] - 1 == pytest.approx(row["lift"] / 100, abs=1e-12)
    assert row["verdict"] == "winner"


@pytest.mark.parametrize(
    ("mode", "verdict"), [("low", "winner"), ("moderate", "winner"), ("high", "no winner")]
)
def test_the_confidence_mode_is_the_threshold_of_pairs(mode, verdict):
    row = only(analysis.compare(pairs(84, 31, 14, 21), by="run", pair="task", confidence_mode=mode))
    assert row["verdict"] == verdict


def test_a_loser_is_worse_with_its_own_confidence():
    row = only(analysis.compare(pairs(84, 14, 31, 21), by="run", pair="task", control="a"))
    assert row["verdict"] == "worse"
    assert row["confidence_worse"] == pytest.approx(0.919836, abs=1e-6)
    assert row["confidence"] < 0.2


def test_no_difference_is_no_winner():
    row = only(analysis.compare(pairs(60, 12, 12, 66), by="run", pair="task", control="a"))
    assert (row["lift"], row["difference"], row["p"], row["verdict"]) == (0.0, 0.0, 1.0, "no winner")
    assert row["confidence"] == pytest.approx(0.385206, abs=1e-6)
    assert row["smallest_findable"] > 5


def test_without_a_completed_task_of_the_control_there_is_no_lift():
    row = only(analysis.compare(pairs(0, 4, 0, 11), by="run", pair="task", control="a"))
    assert row[["lift", "lift_low", "lift_high", "lift_expected"]].isna().all()
    assert row["difference"] == pytest.approx(100 * 4 / 15)


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
        assert row["difference_low"] == pytest.approx(100 * (m1 - m0 - half), abs=1e-9)
        assert row["difference_high"] == pytest.approx(100 * (m1 - m0 + half), abs=1e-9)
        for end in ("lift_low", "lift_high"):
            ratio = 1 + row[end] / 100
            se = math.sqrt(v11 - 2 * ratio * v10 + ratio**2 * v00)
            assert abs(m1 - ratio * m0) == pytest.approx(norm.ppf(0.975) * se, abs=1e-9)
        assert row["n_dropped"] == 120 - len(both)
    np.testing.assert_allclose(result["p_holm"], multipletests(p_values, method="holm")[1], atol=1e-9)


def test_every_figure_of_independent_groups_has_an_oracle():
    table = several()
    result = analysis.compare(table, by="run", control="a")
    for row in result.to_dict("records"):
        one, other = (
            table.loc[table["run"] == name, "task_completed"].dropna() for name in (row["variant"], "a")
        )
        x1, n1, x0, n0 = int(one.sum()), len(one), int(other.sum()), len(other)
        assert (row["completed"], row["n"], row["completed_control"], row["n_control"]) == (x1, n1, x0, n0)
        assert row["p"] == pytest.approx(fisher_exact([[x1, n1 - x1], [x0, n0 - x0]]).pvalue, abs=1e-9)
        low, high = confint_proportions_2indep(x1, n1, x0, n0, method="newcomb", compare="diff")
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(
            (100 * low, 100 * high), abs=1e-9
        )
        assert row["n_dropped"] == 240 - n1 - n0
    np.testing.assert_allclose(result["p_holm"], multipletests(result["p"], method="holm")[1], atol=1e-9)
    assert result[["lift_low", "lift_high", "lift_expected", "e_value", "confidence"]].isna().all(axis=None)
    assert result[["n_pairs", "n11", "n_unmatched"]].isna().all(axis=None)


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


def test_sentiments_that_move_to_both_ends_are_different_and_no_winner():
    table = pd.DataFrame(
        {
            "run": ["a"] * 100 + ["b"] * 100,
            "sentiment": ["neutral"] * 100 + ["positive"] * 50 + ["negative"] * 50,
        }
    )
    row = only(analysis.compare(table, by="run", outcome="sentiment", control="a"))
    assert (row["verdict"], row["cliffs_delta"]) == ("different", 0.0)


def test_sentiments_can_win_and_lose():
    table = pd.DataFrame(
        {"run": ["a"] * 60 + ["b"] * 60, "sentiment": ["neutral"] * 60 + ["positive"] * 40 + ["neutral"] * 20}
    )
    assert only(analysis.compare(table, by="run", outcome="sentiment", control="a"))["verdict"] == "winner"
    assert only(analysis.compare(table, by="run", outcome="sentiment", control="b"))["verdict"] == "worse"


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
    assert "different ways" in row["warnings"]


def test_a_difference_must_survive_the_number_of_variants():
    table = groups(a=[1] * 23 + [0] * 27, b=[1] * 36 + [0] * 14)
    assert only(analysis.compare(table, by="run", control="a"))["verdict"] == "winner"
    more = pd.concat([table, *(groups(**{f"c{i}": [1] * 23 + [0] * 27}) for i in range(6))])
    crowd = analysis.compare(more, by="run", control="a").set_index("variant")
    assert crowd.loc["b", "p_holm"] == pytest.approx(7 * crowd.loc["b", "p"])
    assert set(crowd["verdict"]) == {"no winner"}


@pytest.mark.parametrize("strangers", [1, 7])
def test_variants_that_share_no_item_are_not_compared_and_take_nothing_from_the_others(strangers):
    table = pairs(40, 14, 3, 13)
    alone = only(analysis.compare(table, by="run", pair="task", control="a"))
    others = [
        pairs(5, 5, 0, 0, variant=f"c{i}", shift=1_000 * (i + 1)).query("run != 'a'")
        for i in range(strangers)
    ]
    result = analysis.compare(pd.concat([table, *others]), by="run", pair="task", control="a")
    found = result.set_index("variant")
    assert alone["verdict"] == found.loc["b", "verdict"] == "winner"
    for name in ("p", "p_holm", "smallest_findable", "confidence"):
        assert found.loc["b", name] == alone[name]
    rest = found.drop("b")
    assert rest["n_pairs"].tolist() == [0] * strangers
    missing = [
        "test",
        "p",
        "p_holm",
        "smallest_findable",
        "e_value",
        "confidence",
        "confidence_worse",
        "verdict",
    ]
    assert rest[missing].isna().all(axis=None)
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


def test_missing_outcomes_drop_the_pair_and_are_counted():
    table = pairs(10, 5, 3, 2)
    table["task_completed"] = table["task_completed"].astype("boolean")
    table.loc[[0, 1, 20], "task_completed"] = pd.NA
    table = pd.concat([table, pairs(1, 0, 0, 0, shift=90).iloc[:1]])
    row = only(analysis.compare(table, by="run", pair="task", control="a"))
    assert (row["n_pairs"], row["n_dropped"], row["n_unmatched"], row["n11"]) == (18, 2, 1, 8)
    assert row["warnings"] == ""


def test_many_missing_outcomes_and_uneven_ones_are_warned_of():
    table = pairs(30, 5, 5, 10)
    table["task_completed"] = table["task_completed"].astype("boolean")
    table.loc[:9, "task_completed"] = pd.NA
    for pair in ("task", None):
        text = only(analysis.compare(table, by="run", pair=pair, control="a"))["warnings"]
        assert "unevenly: 10 of the variant, 0 of the control" in text
        assert ("10 of 50 pairs have no outcome, more than 10 %" in text) == (pair is not None)


def test_conversations_in_progress_count_neither_way():
    table = pairs(10, 5, 3, 2).assign(status="completed")
    table.loc[0, "status"] = "in_progress"
    assert only(analysis.compare(table, by="run", pair="task", control="a"))["n_pairs"] == 19
    assert only(analysis.compare(table, by="run", control="a"))["n"] == 19
    renamed = table.rename(columns={"task_completed": "done"})
    assert only(analysis.compare(renamed, by="run", outcome="done", control="a"))["n"] == 20


def test_repeats_are_refused_and_the_message_says_what_to_do():
    table = pd.concat([pairs(10, 5, 3, 2), pairs(10, 5, 3, 2).iloc[:4]])
    with pytest.raises(
        ValueError, match=r"4 of 20 items have more than one outcome in run 'b' \(up to 2\).*repeats='mean'"
    ):
        analysis.compare(table, by="run", pair="task", control="a")


def test_a_lost_trial_that_was_run_again_is_no_repeat():
    table = pairs(10, 5, 3, 2)
    again = table.iloc[:1].assign(task_completed=None)
    assert (
        only(analysis.compare(pd.concat([table, again]), by="run", pair="task", control="a"))["n_pairs"] == 20
    )


def test_repeats_can_be_compared_by_the_means_of_items():
    """Four trials of 30 items: 30 means a side, not 120 pairs."""
    rng = np.random.default_rng(5)
    rate = rng.random(30)
    rows = [
        (run, item, bool(rng.random() < min(1, rate[item] + more)))
        for run, more in (("a", 0.0), ("b", 0.3))
        for item in range(30)
        for _ in range(4)
    ]
    table = pd.DataFrame(rows, columns=["run", "task", "task_completed"])
    answer = analysis.compare(table, by="run", pair="task", control="a", repeats="mean")
    row = only(answer)
    means = table.groupby(["run", "task"])["task_completed"].mean().unstack("run")  # noqa: PD010
    assert (row["n"], row["n_pairs"], row["test"]) == (30, 30, "Wilcoxon signed-rank")
    assert row["difference"] == pytest.approx((means["b"] - means["a"]).mean())
    ends = ttest_rel(means["b"], means["a"]).confidence_interval()
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((ends.low, ends.high))
    assert row["verdict"] == "winner"
    assert answer.attrs["promptlift"]["kind"] == "score"


def test_a_pair_can_be_made_of_several_columns():
    table = pairs(10, 5, 3, 2)
    table["persona"], table["scenario"] = table["task"] // 5, table["task"] % 5
    by_cell = analysis.compare(table, by="run", pair=["persona", "scenario"], control="a")
    by_task = analysis.compare(table, by="run", pair="task", control="a")
    pd.testing.assert_frame_equal(by_cell, by_task)
    with pytest.raises(ValueError, match="more than one outcome"):
        analysis.compare(table, by="run", pair="persona", control="a")


@pytest.mark.parametrize(
    ("names", "control"),
    [(("new", "control"), "control"), (("zeta", "Original"), "Original"), (("x", "y"), "x")],
)
def test_without_a_control_a_telling_name_is_it_else_the_largest(names, control):
    table = groups(**{name: [True, False] for name in names})
    assert only(analysis.compare(table, by="run"))["control"] == control
    larger = pd.concat([groups(x=[True, False]), groups(y=[True, False, True])])
    assert only(analysis.compare(larger, by="run"))["control"] == "y"


@pytest.mark.parametrize(
    "values", [[1, 0], [1.0, 0.0], [True, False], pd.array([True, False], dtype="boolean")]
)
def test_ones_and_zeros_are_true_and_false(values):
    table = pd.DataFrame(
        {"run": ["a", "b"] * 2, "ok": np.repeat(np.asarray(values, object), 2)}
    ).infer_objects()
    answer = analysis.compare(table, by="run", outcome="ok")
    assert answer.attrs["promptlift"]["kind"] == "completion"
    assert only(answer)["completed"] == 1


def test_the_kind_can_be_said():
    table = pd.DataFrame({"run": ["a", "b"] * 9, "stars": [1, 0, 1, 1, 0, 1] * 3})
    assert "mean" in analysis.compare(table, by="run", outcome="stars", kind="score")
    assert "cramers_v" in analysis.compare(table, by="run", outcome="stars", kind="label")
    stars = table.assign(stars=pd.Categorical(["good", "bad", "fair"] * 6))
    assert "cramers_v" in analysis.compare(stars, by="run", outcome="stars")


@pytest.mark.parametrize("outcome", ["task_completed", "quality", "sentiment"])
@pytest.mark.parametrize("pair", ["task", None])
@pytest.mark.parametrize("n", [120, 0])
def test_every_engine_gives_what_pandas_gives(outcome, pair, n):
    if outcome == "sentiment" and pair:
        return
    polars = pytest.importorskip("polars")
    table = several() if n else several().head(0)
    expected = analysis.compare(table, by="run", pair=pair, outcome=outcome, control="a" if n else None)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    engines = [
        polars.from_pandas(table),
        polars.from_pandas(table).lazy(),
        arrow,
        arrow.to_pandas(types_mapper=pd.ArrowDtype),
    ]
    for engine in engines:
        answer = analysis.compare(engine, by="run", pair=pair, outcome=outcome, control="a" if n else None)
        pd.testing.assert_frame_equal(answer, expected, check_dtype=False)
        numbers = expected.columns[2:]
        assert answer[numbers].dtypes.astype(str).to_dict() == expected[numbers].dtypes.astype(str).to_dict()


@pytest.mark.parametrize("pair", ["task", None])
def test_the_empty_table_has_the_same_columns_and_dtypes(pair):
    empty = analysis.compare(several().head(0), by="run", pair=pair)
    full = analysis.compare(several(), by="run", pair=pair)
    assert not len(empty)
    assert empty.dtypes.iloc[2:].to_dict() == full.dtypes.iloc[2:].to_dict()
    assert list(empty.columns) == list(full.columns)


def test_rows_without_a_variant_or_an_item_are_left_out_and_counted():
    table = pairs(10, 5, 3, 2)
    extra = pd.DataFrame({"run": [None, "a"], "task": [1, None], "task_completed": [True, True]})
    answer = analysis.compare(
        pd.concat([table, extra], ignore_index=True), by="run", pair="task", control="a"
    )
    assert only(answer)["n_pairs"] == 20
    facts = answer.attrs["promptlift"]
    assert (facts["n_without_variant"], facts["n_without_item"]) == (1, 1)


def test_the_answer_says_its_rule_its_control_and_who_judged():
    facts = analysis.compare(conversations(300), by="llm_model").attrs["promptlift"]
    assert (facts["analyser"], facts["paired"], facts["unit"]) == ("lexicon", False, "points")
    assert facts["rule"].endswith("p below 0.05.")
    facts = analysis.compare(several(), by="run", pair="task", confidence_mode="high").attrs["promptlift"]
    assert (
        facts["rule"]
        == "Winner or worse: confidence 0.95 or more, and p, adjusted for 3 variants, below 0.05."
    )


@settings(max_examples=60, deadline=None)
@given(st.tuples(*[st.integers(0, 40)] * 4).filter(lambda counts: sum(counts) > 0))
def test_swapping_variant_and_control_turns_the_verdict_round(counts):
    table = pairs(*counts)
    one = only(analysis.compare(table, by="run", pair="task", control="a"))
    other = only(analysis.compare(table, by="run", pair="task", control="b"))
    turned = {"winner": "worse", "worse": "winner", "no winner": "no winner"}
    assert other["verdict"] == turned[one["verdict"]]
    assert other["difference"] == pytest.approx(-one["difference"])
    assert other["difference_low"] == pytest.approx(-one["difference_high"])
    assert other["confidence"] == pytest.approx(one["confidence_worse"])
    assert one["p"] == pytest.approx(other["p"])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), min_size=2, max_size=60), st.randoms())
def test_the_order_of_rows_does_not_matter(rows, random):
    if len({run for run, _ in rows}) < 2:
        return
    shuffled = random.sample(rows, len(rows))
    first, second = (
        analysis.compare(pd.DataFrame(r, columns=["run", "task_completed"]), by="run")
        for r in (rows, shuffled)
    )
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"by": "model"}, "no column model"),
        ({}, {"by": "run", "pair": "item"}, "no column item.*pair the one"),
        ({}, {"by": "run", "outcome": "done"}, "no column done"),
        ({}, {"by": "run", "control": "z"}, "control='z' is not a value of run. It has: 'a', 'b'"),
        ({}, {"by": None}, "by must be"),
        ({}, {"by": "run", "pair": "run"}, "must be different columns"),
        ({}, {"by": "run", "pair": []}, "pair must be"),
        ({}, {"by": "run", "level": 95}, "level"),
        ({}, {"by": "run", "confidence_mode": "sure"}, "low, moderate or high"),
        ({}, {"by": "run", "repeats": "first"}, "'refuse' or 'mean'"),
        ({}, {"by": "run", "repeats": "mean"}, "needs pair"),
        ({}, {"by": "run", "kind": "number"}, "kind must be"),
        ({"run": "a"}, {"by": "run"}, "only one value, 'a'"),
        ({"task_completed": "yes"}, {"by": "run"}, "not true and false. Convert it to 'boolean'"),
        ({"task_completed": 2}, {"by": "run"}, "other numbers than 0 and 1"),
        ({"x": np.inf}, {"by": "run", "outcome": "x"}, "infinite"),
        ({"x": pd.Timestamp("2026-01-01")}, {"by": "run", "outcome": "x"}, "holds times"),
        ({"x": "good"}, {"by": "run", "outcome": "x", "kind": "score"}, "not numbers"),
        ({"x": "good"}, {"by": "run", "outcome": "x", "pair": "task"}, "cannot be compared in pairs"),
        ({"x": [str(i) for i in range(60)]}, {"by": "run", "outcome": "x"}, "60 different texts"),
        ({"x": [[1]] * 60}, {"by": "run", "outcome": "x"}, "lists"),
        ({"x": [[1]] * 60}, {"by": "run", "pair": "x"}, "lists"),
    ],
)  # fmt: skip
def test_bad_input_gets_an_error_that_says_what_to_do(change, arguments, message):
    table = pairs(10, 10, 5, 5).assign(**change)
    with pytest.raises(ValueError, match=message) as caught:
        analysis.compare(table, **arguments)
    if message.startswith("no column"):
        assert isinstance(caught.value, FrameError)


def test_something_that_is_no_table_is_refused():
    with pytest.raises(TypeError, match="needs a table"):
        analysis.compare([1, 2], by="run")


def test_a_million_rows_are_compared():
    rng = np.random.default_rng(0)
    n = 500_000
    table = pd.DataFrame(
        {
            "run": np.repeat(["a", "b"], n),
            "task": np.tile(np.arange(n), 2),
            "task_completed": rng.random(2 * n) < 0.7,
        }
    )
    row = only(analysis.compare(table, by="run", pair="task"))
    assert row["n_pairs"] == n
    assert row["smallest_findable"] < 1
